// Ask this server for data below a path that only pages of this origin know (enter.js): the browser sends
// the cookie there, and not to other ports of this machine, whose servers may be anybody's.

export const at = (path) => `${localStorage.getItem("irdaemon") ?? ""}${path}`;

// Return the data, an {error}, or null if there was no answer.
export async function json(path) {
  try {
    return await (await fetch(at(path))).json();
  } catch {
    return null;
  }
}
