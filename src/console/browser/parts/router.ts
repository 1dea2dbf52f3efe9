/** Where the user is: the part of the address behind the #, which the server never sees and a reload keeps. */
import { useEffect, useState } from "preact/hooks";

export interface Place {
  /** Words between the slashes, such as ["provers", ID, "prove"]. */
  readonly words: readonly string[];
  readonly query: URLSearchParams;
}

/** Reads the part behind the #. */
export function readPlace(hash: string): Place {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  return {
    words: path
      .split("/")
      .map(decoded)
      // Dots alone are steps in the path of a call, and would lead a link to another route than its room calls.
      .filter((word) => !["", ".", ".."].includes(word)),
    query: new URLSearchParams(query),
  };
}

function decoded(word: string): string {
  try {
    return decodeURIComponent(word);
  } catch {
    // A link that somebody cut: its word is no id, and the server says so.
    return word;
  }
}

/** Returns the place, and renders again when it changes. */
export function usePlace(): Place {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const changed = (): void => {
      setHash(location.hash);
    };
    addEventListener("hashchange", changed);
    return () => {
      removeEventListener("hashchange", changed);
    };
  }, []);
  return readPlace(hash);
}

/** Goes to a place, such as `/provers/ID`. */
export function go(path: string): void {
  location.hash = `#${path}`;
}
