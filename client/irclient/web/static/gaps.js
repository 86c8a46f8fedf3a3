// Gaps: what was needed and not found, with a cure; and how good the last evaluations were.
import { json } from "./ask.js";
import { bar, clock, copyable, count, day, empty, fixed, h, name, pill, rest, section, spaced, table, untold } from "./draw.js";

export const question = () => "";

// Evaluations of corpora beyond the first, as they were asked for; `next` is where to go on.
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
  beyond.failed = !more || Boolean(more.error); // it is asked again by hand, not in a loop
  beyond.next = beyond.failed ? from : more.next;
  beyond.evaluations.push(...(more?.evaluations ?? []));
  redraw();
}

export function draw({ gaps, evaluations: first, next, agents }) {
  if (beyond.next === undefined) beyond.next = next;
  const evaluations = [...first, ...beyond.evaluations];
  return [
    section("Needed, and not found", gaps.gaps.length
      ? [h("div", { class: "cards" }, gaps.gaps.map(gap)), rest(gaps.gaps.length, gaps.n_gaps)]
      : untold("No gap: nothing was missed often enough to say so.", agents, "Gaps come from transcripts of an agent that is set up:"),
      h("p", { class: "quiet" }, `${count(gaps.watching)} prompts are alone so far; ${count(gaps.replayed)} without a known answer were asked again. `, copyable("irc gaps --least 1"))),
    section("Last evaluations", evaluations.length
      ? evaluations.map(evaluation)
      : empty("No corpus was evaluated yet. Make labelled queries, and ask them:", "irc eval CASES.jsonl"),
      typeof beyond.next === "number" && h("p", {}, h("button", { type: "button", "data-more": true }, "Those of further corpora"))),
  ];
}

function gap(each) {
  const heads = { missed: "missed", nothing_found: "nothing found", not_indexed: "not indexed" };
  const about = { missed: each.reference, nothing_found: (each.words ?? []).join(", "), not_indexed: each.name }[each.kind] ?? "";
  const why = Object.entries({ ...each.states, ...each.verdicts, ...each.reasons });
  return h("article", { class: "card" },
    h("header", {}, h("h3", {}, name(about || "?")), pill(heads[each.kind] ?? each.kind, "bad")),
    h("p", {}, `${count(each.prompts)} prompts in ${count(each.sessions)} sessions`),
    h("p", { class: "quiet" }, why.map(([reason, n]) => `${spaced(reason)} ${count(n)}`).join(", ")),
    h("ul", {}, (each.examples ?? []).map((text) => h("li", { dir: "auto", class: "quote" }, text))),
    h("p", { class: "cure" }, h("b", {}, "cure: "), name(each.cure, "reason")));
}

function evaluation(each) {
  const { measures, intervals, n, n_gold } = each.discovery;
  return h("section", { class: "explained" },
    h("h3", {}, each.corpora.map((one) => [name(one), " "]), h("span", { class: "quiet" }, day(each.at), " ", each.at ? clock(each.at) : "")),
    h("p", {}, `${count(n)} cases, ${count(n_gold)} with gold, ${count(each.artifacts)} artifacts`),
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
