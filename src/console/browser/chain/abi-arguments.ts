/** The arguments of a contract's method, from what stands in the fields of its form. */

export interface AbiInput {
  readonly name: string;
  readonly type: string;
}

/**
 * Returns the argument that a text stands for: arrays and tuples are JSON, booleans words, everything else as it is.
 * @throws Error with a sentence
 */
export function abiArgument({ name, type }: AbiInput, text: string): unknown {
  const trimmed = text.trim();
  const label = name === "" ? type : name;
  if (/\]$|^tuple/.test(type)) {
    try {
      return JSON.parse(trimmed);
    } catch {
      throw new Error(`${label} takes JSON, such as ${type.endsWith("]") ? '["1", "2"]' : '{"member": "1"}'}.`);
    }
  }
  if (type === "bool") {
    if (trimmed !== "true" && trimmed !== "false") throw new Error(`${label} must be true or false.`);
    return trimmed === "true";
  }
  if (type === "string") return text;
  if (trimmed === "") throw new Error(`${label} is empty.`);
  if (/^u?int/.test(type) && !/^-?(?:[0-9]+|0x[0-9a-fA-F]+)$/.test(trimmed))
    throw new Error(`${label} must be a whole number.`);
  return trimmed;
}

/** Returns true for methods that only read. */
export function isReading(stateMutability: string | undefined): boolean {
  return stateMutability === "view" || stateMutability === "pure";
}
