// Now: the daemon's state, and a card for each corpus.
import { ago, bar, bytes, copyable, count, empty, fixed, h, name, percent, pill, rest, span, sparkline, spaced, table, tile } from "./draw.js";
import { json } from "./ask.js";

const KINDS = { ready: "good", building: "busy", embedding: "busy", "re-embedding": "busy", degraded: "bad" };
const STATES = { read: "good", reading: "busy" };
const EXAMPLES = 3;
// Data beyond the view's own: floors by corpus and generation, and the positions already requested;
// coverage by corpus, which walks the disk, so only a person requests it.
const beyond = { generation: null, floors: {}, asked: new Set() };
const walked = new Map();
let latest = null;
let redraw = () => {};

export const question = () => "";

export function draw(data) {
  const { status } = (latest = data);
  if (beyond.generation !== status.generation) Object.assign(beyond, { generation: status.generation, floors: {}, asked: new Set() });
  if (!status.corpora.length)
    return [head(status), empty("Nothing is indexed yet. Add a directory of documents, or skills:", "irc add notes files ~/notes")];
  const healths = new Map((status.health?.corpora ?? []).map((each) => [each.name, each]));
  return [
    head(status),
    status.demo && h("p", { class: "note" }, "These are examples, because nothing of yours was found. Your own items replace them: ", copyable("irc add notes files ~/notes")),
    model(status.model),
    h("div", { class: "cards" }, status.corpora.map((each, place) => card(each, healths.get(each.name), data, place))),
    projects(data.projects, data.n_projects),
  ];
}

// When cards without floors come into view, request their floors, a page at a time.
export function watch(drawn, again) {
  redraw = again;
  const seen = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) if (isIntersecting) moreFloors(Number(target.dataset.place));
  }, { rootMargin: "400px" });
  return () => {
    seen.disconnect();
    for (const each of drawn.querySelectorAll("[data-place]")) seen.observe(each);
  };
}

async function moreFloors(place) {
  const from = place - (place % latest.next);
  const { generation, asked } = beyond;
  if (asked.has(from)) return;
  asked.add(from);
  const more = await json(`/floors.json?from=${from}`);
  if (!more || beyond.generation !== generation) return;
  Object.assign(beyond.floors, more.floors);
  redraw();
}

export async function onCoverage(corpus) {
  walked.set(corpus, null);
  redraw();
  const found = await json(`/coverage.json?${new URLSearchParams({ corpus })}`);
  walked.set(corpus, found?.coverage?.[0] ?? { unchecked: found?.error?.message ?? "there was no answer" });
  redraw();
}

function head(status) {
  const sum = (field) => status.corpora.reduce((all, each) => all + each[field], 0);
  const level = status.health?.level ?? "unknown";
  const { queries = [], p50 = [] } = status.minutes ?? {};
  const median = p50.findLast((each) => each !== null);
  return h("div", { class: "tiles" },
    tile("health", pill(level, level === "ok" ? "good" : "bad")),
    tile("artifacts", count(sum("artifacts"))),
    tile("records", count(sum("records"))),
    tile("generation", count(status.generation)),
    tile("queue", count(status.queue), h("small", {}, status.queue_s ? `oldest ${span(status.queue_s)}` : "queue empty")),
    tile("memory", bytes(status.rss_bytes)),
    tile("up", span(status.uptime_s)),
    tile("answers, last hour", count(status.minutes && queries.reduce((all, each) => all + each, 0)), sparkline(queries, "answers in each of the last sixty minutes"), "wide"),
    tile("median, last", median === undefined ? "–" : `${fixed(median, 1)} ms`, sparkline(p50, "median of an answer in ms, in each of the last sixty minutes"), "wide"),
  );
}

function projects(found, all) {
  if (!found.length) return null;
  const rows = found.map((each) => [name(each.name), pill(each.state, STATES[each.state] ?? "quiet"), count(each.items), bytes(each.size_bytes), ago(each.asked_at, latest.now), name(each.why, "reason"), name(each.root, "path")]);
  return h("section", {}, h("h2", {}, "Projects"), table(["project", "state", "#items", "#size", "asked", "why it is known", "root"], rows, "Projects"), rest(found.length, all));
}

function model(found) {
  if (!found) return null;
  const used = [["chooses in", found.selects], ["summarises", found.summarises]].filter(([, names]) => names?.length);
  return h("p", { class: "note" }, "Model ", name(found.model), " at ", name(found.endpoint, "path"), found.local ? ", on this machine" : ", on another machine",
    used.map(([what, names]) => [`; ${what} `, names.slice(0, 20).map((each, i) => [i ? ", " : "", name(each)])]),
    found.problem ? [" ", pill("fails", "bad"), " ", name(found.problem, "reason")] : null);
}

