/**
 * Witnesses of inputs that the server makes up: random, small, bits, all equal, and each input zero alone. No inputs of
 * a user are among them, so that they may be shown.
 */
import { randomNonZero } from "../field/bytes.js";
import { checkInputs } from "../circuit/inputs.js";
import { scalarFieldOf, sizeOf, type CircuitInterface, type SignalValues } from "../circuit/interface.js";
import { computeWitness } from "../circuit/witness.js";
import { readBigIntLE } from "../field/bytes.js";
import { firstBroken, type Row } from "./constraint-system.js";

export interface SampleOptions {
  readonly program: Uint8Array;
  readonly circuit: CircuitInterface;
  readonly rows: readonly Row[];
  /** Inputs known to satisfy the circuit, as a caller gives them; tried first. */
  readonly example?: unknown;
  readonly samplesMax: number;
  readonly isOver: () => boolean;
}

type MakeValue = (index: number) => bigint;

/** Inputs that are set to zero alone. */
const SINGLE_ZEROS_MAX = 16;
const SMALL = 0xffffn;
const FIELD_BYTES = 32;

/** Returns different witnesses that satisfy every constraint; none when no tried inputs have one. */
export async function sampleWitnesses(options: SampleOptions): Promise<bigint[][]> {
  const { circuit, rows, isOver, samplesMax } = options;
  const module = await WebAssembly.compile(Uint8Array.from(options.program));
  const prime = scalarFieldOf(circuit.curve);
  const found = new Map<string, bigint[]>();
  for (const values of candidatesOf(options, prime)) {
    if (found.size >= samplesMax || isOver()) break;
    const made = computeWitness(module, circuit, values);
    if (!made.ok) continue;
    const witness = Array.from({ length: circuit.wireCount }, (_, wire) =>
      readBigIntLE(made.witness, wire * FIELD_BYTES),
    );
    // A program that computes something else than the constraints say has no witness here.
    if (firstBroken(rows, witness, prime) === undefined) found.set([...values.values()].flat().join(), witness);
  }
  return [...found.values()];
}

function* candidatesOf({ circuit, example }: SampleOptions, prime: bigint): Generator<SignalValues> {
  if (example !== undefined) {
    const checked = checkInputs(circuit, example);
    if (checked.ok) yield checked.values;
  }
  const random: MakeValue = () => randomNonZero(prime);
  const small: MakeValue = () => randomNonZero(prime) & SMALL;
  const bits: MakeValue = () => randomNonZero(prime) & 1n;
  for (const make of [random, small, bits, () => 0n, () => 1n, () => prime - 1n, random, small, bits])
    yield valuesBy(circuit, make);
  const inputs = circuit.signals.reduce((sum, s) => sum + (s.visibility === "output" ? 0 : sizeOf(s)), 0);
  for (let zero = 0; zero < Math.min(inputs, SINGLE_ZEROS_MAX); zero += 1)
    yield valuesBy(circuit, (index) => (index === zero ? 0n : randomNonZero(prime)));
}

function valuesBy(circuit: CircuitInterface, make: MakeValue): SignalValues {
  let index = 0;
  const values = new Map<string, readonly bigint[]>();
  for (const signal of circuit.signals) {
    if (signal.visibility === "output") continue;
    values.set(
      signal.name,
      Array.from({ length: sizeOf(signal) }, () => {
        index += 1;
        return make(index - 1);
      }),
    );
  }
  return values;
}
