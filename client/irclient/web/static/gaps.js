// Gaps: what was needed but not found, with a remedy, and the last evaluations.
import { json } from "./ask.js";
import { bar, clock, copyable, count, counted, day, empty, fixed, h, name, pill, rest, section, spaced, table, untold } from "./draw.js";

export const question = () => "";

// Evaluations of further corpora, as requested; `next` is the next position.
const beyond = { next: undefined, evaluations: [], failed: false };
let redraw = () => {};

export function watch(drawn, again) {
  redraw = again;
  const seen = new IntersectionObserver((entries) => {
    if (entries.some((each) => each.isIntersecting)) onMore();
  });
  return () => {
    seen.disconnect();
    const more = drawn.querySelector("[data-more]");
    if (more && !beyond.failed) seen.observe(more);
  };
}

export async function onMore() {
  const from = beyond.next;
  if (typeof from !== "number") return;
  beyond.next = null; // it is being asked
  const more = await json(`/evaluations.json?from=${from}`);
  beyond.failed = !more || Boolean(more.error); // the person asks again, not a loop
  beyond.next = beyond.failed ? from : more.next;
  beyond.evaluations.push(...(more?.evaluations ?? []));
  redraw();
}

export function draw({ gaps, evaluations: first, next, agents }) {
  if (beyond.next === undefined) beyond.next = next;
  const evaluations = [...first, ...beyond.evaluations];
  return [
    section("Needed but not found", gaps.gaps.length
      ? [h("div", { class: "cards" }, gaps.gaps.map(gap)), rest(gaps.gaps.length, gaps.n_gaps)]
      : untold("No gaps: nothing was missed often enough.", agents, "Gaps come from the transcripts of an agent that is set up:"),
      h("p", { class: "quiet" }, `${counted(gaps.watching, "prompt")} so far without a second one; ${counted(gaps.replayed, "prompt")} without a recorded answer asked again. `, copyable("irc gaps --least 1"))),
    section("Last evaluations", evaluations.length
      ? evaluations.map(evaluation)
      : empty("No corpus has been evaluated yet. Write labelled queries, and run them:", "irc eval CASES.jsonl"),
      typeof beyond.next === "number" && h("p", {}, h("button", { type: "button", "data-more": true }, "More corpora"))),
  ];
}

function gap(each) {
  const heads = { missed: "missed", nothing_found: "nothing found", not_indexed: "not indexed" };
  const about = { missed: each.reference, nothing_found: (each.words ?? []).join(", "), not_indexed: each.name }[each.kind] ?? "";
  const why = Object.entries({ ...each.states, ...each.verdicts, ...each.reasons });
  return h("article", { class: "card" },
    h("header", {}, h("h3", {}, name(about || "?")), pill(heads[each.kind] ?? each.kind, "bad")),
    h("p", {}, `${counted(each.prompts, "prompt")} in ${counted(each.sessions, "session")}`),
    h("p", { class: "quiet" }, why.map(([reason, n]) => `${spaced(reason)} ${count(n)}`).join(", ")),
    h("ul", {}, (each.examples ?? []).map((text) => h("li", { dir: "auto", class: "quote" }, text))),
    h("p", { class: "cure" }, h("b", {}, "remedy: "), name(each.cure, "reason")));
}

function evaluation(each) {
  const { measures, intervals, n, n_gold } = each.discovery;
  return h("section", { class: "explained" },
    h("h3", {}, each.corpora.map((one) => [name(one), " "]), h("span", { class: "quiet" }, day(each.at), " ", each.at ? clock(each.at) : "")),
    h("p", {}, `${counted(n, "case")}, ${count(n_gold)} with gold, ${counted(each.artifacts, "artifact")}`),
    table(["measure", "value", "#", "#95% interval"], [
      ...Object.entries(measures ?? {}).map(([measure, value]) => measured(measure, value, intervals)),
      ...["precision", "recall", "f1", "commit_rate", "abstention_accuracy"].map((measure) => measured(measure, each.selection[measure], each.selection.intervals)),
    ].filter(Boolean), "Measures"));
}

function measured(measure, value, intervals) {
  if (typeof value !== "number") return null;
  const [low, high] = intervals?.[measure] ?? [null, null];
  return [spaced(measure), bar(value, { low, high, kind: "good", label: `${measure} ${fixed(value, 3)}` }), fixed(value, 3), low === null ? "–" : `${fixed(low, 3)} to ${fixed(high, 3)}`];
}