function card(corpus, health, { status, floors, commands, now, next }, place) {
  const state = health && health.level !== "ok" ? health.level : corpus.state;
  const modes = floors[corpus.name] ?? beyond.floors[corpus.name];
  return h("article", { class: "card", "data-key": corpus.name, "aria-label": corpus.name, "data-place": next && place >= next ? place : null },
    h("header", {}, h("h2", {}, name(corpus.name)), h("span", { class: "kind" }, corpus.kind), pill(state, KINDS[state] ?? "bad")),
    h("dl", { class: "figures" },
      figure("artifacts", count(corpus.artifacts)), figure("records", count(corpus.records)),
      figure("vectors", count(corpus.vectors)), figure("failures", count(corpus.failures))),
    progress(corpus, status.jobs, now),
    h("dl", { class: "lines" },
      line("last change seen", sinceStart(health?.changed_at, now)),
      line("indexed", sinceStart(health?.indexed_at, now)),
      line("whole scan", ago(corpus.last_reconcile, now)),
      floorLines(modes)),
    problems(corpus, health),
    h("details", {}, h("summary", {}, corpus.roots.length === 1 ? "1 root, and its coverage" : `${count(corpus.roots.length)} roots, and their coverage`),
      h("ul", {}, corpus.roots.slice(0, 50).map((root) => h("li", {}, name(root, "path")))),
      copyable(commands[corpus.name] ?? "irc status"),
      coverage(corpus.name)),
  );
}

// Coverage comes from a separate walk, so that it also finds what the source misses.
function coverage(corpus) {
  const found = walked.get(corpus);
  const button = h("button", { type: "button", "data-coverage": corpus, disabled: found === null }, found === null ? "Walking the disk …" : "Compare with the disk");
  if (!found) return h("p", {}, button);
  const reasons = Object.entries(found.excluded ?? {});
  return h("div", { class: "coverage" },
    h("p", {}, button, " ", found.unchecked ? name(found.unchecked, "reason") : ""),
    found.on_disk === undefined ? null : h("p", {}, `${count(found.indexed)} of ${count(found.indexed + found.missing)} indexed`, found.ratio === null ? "" : ` (${percent(found.ratio)})`, `; ${count(found.on_disk)} on disk`),
    reasons.length ? h("dl", { class: "lines" }, reasons.slice(0, 20).map(([reason, n]) => line(name(reason, "reason"), count(n)))) : null,
    found.missing_paths?.length ? h("ul", {}, found.missing_paths.slice(0, 20).map((path) => h("li", {}, name(path, "path")))) : null,
    found.missing > 20 ? h("p", { class: "quiet" }, copyable("irc coverage")) : null);
}

// The daemon keeps these times since its start.
const sinceStart = (at, now) => (at ? ago(at, now) : "not since the daemon started");
const figure = (label, value) => h("div", {}, h("dt", {}, label), h("dd", {}, value));
const line = (label, value) => h("div", {}, h("dt", {}, label), h("dd", {}, value));

// The line is always there, so that nothing moves when a job starts.
function progress(corpus, jobs, now) {
  const job = jobs.find((each) => each.corpus === corpus.name && each.state === "running");
  const todo = job?.todo || corpus.records;
  const done = job ? job.done : corpus.vectors;
  const rate = job && job.since && now > job.since ? job.done / (now - job.since) : null;
  const words = job
    ? `${spaced(job.kind)}: ${count(done)} of ${count(job.todo)}${rate ? `, ${count(Math.round(rate))} a second` : ""}`
    : corpus.pending ? `${count(corpus.pending)} pending` : "up to date";
  return h("div", { class: "progress" }, bar(todo ? done / todo : 1, { label: words, kind: job || corpus.pending ? "busy" : "" }), h("small", {}, words));
}

// The floor for most answers; the title has those of other modes.
function floorLines(floors) {
  if (!floors) return line("floor", "…");
  const modes = Object.entries(floors);
  if (!modes.length) return line("floor", "not calibrated");
  const told = ([mode, floor]) => `${mode} ${fixed(floor.at_least)}, J ${fixed(floor.j)}, n ${count(floor.n_inside + floor.n_outside)}${floor.applied === false ? ", not applied" : ""}`;
  const first = floors.hybrid ? ["hybrid", floors.hybrid] : modes[0];
  return line("floor", h("span", { title: modes.map(told).join("; ") }, told(first), modes.length > 1 ? h("small", {}, ` +${modes.length - 1}`) : null));
}

function problems(corpus, health) {
  const all = [...corpus.problems, ...(health?.offline ?? []), ...(health?.polled ?? []), ...(health?.stale ?? []).map((reason) => ({ path: "", reason }))];
  const grouped = new Map();
  for (const { path, reason } of all) {
    const general = path ? reason.replaceAll(`: ${path}`, "").replaceAll(path, "it") : reason;
    grouped.set(general, new Set([...(grouped.get(general) ?? []), path].filter(Boolean)));
  }
  if (!grouped.size && !corpus.failures) return null;
  return h("ul", { class: "problems" },
    [...grouped].slice(0, 10).map(([reason, paths]) => h("li", {}, name(reason, "reason"), paths.size ? ` (${count(paths.size)}): ` : "", [...paths].slice(0, EXAMPLES).map((path, i) => [i ? ", " : "", name(path, "path")]))),
    corpus.failures ? h("li", {}, h("a", { href: "/trouble" }, `${count(corpus.failures)} could not be read`)) : null);
}
