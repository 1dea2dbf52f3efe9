/** What the gates of PLONK and FFLONK keys have in common: how one fails, and the proofs that are tried on a key. */
import type { CurveParameters } from "../curves/curve-parameters.js";
import { randomScalars, readBigIntLE } from "../field/bytes.js";
import type { StoredKeyResult } from "../proof-systems/proof-system.js";
import { SELECTORS } from "./plonk-gates.js";
import type { PlonkGates } from "./plonk-gates.js";

type Gate = "header" | "reference_string" | "circuit" | "verifying_key" | "canary" | "honest_proof";

/** A gate has stopped a key. */
export class GateFailure extends Error {
  override readonly name = "GateFailure";
  readonly gate: Gate;

  constructor(gate: Gate, message: string) {
    super(message);
    this.gate = gate;
  }
}

/** Public signals whose change is tried on the honest proof. */
const CHANGED_SIGNALS_MAX = 16;
/** Random bytes per wire of an assignment that satisfies no constraint. */
const WIRE_BYTES = 4;

/** Runs all gates; the first that fails is the result. */
export async function passGates(run: () => Promise<void>): Promise<StoredKeyResult> {
  try {
    await run();
    return { ok: true };
  } catch (error) {
    if (error instanceof GateFailure) return { ok: false, message: `${error.gate}: ${error.message}` };
    throw error;
  }
}

/**
 * Requires that an honest proof verifies with its public signals and with no others.
 * @param isValid tells whether the proof verifies with some public signals
 */
export function checkHonestProof(isValid: (signals: readonly bigint[]) => boolean, signals: readonly bigint[]): void {
  const fails = (changed: readonly bigint[], what: string): void => {
    if (isValid(changed)) throw new GateFailure("honest_proof", `the proof verifies with ${what}`);
  };
  if (!isValid(signals)) throw new GateFailure("honest_proof", "an honest proof does not verify");
  signals.slice(0, CHANGED_SIGNALS_MAX).forEach((signal, i) => {
    fails(signals.with(i, signal === 0n ? 1n : signal - 1n), `public signal ${String(i)} changed`);
  });
  if (signals.length > 0) fails(signals.slice(0, -1), "a public signal missing");
  fails([...signals, 0n], "a public signal too many");
}

/** Whether the assignment satisfies all gates, which a circuit without constraints makes any one do. */
export function isSatisfied(gates: PlonkGates, witness: Uint8Array, { r, frBytes }: CurveParameters): boolean {
  const { systemWireCount, publicCount, gateCount, coefficients, wires, selectors, additions } = gates;
  const sums: bigint[] = [];
  const factor = (numbers: Uint32Array, i: number): bigint => coefficients[numbers[i] ?? 0] ?? 0n;
  const value = (wire: number): bigint => {
    if (wire === 0) return 0n;
    if (wire < systemWireCount) return readBigIntLE(witness, wire * frBytes, frBytes);
    for (let i = sums.length; i <= wire - systemWireCount; i += 1)
      sums.push(
        (factor(additions.leftFactor, i) * value(additions.left[i] ?? 0) +
          factor(additions.rightFactor, i) * value(additions.right[i] ?? 0)) %
          r,
      );
    return sums[wire - systemWireCount] ?? 0n;
  };
  for (let i = publicCount; i < gateCount; i += 1) {
    const [a, b, c] = [value(wires.a[i] ?? 0), value(wires.b[i] ?? 0), value(wires.c[i] ?? 0)];
    const [m, l, right, o, k] = SELECTORS.map((name) => factor(selectors[name], i));
    if (((m ?? 0n) * a * b + (l ?? 0n) * a + (right ?? 0n) * b + (o ?? 0n) * c + (k ?? 0n)) % r !== 0n) return false;
  }
  return true;
}

/** Wire 0 is 1, the others are random. */
export function randomAssignment(wireCount: number, { frBytes }: CurveParameters): Uint8Array {
  const witness = randomScalars(wireCount, { length: frBytes, randomLength: WIRE_BYTES });
  witness.fill(0, 0, frBytes);
  witness[0] = 1;
  return witness;
}
