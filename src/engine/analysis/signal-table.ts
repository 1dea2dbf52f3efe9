/** The names of a circuit's wires and which of them are inputs and outputs, read from the compiler's symbol table. */
import type { R1csHeader } from "../circuit/r1cs.js";

export interface SignalTable {
  /** Full path by wire, such as `main.a.b[3]`; undefined for wires that the table does not name. */
  readonly names: readonly (string | undefined)[];
  /** Wires, without inputs that have none. */
  readonly inputs: readonly number[];
  readonly outputs: readonly number[];
  /** Finds a wire by the path of its signal. */
  readonly wireOf: (path: string) => number | undefined;
}

/** The symbol table does not describe the constraint system. */
export class SignalTableError extends Error {
  override readonly name = "SignalTableError";
}

const LINE = /^(\d+),(-?\d+),\d+,(\S+)$/;

/**
 * Reads the table: one line `label,wire,component,path` a signal, outputs and inputs first, wire -1 for what the
 * compiler has substituted.
 * @throws SignalTableError when a line has another form or names a wire that does not exist
 */
export function readSignalTable(header: R1csHeader, symBytes: Uint8Array): SignalTable {
  const { outputCount, publicInputCount, privateInputCount, wireCount } = header;
  const inputEnd = outputCount + publicInputCount + privateInputCount;
  const names = new Array<string | undefined>(wireCount).fill(undefined);
  const inputs = new Set<number>();
  const outputs = new Set<number>();
  const wires = new Map<string, number>();
  for (const line of Buffer.from(symBytes.buffer, symBytes.byteOffset, symBytes.length).toString("utf8").split("\n")) {
    if (line === "") continue;
    const [, labelText, wireText, path] = LINE.exec(line.trimEnd()) ?? [];
    const [label, wire] = [Number(labelText), Number(wireText)];
    if (path === undefined || wire >= wireCount) throw new SignalTableError("the symbol table does not match the R1CS");
    if (wire < 0) continue;
    names[wire] ??= path;
    wires.set(path, wire);
    if (label <= outputCount) outputs.add(wire);
    else if (label <= inputEnd) inputs.add(wire);
  }
  return { names, inputs: [...inputs], outputs: [...outputs], wireOf: (path) => wires.get(path) };
}
