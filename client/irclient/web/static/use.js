// Use: what was offered and used, what never was, and what a listing has room for.
import { bar, copyable, count, day, empty, h, name, percent, rest, section, spaced, table, tile } from "./draw.js";

export const question = () => "";

export function draw({ usage, listing }) {
  return [
    h("div", { class: "tiles" },
      tile("answers", count(usage.answers)), tile("offered nothing", count(usage.abstained)),
      tile("without a session", count(usage.without_session)), tile("turns read", count(usage.turns)),
      tile("uses", count(usage.uses)), tile("tokens offered", count(usage.context.tokens))),
    states(usage.states, usage.uses),
    section("Adoption by week", weeks(usage.adoption.filter((each) => each.by === "week"))),
    section("Adoption by agent and wording", adoption(usage.adoption.filter((each) => each.by !== "week"))),
    section("Items", items(usage), rest(usage.items.length, usage.n_items)),
    section("Used, and not indexed", usage.not_installed.length
      ? table(["name", "how", "#uses"], usage.not_installed.map((each) => [name(each.name), each.how, count(each.uses)]), "Used, and not indexed")
      : h("p", { class: "quiet" }, "Everything that was used is indexed.")),
    section("Never offered nor used", references(usage.never_offered)),
    section("Offered, and never used", references(usage.offered_never_used)),
    section("What an agent's own listing costs", cost(listing)),
  ];
}

function states(all, uses) {
  if (!uses) return empty(`Nothing was used that a transcript tells of. Set up your agent, and work with it:`, "irc install claude");
  return h("div", { class: "stack" }, Object.entries(all).map(([state, n]) =>
    h("div", { class: "row stage" }, h("span", {}, spaced(state)), bar(n / uses, { label: `${state}: ${n} of ${uses}`, kind: state === "offered" ? "good" : "" }), h("span", { class: "figure" }, count(n)))));
}

function weeks(rows) {
  if (!rows.length) return h("p", { class: "quiet" }, "Nothing was offered in a session yet.");
  return adoption([...rows].sort((a, b) => (a.name < b.name ? -1 : 1)));
}

function adoption(rows) {
  if (!rows.length) return h("p", { class: "quiet" }, "Nothing was offered in a session yet.");
  return table(["by", "name", "#offered", "#used", "share", "#"], rows.map((each) => [each.by, name(each.name), count(each.offered), count(each.adopted), ...share(each)]), "Adoption");
}

// The share as a bar, with its 95% interval on it.
const share = (each) => [
  bar(each.share, { low: each.low, high: each.high, kind: "good", label: `${percent(each.share)}, 95% interval ${percent(each.low)} to ${percent(each.high)}` }),
  each.share === null ? "–" : `${percent(each.share)} (${percent(each.low)} to ${percent(each.high)})`,
];

function items({ items: rows }) {
  if (!rows.length) return empty("No item was offered or used yet. Ask something:", 'irc discover "fill in a PDF form"');
  return table(["item", "#uses", "#offered", "#used after", "share", "#", "#near miss", "#buried", "#absent", "last used"],
    rows.map((each) => [name(each.reference), count(each.uses), count(each.offered), count(each.adopted), ...share(each), count(each.missed.near_miss), count(each.missed.buried), count(each.missed.absent), day(each.last_used)]), "Items");
}

function references({ count: all, references: some }) {
  if (!all) return h("p", { class: "quiet" }, "None.");
  return [h("details", {}, h("summary", {}, `${count(all)}`), h("ul", { class: "columns" }, some.map((each) => h("li", {}, name(each)))), rest(some.length, all))];
}

function cost(listing) {
  if (!listing.skills) return empty("No skill is indexed of which an agent would make a listing.", "irc add skills");
  const share_ = listing.wanted_chars ? listing.budget_chars / listing.wanted_chars : 1;
  return [
    h("p", {}, `${listing.agent}: ${count(listing.skills)} skills want ${count(listing.wanted_chars)} characters of ${count(listing.budget_chars)}; ${count(listing.cut)} are listed by name only.`),
    bar(Math.min(1, 1 / Math.max(share_, 1e-9)), { mark: share_ < 1 ? share_ : null, kind: share_ < 1 ? "bad" : "good", label: "characters wanted, and the budget" }),
    h("p", { class: "quiet" }, listing.source, " ", copyable("irc listing")),
    h("details", {}, h("summary", {}, "Skills"), table(["skill", "#characters", "#uses", "listed"],
      [...listing.items].sort((a, b) => a.whole - b.whole).map((each) => [name(each.name), count(each.chars), count(each.uses), each.whole ? "whole" : "name only"]), "Skills in the listing"), rest(listing.items.length, listing.n_items)),
  ];
}
