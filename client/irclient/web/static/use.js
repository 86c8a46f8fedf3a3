// Use: what was offered and used, what never was, and what a listing has room for.
import { bar, copyable, count, counted, day, empty, fixed, h, name, percent, pill, rest, section, spaced, table, tile, untold } from "./draw.js";

export const question = () => "";

export function draw({ usage, listing, agents }) {
  return [
    h("div", { class: "tiles" },
      tile("answers", count(usage.answers)), tile("offered nothing", count(usage.abstained)),
      tile("without a session", count(usage.without_session)), tile("turns read", count(usage.turns)),
      tile("uses", count(usage.uses)), tile("tokens offered", count(usage.context.tokens))),
    section("Uses, by what was offered", states(usage, agents)),
    section("Adoption by week", weeks(usage.adoption.filter((each) => each.by === "week"))),
    section("Adoption by agent and wording", adoption(usage.adoption.filter((each) => each.by !== "week"))),
    section("Items", items(usage), rest(usage.items.length, usage.n_items)),
    section("Used but not indexed", usage.not_installed.length
      ? [table(["name", "how", "#uses"], usage.not_installed.map((each) => [name(each.name), each.how, count(each.uses)]), "Used but not indexed"), rest(usage.not_installed.length, usage.n_not_installed)]
      : h("p", { class: "quiet" }, "Everything used is indexed.")),
    section("Never offered or used", references(usage.never_offered)),
    section("Offered but never used", references(usage.offered_never_used)),
    section("Moments", moments(usage.moments ?? [])),
    section("Muted, pinned, faded", wishes(usage)),
    section("What an agent's own listing costs", cost(listing)),
    section("Learned from use", learned(usage.learned)),
  ];
}

function states({ states: all, uses }, agents) {
  if (!uses) return untold("No transcript shows a use yet.", agents, "Set up your agent and work with it:");
  return h("div", { class: "stack" }, Object.entries(all).map(([state, n]) =>
    h("div", { class: "row stage" }, h("span", {}, spaced(state)), bar(n / uses, { label: `${state}: ${n} of ${uses}`, kind: state === "offered" ? "good" : "" }), h("span", { class: "figure" }, count(n)))));
}

function weeks(rows) {
  if (!rows.length) return h("p", { class: "quiet" }, "Nothing was offered in a session yet.");
  const inOrder = [...rows].sort((a, b) => (a.name < b.name ? -1 : 1));
  return table(["week", ...ADOPTION], inOrder.map((each) => [name(each.name), ...adopted(each)]), "Adoption by week");
}

function adoption(rows) {
  if (!rows.length) return h("p", { class: "quiet" }, "Nothing was offered in a session yet.");
  return table(["by", "name", ...ADOPTION], rows.map((each) => [each.by, name(each.name), ...adopted(each)]), "Adoption by agent and wording");
}

const ADOPTION = ["#offered", "#used", "share", "#"];
const adopted = (each) => [count(each.offered), count(each.adopted), ...share(each)];

// The share as a bar, with its 95% interval on it.
const share = (each) => [
  bar(each.share, { low: each.low, high: each.high, kind: "good", label: `${percent(each.share)}, 95% interval ${percent(each.low)} to ${percent(each.high)}` }),
  each.share === null ? "–" : `${percent(each.share)} (${percent(each.low)} to ${percent(each.high)})`,
];

// Offers without a session, as in a terminal, count in the sums but for no item.
function items({ items: rows, context }) {
  if (!rows.length && context.items) return h("p", { class: "quiet" }, `${counted(context.items, "item")} offered, but not in an agent's session, so their use is unknown.`);
  if (!rows.length) return empty("No item has been offered or used yet. Ask something:", 'irc discover "fill in a PDF form"');
  return table(["item", "#uses", "#offered", "#used after", "share", "#", "#near miss", "#buried", "#absent", "last used"],
    rows.map((each) => [name(each.reference), count(each.uses), count(each.offered), count(each.adopted), ...share(each), count(each.missed.near_miss), count(each.missed.buried), count(each.missed.absent), day(each.last_used)]), "Items");
}

function references({ count: all, references: some }) {
  if (!all) return h("p", { class: "quiet" }, "None.");
  return [h("details", {}, h("summary", {}, `${count(all)}`), h("ul", { class: "columns" }, some.map((each) => h("li", {}, name(each)))), rest(some.length, all))];
}

// Outcomes of the hook's events other than prompts, and of malformed ones.
function moments(rows) {
  if (!rows.length) return h("p", { class: "quiet" }, "None yet: each moment is off until you switch it on. ", copyable("irc install claude --moments compact,subagent"));
  return table(["moment", "agent", "outcome", "#events"], rows.map((each) => [name(each.moment), name(each.agent), pill(each.outcome, each.outcome === "told" ? "good" : each.outcome === "bad" ? "bad" : "quiet"), count(each.n)]), "Moments");
}

// Items that the person mutes or pins, and items that ten sessions were offered in vain.
function wishes({ muted = [], pinned = [], faded = [] }) {
  const rows = [
    ...muted.map((each) => [name(each), pill("muted", "quiet"), ""]),
    ...pinned.map((each) => [name(each), pill("pinned", "good"), ""]),
    ...faded.map((each) => [name(each.reference), pill("faded", "bad"), count(each.sessions)]),
  ];
  if (!rows.length) return h("p", { class: "quiet" }, "Nothing: what applies is offered. ", copyable("irc mute REF"));
  return table(["item", "offers", "#sessions in vain"], rows, "Muted, pinned, faded");
}

// NDCG@10 of the newest uses, before and after; prompts that make it worse are not served.
function learned(all) {
  if (!all?.length) return h("p", { class: "quiet" }, "Nothing yet: this needs prompts that led to the use of an item.");
  return table(["corpus", "outcome", "#uses", "#newest, held out", "#NDCG@10 before", "#after", "#items taught", "#prompts"],
    all.map((each) => [name(each.corpus), pill(each.outcome, each.outcome === "published" ? "good" : "quiet"), count(each.uses), count(each.held_out), ...[each.before, each.after].map((value) => (each.held_out ? fixed(value, 3) : "–")), count(each.artifacts), count(each.prompts)]), "Learned from use");
}

function cost(listing) {
  if (!listing.skills) return empty("No skills are indexed, so an agent's listing is empty.", "irc add skills");
  const share_ = listing.wanted_chars ? listing.budget_chars / listing.wanted_chars : 1;
  return [
    h("p", {}, `${listing.agent}: ${counted(listing.skills, "skill")} with ${counted(listing.wanted_chars, "character")}, room for ${count(listing.budget_chars)}; ${count(listing.cut)} listed by name only.`),
    bar(Math.min(1, 1 / Math.max(share_, 1e-9)), { mark: share_ < 1 ? share_ : null, kind: share_ < 1 ? "bad" : "good", label: "characters needed, and the budget" }),
    h("p", { class: "quiet" }, listing.source, " ", copyable("irc listing")),
    h("details", {}, h("summary", {}, "Skills"), table(["skill", "#characters", "#uses", "listed"],
      [...listing.items].sort((a, b) => a.whole - b.whole).map((each) => [name(each.name), count(each.chars), count(each.uses), each.whole ? "whole" : "name only"]), "Skills in the listing"), rest(listing.items.length, listing.n_items)),
  ];
}
