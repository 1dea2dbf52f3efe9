/**
 * What is known of templates of the shipped library beyond the rules of propagation. A contract holds for the text of
 * the shipped file, not for a template's name: a changed copy has none.
 */
import type { BelowPrime } from "./bound-rules.js";
import type { ComponentSources } from "./component-sources.js";
import type { SignalTable } from "./signal-table.js";

/** Holds 254 bits below the prime of BN254; with CompConstant, which it compares them by. */
const ALIAS_CHECK = {
  template: "AliasCheck",
  files: [
    "circomlib/circuits/aliascheck.circom",
    "circomlib/circuits/compconstant.circom",
    "circomlib/circuits/bitify.circom",
  ],
};
const FIRST_BIT = /^(.*)\.in\[0\]$/;
const BITS = 254;

/** Returns the wires of each number that a template of the library holds below the prime, lowest bit first. */
export function numbersBelowPrime(
  table: SignalTable,
  places: ComponentSources,
  library: ReadonlyMap<string, string>,
): BelowPrime {
  const lists: number[][] = [];
  if (!ALIAS_CHECK.files.every((path) => places.textOf(path) === library.get(path))) return lists;
  for (const name of table.names) {
    const component = name === undefined ? undefined : FIRST_BIT.exec(name)?.[1];
    if (component === undefined) continue;
    const template = places.templateOf(component);
    if (template?.name !== ALIAS_CHECK.template || template.file.path !== ALIAS_CHECK.files[0]) continue;
    const wires = Array.from({ length: BITS }, (_, bit) => table.wireOf(`${component}.in[${String(bit)}]`));
    if (wires.every((wire) => wire !== undefined)) lists.push(wires);
  }
  return lists;
}
