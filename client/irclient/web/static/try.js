// Try: type, and see the answer and how it came about. The state is in the fragment, which is never sent.
import { bar, copyable, count, counted, empty, fixed, h, morphChildren, name, pill, rest, spaced, table } from "./draw.js";

const FIELDS = ["q", "mode", "max_k", "k", "min_score", "where", "here", "item"];
const SHOWN = 50;
const form = h("form", { class: "ask", role: "search" });
let corporaShown = "";

// The state is what the fragment says.
const state = () => new URLSearchParams(location.hash.slice(1));

export const question = () => (state().get("q")?.trim() ? `?${state()}` : "");

export function mount(ask) {
  const field = (id, label, control) => h("label", { for: id }, h("span", {}, label), control);
  const option = (value) => h("option", { value }, value);
  form.append(
    h("input", { id: "q", name: "q", type: "search", autocomplete: "off", spellcheck: "false", maxlength: 2000, placeholder: "What do you need? fill in a PDF form", "aria-label": "Query" }),
    h("div", { class: "controls" },
      field("mode", "mode", h("select", { id: "mode", name: "mode" }, ["hybrid", "dense", "lexical"].map(option))),
      field("max_k", "commit at most", h("input", { id: "max_k", name: "max_k", type: "number", min: 1, max: 100, placeholder: "3" })),
      field("k", "candidates", h("input", { id: "k", name: "k", type: "number", min: 1, max: 1000, placeholder: "10" })),
      field("min_score", "floor", h("input", { id: "min_score", name: "min_score", placeholder: "auto" })),
      field("where", "filter", h("input", { id: "where", name: "where", placeholder: "owner=acme" })),
      field("here", "from directory", h("input", { id: "here", name: "here", placeholder: "/home/ann/code/shop" })),
      field("item", "why not this one?", h("input", { id: "item", name: "item", placeholder: "CORPUS/ID" }))),
    h("fieldset", { id: "corpora", class: "corpora" }, h("legend", { class: "sr" }, "Corpora")),
  );
  fill();
  form.addEventListener("submit", (event) => event.preventDefault());
  // A directory counts once it is typed in full, since each one may become a known project.
  const changed = () => { keep(); ask(150); };
  form.addEventListener("input", ({ target }) => target.id === "here" || changed());
  form.addEventListener("change", ({ target }) => target.id === "here" && changed());
  addEventListener("hashchange", () => { fill(); ask(0); });
  return form;
}

function fill() {
  const known = state();
  for (const id of FIELDS) {
    const control = form.elements.namedItem(id); // `elements.item` is a method
    control.value = known.get(id) ?? (id === "mode" ? "hybrid" : "");
  }
  for (const box of form.querySelectorAll("[name=corpus]")) box.checked = known.getAll("corpus").includes(box.value);
}

function keep() {
  const kept = new URLSearchParams();
  for (const [field, value] of new FormData(form))
    if (value && !(field === "mode" && value === "hybrid")) kept.append(field, value);
  history.replaceState(null, "", `#${kept}`);
}

function corpora(names) {
  if (JSON.stringify(names) === corporaShown) return;
  corporaShown = JSON.stringify(names);
  const chosen = state().getAll("corpus");
  morphChildren(form.querySelector("#corpora"), h("fieldset", {}, h("legend", { class: "sr" }, "Corpora"),
    names.map((each) => h("label", {}, h("input", { type: "checkbox", name: "corpus", value: each, checked: chosen.includes(each) }), name(each)))));
}

export function draw(data) {
  corpora(data.corpora);
  const { answer, explanation } = data;
  if (!answer) return [empty("Type what you need: the answer and its reasons appear as you type. Nothing typed here is recorded.")];
  return h("div", { class: "beside" },
    h("div", {},
      verdict(answer),
      h("ol", { class: "hits" }, answer.results.map(hit)),
      explanation.item && item(explanation.item),
      h("p", {}, "The same in a terminal: ", copyable(data.command))),
    h("div", { class: "why" },
      h("h2", {}, "Why"),
      words(explanation.analysis),
      stages(explanation),
      explanation.corpora.map((each) => corpus(each)),
      rest(explanation.corpora.length, explanation.n_corpora)));
}

function verdict(answer) {
  const said = answer.abstained
    ? [pill("nothing applies", "quiet"), ` ${spaced(answer.reason)}`]
    : [pill(`committed ${answer.n_selected} of ${answer.n_retrieved}`, "good"), ` ${spaced(answer.reason)}`];
  const reading = answer.freshness.reading && [" ", pill(`still reading ${answer.freshness.reading}`, "busy")];
  return h("p", { class: "verdict", role: "status" }, answer.project && ["in ", name(answer.project), " "], said, reading, h("span", { class: "quiet" }, ` in ${fixed(answer.took_ms, 2)} ms by ${answer.tier}, generation ${count(answer.generation)}`));
}

