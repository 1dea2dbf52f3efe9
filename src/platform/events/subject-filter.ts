/**
 * Subjects of events and filters over them, with the syntax of NATS: words between dots, `*` for one word, `>` at the
 * end for one or more. https://docs.nats.io/nats-concepts/subjects
 */

/** Longest subject or filter, in characters. */
export const SUBJECT_CHARACTERS_MAX = 256;
/** JSON Schema pattern of a filter. No white space, no control characters, `>` only as the last word. */
export const FILTER_PATTERN = "^(?:(?:\\*|[A-Za-z0-9_:$~-]+)\\.)*(?:>|\\*|[A-Za-z0-9_:$~-]+)$";

const SUBJECT = /^[A-Za-z0-9_:$~-]+(?:\.[A-Za-z0-9_:$~-]+)*$/;
const FILTER = new RegExp(FILTER_PATTERN);

/** The words of a filter. */
export type SubjectFilter = readonly string[];

/** True when an event may be published under this subject. */
export function isSubject(text: string): boolean {
  return text.length <= SUBJECT_CHARACTERS_MAX && SUBJECT.test(text);
}

/** Returns the words of a filter; undefined for text that is none. */
export function parseFilter(text: string): SubjectFilter | undefined {
  return text.length <= SUBJECT_CHARACTERS_MAX && FILTER.test(text) ? text.split(".") : undefined;
}

/**
 * True when the filter matches a subject.
 * @param words the subject, split at its dots
 */
export function matches(filter: SubjectFilter, words: readonly string[]): boolean {
  for (const [index, expected] of filter.entries()) {
    const word = words[index];
    if (word === undefined) return false;
    if (expected === ">") return true;
    if (expected !== "*" && expected !== word) return false;
  }
  return filter.length === words.length;
}

/** True when `outer` matches every subject that `inner` matches. */
export function isWithin(inner: SubjectFilter, outer: SubjectFilter): boolean {
  for (const [index, allowed] of outer.entries()) {
    const asked = inner[index];
    if (asked === undefined) return false;
    if (allowed === ">") return true;
    if (asked === ">" || (allowed !== "*" && allowed !== asked)) return false;
  }
  return inner.length === outer.length;
}
