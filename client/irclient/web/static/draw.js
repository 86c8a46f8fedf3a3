// Elements, figures and small drawings. The daemon's data only becomes text nodes and values of a fixed
// list of attributes; nothing is parsed as HTML, and the page's policy forbids it.

const SVG = "http://www.w3.org/2000/svg";
const DRAWN = new Set(["svg", "rect", "line", "polyline", "title", "g"]);

// Make an element from plain parts: strings become text, null and false are skipped.
export function h(tag, attributes = {}, ...children) {
  const made = DRAWN.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false)
      made.setAttribute(name, value === true ? "" : String(value));
  }
  append(made, children);
  return made;
}

function append(to, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) append(to, child);
    else to.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

// Update `old` to look like `fresh`, keeping equal parts and with them focus, selection and open details.
export function morph(old, fresh) {
  for (const { name } of [...old.attributes])
    if (!fresh.hasAttribute(name) && name !== "open") old.removeAttribute(name);
  for (const { name, value } of fresh.attributes)
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  morphChildren(old, fresh);
}

export function morphChildren(old, fresh) {
  const wanted = [...fresh.childNodes];
  wanted.forEach((node, at) => {
    const held = old.childNodes[at];
    if (!held) old.append(node);
    else if (held.nodeName !== node.nodeName || key(held) !== key(node)) held.replaceWith(node);
    else if (node.nodeType === Node.TEXT_NODE) {
      if (held.data !== node.data) held.data = node.data;
    } else morph(held, node);
  });
  while (old.childNodes.length > wanted.length) old.lastChild.remove();
}

const key = (node) => (node.dataset ? node.dataset.key : undefined);

// An item's name: isolated, so that its text direction does not affect its neighbours; the style cuts it.
export const name = (text, kind = "name") => h("bdi", { class: kind, title: text }, text);

export const counted = (n, noun) => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;
export const count = (n) => (typeof n === "number" ? n.toLocaleString("en") : "–");
export const fixed = (n, digits = 2) => (typeof n === "number" ? n.toFixed(digits) : "–");
export const percent = (n) => (typeof n === "number" ? `${Math.round(100 * n)}%` : "–");
export const spaced = (text) => String(text).replaceAll("_", " ");

export function bytes(n) {
  if (typeof n !== "number") return "–";
  const units = ["B", "kB", "MB", "GB"];
  let at = 0;
  while (n >= 1000 && at < 3) [n, at] = [n / 1000, at + 1];
  return `${n.toFixed(n < 10 && at ? 1 : 0)} ${units[at]}`;
}

export function span(seconds) {
  if (typeof seconds !== "number") return "–";
  if (seconds < 120) return `${Math.max(0, Math.round(seconds))} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} days`;
}

export function ago(at, now) {
  return at ? h("time", { datetime: iso(at) }, `${span(now - at)} ago`) : "never";
}

export const iso = (at) => new Date(1000 * at).toISOString();
export const clock = (at) => new Date(1000 * at).toLocaleTimeString();
export const day = (at) => (at ? h("time", { datetime: iso(at) }, iso(at).slice(0, 10)) : "never");

// A bar from 0 (or `from`) to a share of 1, with a mark across it, and a range from low to high on it.
export function bar(share, { kind = "", from = 0, mark = null, low = null, high = null, label = "" } = {}) {
  const at = (value) => 100 * Math.min(1, Math.max(0, value || 0));
  return h(
    "svg",
    { class: `bar ${kind}`, viewBox: "0 0 100 8", preserveAspectRatio: "none", role: "img", "aria-label": label },
    h("rect", { class: "track", width: 100, height: 8 }),
    h("rect", { class: "fill", x: at(from), width: at(share), height: 8 }),
    typeof low === "number" &&
      h("rect", { class: "range", x: at(low), width: Math.max(0.5, at(high) - at(low)), y: 3, height: 2 }),
    typeof mark === "number" && h("line", { class: "mark", x1: at(mark), x2: at(mark), y1: 0, y2: 8 }),
  );
}

// A line of values, oldest first, one a minute; null is a gap, a value between gaps a dot.
export function sparkline(values, label) {
  const top = Math.max(1e-9, ...values);
  const at = (i) => ((120 * i) / Math.max(1, values.length - 1)).toFixed(1);
  const lines = [[]];
  values.forEach((v, i) => (v === null ? lines.push([]) : lines.at(-1).push(`${at(i)},${(26 - (24 * v) / top).toFixed(1)}`)));
  const dotted = (points) => (points.length === 1 ? [points[0], points[0]] : points);
  return h(
    "svg",
    { class: "spark", viewBox: "-1 0 122 28", preserveAspectRatio: "none", role: "img", "aria-label": label },
    lines.filter((points) => points.length).map((points) => h("polyline", { points: dotted(points).join(" ") })),
  );
}

export const tile = (label, value, more = null, kind = "") =>
  h("div", { class: `tile ${kind}` }, h("span", { class: "label" }, label), h("span", { class: "value" }, value), more);

export const pill = (text, kind = "") => h("span", { class: `pill ${kind}` }, text);

export const empty = (text, line = "") => h("div", { class: "empty" }, h("p", {}, text), line && copyable(line));

// A command, and a button that copies it.
export const copyable = (line) =>
  h("span", { class: "command" }, h("code", {}, line),
    h("button", { type: "button", "data-copy": line, "aria-label": `Copy: ${line}` }, "Copy"));

// A text for missing transcripts of an agent, with the command if no agent is set up.
export const untold = (text, agents, more) =>
  agents.length ? empty(`${text} Set up: ${agents.join(", ")}.`) : empty(`${text} ${more}`, "irc install claude");

// A table of rows of cells; `heads` beginning with # are figures.
export function table(heads, rows, label) {
  const figure = heads.map((each) => each.startsWith("#"));
  const cells = (row) =>
    row.map((cell, i) => h("td", { class: figure[i] ? "figure" : null, "data-label": bare(heads[i]) }, cell));
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label },
    h("table", {},
      h("thead", {}, h("tr", {}, heads.map((each, i) =>
        h("th", { scope: "col", class: figure[i] ? "figure" : null }, bare(each))))),
      h("tbody", {}, rows.map((row) => h("tr", {}, cells(row))))));
}

const bare = (head) => head.replace(/^#/, "");

export const section = (title, ...children) => h("section", {}, h("h2", {}, title), ...children);
export const rest = (shown, all) =>
  all > shown && h("p", { class: "quiet" }, `${count(all - shown)} more: the first ${count(shown)} are shown`);
