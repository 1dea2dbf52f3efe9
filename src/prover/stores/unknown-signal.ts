/** Says what is wrong with the name of a nullifier. */

/** Names that an error lists. */
const LISTED_NAMES_MAX = 20;

/** Says that a circuit has no such public signal, and which it has. */
export function unknownSignal(name: string, names: readonly string[]): string {
  const listed = names.slice(0, LISTED_NAMES_MAX).join(", ");
  const has = names.length === 0 ? "it has none" : `it has ${listed}${names.length > LISTED_NAMES_MAX ? ", ..." : ""}`;
  return `nullifier: the circuit has no public signal ${name}; ${has}`;
}
