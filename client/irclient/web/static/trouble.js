// Trouble: what is wrong, and the command that fixes it; where credentials are; what has changed.
import { ago, clock, copyable, count, counted, empty, h, name, pill, rest, section, spaced, table } from "./draw.js";

export const question = () => "";

export function draw({ status, failures, secrets, audit, counts }, events, now = Date.now() / 1000) {
  return [
    section("Health", health(status)),
    section("Could not be read", failures.length
      ? [table(["corpus", "path", "reason", "since", "#tries", "after fixing it"], failures.map((each) => [name(each.corpus), name(each.path, "path"), name(each.reason, "reason"), ago(each.since, now), count(each.tries), copyable(each.command)]), "Failures"), rest(failures.length, counts.failures)]
      : h("p", { class: "quiet" }, "Every entry could be read.")),
    section("Credentials in indexed files", secrets.length
      ? [h("p", {}, "They were removed from the index but are still in these files. Revoke them, and remove them there. ", copyable("irc status --secrets")),
        h("p", {}, Object.entries(counts.secret_kinds).map(([kind, n]) => [pill(`${kind} ${count(n)}`, "bad"), " "])),
        h("details", {}, h("summary", {}, counted(counts.secrets, "place")), table(["corpus", "path", "#line", "kind"], secrets.map((each) => [name(each.corpus), name(each.path, "path"), each.line || "–", name(each.kind)]), "Places of credentials"), rest(secrets.length, counts.secrets))]
      : h("p", { class: "quiet" }, "None found.")),
    section("Changed since it was disclosed", audit.length
      ? [audit.map((each) => changed(each, now)), rest(audit.length, counts.audit)]
      : h("p", { class: "quiet" }, "No disclosed item has changed.")),
    section("Events", events.length
      ? h("ol", { class: "events" }, events.slice(0, 50).map(event))
      : empty("None since this page was started. To watch in a terminal:", "irc events")),
  ];
}

function health(status) {
  const found = status.health;
  if (!found) return h("p", { class: "quiet" }, "This daemon does not report its health.");
  const lines = [
    ...found.stuck.map((each) => ["stuck", each, "irdaemon restart"]),
    ...found.limits.map((each) => ["limit", each, "irdaemon doctor"]),
    ...found.corpora.flatMap((corpus) => [
      ...corpus.offline.map((each) => [`offline: ${corpus.name}`, `${each.path}: ${each.reason}`, "irdaemon doctor"]),
      ...corpus.polled.map((each) => [`polled: ${corpus.name}`, `${each.path}: ${each.reason}`, "irdaemon doctor"]),
      ...corpus.stale.map((each) => [`stale: ${corpus.name}`, each, "irc status"]),
    ]),
    ...status.corpora.flatMap((corpus) => corpus.problems.map((each) => [corpus.name, `${each.path}: ${each.reason}`, "irdaemon doctor"])),
  ];
  const ledger = status.ledger?.problem ? [["ledger", status.ledger.problem.error, "irdaemon check"]] : [];
  const refused = status.refused ? [["configuration", `refused, the previous one is in use: ${status.refused.message}`, "irdaemon reload"]] : [];
  const all = [...refused, ...ledger, ...lines];
  return [
    h("p", {}, pill(found.level, found.level === "ok" ? "good" : "bad"), all.length ? "" : " nothing is stuck, stale or offline"),
    all.length ? [table(["what", "why", "command"], all.slice(0, 200).map(([what, why, line]) => [name(what), name(why, "reason"), copyable(line)]), "Problems"), rest(200, all.length)] : null,
  ];
}

const changed = (each, now) =>
  h("details", { class: "diff", "data-key": `${each.corpus}/${each.artifact_id}` },
    h("summary", {}, name(each.name || each.artifact_id), " ", h("span", { class: "kind" }, name(each.corpus)), " ", pill(each.state, "bad"), h("span", { class: "quiet" }, " disclosed ", ago(each.disclosed_at, now))),
    h("pre", { dir: "auto", tabindex: 0 }, each.diff.split("\n").map((text) => h("span", { class: text.startsWith("+") ? "plus" : text.startsWith("-") ? "minus" : null }, `${text}\n`))),
    copyable(each.command));

function event(each) {
  const { event: topic, at, ...about } = each;
  const words = Object.entries(about).filter(([, value]) => value !== "" && typeof value !== "object").map(([key, value]) => `${spaced(key)} ${value}`);
  return h("li", {}, h("time", {}, clock(at)), " ", pill(spaced(topic), topic === "failure" || topic === "lost" ? "bad" : "quiet"), " ", name(words.join(", "), "reason"), topic === "failure" ? [" ", copyable("irc status --failures")] : null);
}
