// Ask this server for data of a view, beside what the view asks for by itself.

// Return the data, an {error} of it, or null where there was no answer.
export async function json(path) {
  try {
    return await (await fetch(path)).json();
  } catch {
    return null;
  }
}
