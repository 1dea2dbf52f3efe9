/** What the engine takes of node:v8 and node:fs, where it looks for what only Node has: in a browser nothing. */

/** A browser's flags are not a page's to set. */
export function setFlagsFromString(): void {
  return undefined;
}

/** Never called: nothing is prepared for the page. */
export function deserialize(): never {
  throw new Error("the page has no prepared programs");
}

/** Never called: nothing is prepared for the page. */
export function readFileSync(): never {
  throw new Error("the page has no files");
}
