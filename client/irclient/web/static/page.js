// The page requests its view's data, draws it, and requests it again after events.
import { at } from "./ask.js";
import { clock, h, morphChildren } from "./draw.js";
import { listen } from "./live.js";
import * as now from "./now.js";
import * as try_ from "./try.js";
import * as use from "./use.js";
import * as gaps from "./gaps.js";
import * as trouble from "./trouble.js";

const VIEWS = { now, try: try_, use, gaps, trouble };
// How often a view is requested without an event, and how soon after one: rarely if it is costly.
// An answer changes with the query and with the index.
const EVERY_MS = { now: 5000, try: Infinity, use: 60000, gaps: 60000, trouble: 15000 };
const SOON_MS = { now: 300, try: 300, trouble: 2000 };
const DOWN_MS = 2000;

const shown = document.body.dataset.view;
const view = VIEWS[shown];
const main = document.getElementById("view");
const notice = document.getElementById("notice");
const state = document.getElementById("state");
const drawn = h("div", { class: "drawn" });
let events = [];
let last = null;
let since = null;
let timer = 0;
let due = Infinity;
let asking = null;

function plan(ms) {
  const at = performance.now() + ms;
  if (at >= due) return;
  clearTimeout(timer);
  due = at;
  timer = setTimeout(ask, ms);
}

// Ask now; drop a pending request, which is for an older question.
async function ask() {
  due = Infinity;
  if (document.hidden) return;
  asking?.abort();
  const mine = (asking = new AbortController());
  let next = EVERY_MS[shown];
  try {
    const [answer, happened] = await Promise.all([
      fetch(at(`/${shown}.json${view.question()}`), { signal: mine.signal }),
      shown === "trouble" ? fetch(at("/events.json"), { signal: mine.signal }) : null,
    ]);
    if (answer.status === 401) return refused();
    const data = await answer.json();
    if (happened?.ok) events = await happened.json();
    if (data.error) next = failed(data.error, answer.status, next);
    else succeeded(data);
  } catch (error) {
    if (error.name === "AbortError") return;
    if (!(error instanceof TypeError)) throw error;
    next = failed({ message: "the page's own server does not answer", hint: "irc web" }, 503, next);
  }
  if (Number.isFinite(next)) plan(next);
}

function succeeded(data) {
  since = null;
  document.body.classList.remove("stale");
  told("live", "good");
  say("");
  last = data;
  show();
}

// A wrong query leaves the page as it is; a missing daemon greys it out.
function failed(error, status, next) {
  say(`${error.message}${error.hint ? ` (${error.hint})` : ""}`);
  if (status < 500) {
    told("live", "good");
    return next;
  }
  since ??= Date.now() / 1000;
  document.body.classList.add("stale");
  told(`no answer since ${clock(since)}`, "bad");
  return DOWN_MS;
}

function refused() {
  document.body.classList.add("stale");
  told("not admitted", "bad");
  say("This browser is no longer admitted: run irc web, and open its link.");
}

function show() {
  morphChildren(drawn, h("div", {}, view.draw(last, events)));
  looked();
}

function told(text, kind) {
  if (state.textContent !== text) state.textContent = text;
  state.className = `pill ${kind}`;
}

function say(text) {
  if (notice.textContent !== text) notice.textContent = text;
  notice.hidden = !text;
}

function heard(event) {
  if (event.event === "link_reused") {
    say("The link that admitted this browser was opened a second time and refused. If that was not you, another person saw the link.");
    return;
  }
  if (SOON_MS[shown]) plan(SOON_MS[shown]);
}

// -- keys, and what is clicked ---------------------------------------------------------------------

const MOVES = { ArrowDown: 1, ArrowUp: -1 };

function stops() {
  return [...main.querySelectorAll("#q, summary, article a, button, .scroll")].filter((each) => each.checkVisibility());
}

addEventListener("keydown", (event) => {
  const typing = event.target.closest("input:not(#q):not([type=checkbox]), select, textarea");
  if (event.ctrlKey || event.metaKey || event.altKey || typing) return;
  if (event.key === "/" && event.target.id !== "q") {
    event.preventDefault();
    if (shown === "try") try_.focusQuery();
    else location.href = "/try";
  } else if (MOVES[event.key]) {
    const all = stops();
    const at = all.indexOf(document.activeElement) + MOVES[event.key];
    if (at >= 0 && at < all.length) {
      event.preventDefault();
      all[at].focus();
    }
  }
});

main.addEventListener("click", async ({ target }) => {
  const button = target.closest("button");
  if (button?.dataset.item) try_.onItem(button.dataset.item);
  if (button?.dataset.coverage) now.onCoverage(button.dataset.coverage);
  if (button && "more" in button.dataset) gaps.onMore();
  if (button?.dataset.copy) {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 1500);
  }
});

// A copy in its own tab: the data's address has the secret path, which belongs in no history.
document.getElementById("data").addEventListener("click", () => {
  const copy = URL.createObjectURL(new Blob([JSON.stringify(last, null, 2)], { type: "application/json" }));
  open(copy);
  setTimeout(() => URL.revokeObjectURL(copy), 60_000);
});
document.addEventListener("visibilitychange", () => document.hidden || plan(0));
if (view.mount) main.append(view.mount((ms) => { clearTimeout(timer); due = Infinity; plan(ms); }));
main.append(drawn);
const looked = view.watch?.(drawn, () => last && show()) ?? (() => {});
if (shown === "try") try_.focusQuery();
listen(heard);
plan(0);
