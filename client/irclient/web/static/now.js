// Now: a card for each corpus, and how the daemon is.
import { ago, bar, bytes, copyable, count, empty, fixed, h, name, pill, section, span, sparkline, spaced, tile } from "./draw.js";

const KINDS = { ready: "good", building: "busy", embedding: "busy", "re-embedding": "busy", degraded: "bad" };
const EXAMPLES = 3;
// A value of the last readings each, while the page is open.
const samples = { rates: [], p50: [], last: null };

export const question = () => "";

export function draw(data) {
  const { status, now } = data;
  sample(status, now);
  if (!status.corpora.length)
    return [head(status), empty("Nothing is indexed yet. Add a directory of documents, or skills:", "irc add notes files ~/notes")];
  const healths = new Map((status.health?.corpora ?? []).map((each) => [each.name, each]));
  return [
    head(status),
    status.demo && h("p", { class: "note" }, "These are examples: nothing of yours was found. They make way for what you add: ", copyable("irc add notes files ~/notes")),
    h("div", { class: "cards" }, status.corpora.map((each) => card(each, healths.get(each.name), data))),
  ];
}

// Of queries: those of every tier, for the rate since the last reading and the longest-used p50.
function sample(status, now) {
  const tiers = Object.entries(status.profile ?? {}).filter(([stage]) => stage.startsWith("tier "));
  const total = tiers.reduce((sum, [, each]) => sum + each.total, 0);
  const busiest = tiers.sort(([, a], [, b]) => b.total - a.total)[0];
  const { last } = samples;
  if (last && last.pid === status.pid && now > last.now + 1) {
    push(samples.rates, (60 * (total - last.total)) / (now - last.now));
    push(samples.p50, busiest ? busiest[1].p50 : 0);
  }
  if (!last || last.pid !== status.pid || now > last.now + 1) samples.last = { pid: status.pid, now, total };
  samples.total = total;
  samples.median = busiest ? busiest[1].p50 : null;
}

function push(values, value) {
  values.push(value);
  if (values.length > 60) values.shift();
}

function head(status) {
  const sum = (field) => status.corpora.reduce((all, each) => all + each[field], 0);
  const level = status.health?.level ?? "unknown";
  return h("div", { class: "tiles" },
    tile("health", pill(level, level === "ok" ? "good" : "bad")),
    tile("artifacts", count(sum("artifacts"))),
    tile("records", count(sum("records"))),
    tile("generation", count(status.generation)),
    tile("queue", count(status.queue), status.queue_s ? h("small", {}, `oldest ${span(status.queue_s)}`) : null),
    tile("memory", bytes(status.rss_bytes)),
    tile("up", span(status.uptime_s)),
    tile("queries", count(samples.total), sparkline(samples.rates, "queries a minute since this page was opened")),
    tile("median", samples.median === null ? "–" : `${fixed(samples.median, 1)} ms`, sparkline(samples.p50, "median of a query in ms since this page was opened")),
  );
}

function card(corpus, health, { status, floors, commands, now }) {
  const state = health && health.level !== "ok" ? health.level : corpus.state;
  return h("article", { class: "card", "data-key": corpus.name, "aria-label": corpus.name },
    h("header", {}, h("h2", {}, name(corpus.name)), h("span", { class: "kind" }, corpus.kind), pill(state, KINDS[state] ?? "bad")),
    h("dl", { class: "figures" },
      figure("artifacts", count(corpus.artifacts)), figure("records", count(corpus.records)),
      figure("vectors", count(corpus.vectors)), figure("failures", count(corpus.failures))),
    progress(corpus, status.jobs, now),
    h("dl", { class: "lines" },
      line("last change seen", ago(health?.changed_at, now)),
      line("indexed", ago(health?.indexed_at, now)),
      line("whole scan", ago(corpus.last_reconcile, now)),
      line("floor", floorsOf(floors[corpus.name]))),
    problems(corpus, health),
    h("details", {}, h("summary", {}, corpus.roots.length === 1 ? "1 root" : `${count(corpus.roots.length)} roots`),
      h("ul", {}, corpus.roots.slice(0, 50).map((root) => h("li", {}, name(root, "path")))),
      copyable(commands[corpus.name] ?? "irc status")),
  );
}

const figure = (label, value) => h("div", {}, h("dt", {}, label), h("dd", {}, value));
const line = (label, value) => h("div", {}, h("dt", {}, label), h("dd", {}, value));

// The line is there in any case, so that nothing moves when a job begins.
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

function floorsOf(floors) {
  const modes = Object.entries(floors ?? {});
  if (!modes.length) return "plain: not calibrated";
  return modes.map(([mode, floor], i) => h("span", {}, i ? "; " : "", `${mode} `, floor.at_least === undefined ? spaced(floor.kind ?? "set") : fixed(floor.at_least), floor.j === undefined ? "" : ` (J ${fixed(floor.j)}, n ${count(floor.n)})`));
}

function problems(corpus, health) {
  const all = [...corpus.problems, ...(health?.offline ?? []), ...(health?.polled ?? []), ...(health?.stale ?? []).map((reason) => ({ path: "", reason }))];
  const grouped = new Map();
  for (const { path, reason } of all) {
    const general = path ? reason.replaceAll(path, "it") : reason;
    grouped.set(general, new Set([...(grouped.get(general) ?? []), path].filter(Boolean)));
  }
  if (!grouped.size && !corpus.failures) return null;
  return h("ul", { class: "problems" },
    [...grouped].slice(0, 10).map(([reason, paths]) => h("li", {}, name(reason, "reason"), paths.size ? ` (${count(paths.size)}): ` : "", [...paths].slice(0, EXAMPLES).map((path, i) => [i ? ", " : "", name(path, "path")]))),
    corpus.failures ? h("li", {}, h("a", { href: "/trouble" }, `${count(corpus.failures)} could not be read`)) : null);
}
