// Ask this server for data. It lies below a path that only pages of this origin know (enter.js): there a
// browser sends the cookie, and to no other port of this machine, whose servers may be anybody's.

export const at = (path) => `${localStorage.getItem("irdaemon") ?? ""}${path}`;

// Return the data, an {error} of it, or null where there was no answer.
export async function json(path) {
  try {
    return await (await fetch(at(path))).json();
  } catch {
    return null;
  }
}