const entitled = ({ name: called, fields }) => (fields.project_root && fields.version ? `${called} ${fields.version}` : called);

const hit = (each) =>
  h("li", {}, h("div", { class: "row" }, bar(each.score, { kind: "good", label: `score ${fixed(each.score)}` }), h("b", { class: "figure" }, fixed(each.score)), name(entitled(each)), h("span", { class: "kind" }, name(each.corpus)), each.fields.project_root && pill(each.fields.project, "quiet")),
    h("p", { dir: "auto" }, each.summary), name(each.pointer, "path"));

function item(found) {
  return h("div", { class: "note" }, h("h2", {}, "Why not", name(found.reference)), pill(spaced(found.stage), found.stage === "committed" ? "good" : "bad"), " ", name(found.why, "reason"),
    found.behind_first ? h("p", {}, `${fixed(found.behind_first)} behind the first in the fused order`) : null);
}

function words({ tokens, unknown, subqueries, mode, fusion }) {
  const nowhere = new Set(unknown);
  return h("p", {}, "words ", tokens.map((each) => h("span", { class: nowhere.has(each) ? "token unknown" : "token", title: nowhere.has(each) ? "no corpus contains it" : null }, each)),
    subqueries.map((each) => [" ", name(each, "token")]), h("span", { class: "quiet" }, ` ${mode}, fusion ${fusion}`));
}

// The floor is a probability, like the corpus' best score; evidence is on another scale.
function corpus(each) {
  const { floor } = each;
  const calibrated = floor.kind === "auto";
  const said = `${calibrated ? "floor" : floor.kind} ${fixed(floor.at_least)}`;
  const top = { lexical: Math.max(1e-9, ...each.candidates.map((c) => c.lexical.score)) };
  return h("section", { class: "explained", "data-key": each.corpus },
    h("h3", {}, name(each.corpus), pill(each.above_floor ? "above its floor" : "below its floor", each.above_floor ? "good" : "quiet")),
    h("div", { class: "row floor" }, bar(each.top_score, { mark: floor.at_least ?? null, kind: each.above_floor ? "good" : "", label: said }),
      h("span", {}, `best score ${fixed(each.top_score)}; ${said}${calibrated ? `, J ${fixed(floor.j)}, n ${count(floor.n)}` : ""}`)),
    h("p", { class: "quiet" }, `${counted(each.records, "record")}${each.eligible < each.records ? `, ${count(each.records - each.eligible)} filtered out` : ""}, legs ${each.legs.join("+") || "none"}`),
    table(["candidate", "meaning", "#", "words", "#", "evidence", "#", "#score", "verdict"],
      each.candidates.slice(0, SHOWN).map((c) => [
        h("button", { type: "button", class: "link", "data-item": `${each.corpus}/${c.artifact_id}`, title: "Why not this one?" }, name(c.name)),
        bar(c.dense.score, { kind: "dense", label: `meaning ${fixed(c.dense.score, 3)}` }), fixed(c.dense.score, 3),
        bar(c.lexical.score / top.lexical, { kind: "lexical", label: `words ${fixed(c.lexical.score)}` }), fixed(c.lexical.score),
        bar(c.evidence, { label: `evidence ${fixed(c.evidence, 3)}` }), fixed(c.evidence, 3),
        fixed(c.score, 3), pill(spaced(c.verdict), c.verdict === "committed" ? "good" : "quiet"),
      ]), `Candidates of ${each.corpus}`));
}

// Where this query's time went: each stage from its start. A nested stage counts in both.
function stages({ stages: found, selection }) {
  if (!found?.length) return null;
  const whole = Math.max(selection.took_ms ?? 0, ...found.map((each) => each.at_ms + each.ms), 1e-9);
  const row = ({ stage, at_ms, ms, n }) => {
    const told = `${stage}${n > 1 ? ` × ${count(n)}` : ""}`;
    return h("div", { class: "row stage" }, h("span", {}, told), bar(ms / whole, { from: at_ms / whole, label: `${told} ${fixed(ms)} ms` }), h("span", { class: "figure" }, `${fixed(ms)} ms`));
  };
  return h("section", { class: "explained" }, h("h3", {}, "Stages", h("span", { class: "quiet" }, `of this query, ${fixed(selection.took_ms)} ms in all`)), found.map(row));
}

export function onItem(reference) {
  form.elements.namedItem("item").value = reference;
  form.dispatchEvent(new Event("input"));
}

export const focusQuery = () => form.elements.namedItem("q").focus();
