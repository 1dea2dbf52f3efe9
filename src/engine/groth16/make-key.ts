/**
 * Makes a Groth16 key pair from the bytes of an R1CS and passes it through every gate: the work of the setup process.
 * The result contains nothing secret, and no key that fails a gate.
 */
import { primeCurve } from "../backends/snarkjs.js";
import { R1csFormatError, readR1cs } from "../circuit/r1cs.js";
import { loadReferenceKernels } from "../reference/reference-kernels.js";
import { verifyingKeyToJson } from "../encoding/groth16-verifying-key.js";
import type { Groth16VerifyingKeyJson } from "../encoding/groth16-verifying-key.js";
import { checkKey } from "./gates.js";
import type { GateName } from "./gates.js";
import { KeyTooLargeError } from "../kernels/threads/key-memory.js";
import { readProvingKey } from "./proving-key.js";
import { SetupInputError, setupGroth16 } from "./setup.js";
import type { SetupOptions } from "./setup.js";

interface MadeKey {
  readonly ok: true;
  /** A snarkjs `.zkey` file. */
  readonly zkey: Uint8Array;
  /** snarkjs' verification_key.json. */
  readonly verifyingKey: Groth16VerifyingKeyJson;
  /** Gates that the key has passed. */
  readonly gates: readonly (GateName | "self_test")[];
  readonly timings: {
    readonly readMs: number;
    readonly scalarsMs: number;
    readonly pointsMs: number;
    readonly selfTestMs: number;
    readonly gatesMs: number;
  };
}

export type MakeKeyResult =
  MadeKey | { readonly ok: false; readonly code: "circuit_unsupported" | "gate_failed"; readonly message: string };

/**
 * Runs setup and gates; a circuit that cannot have a key is a result, not an error. About 6 s for 60,000 constraints on
 * two threads.
 */
export async function makeGroth16Key(r1csBytes: Uint8Array, options: SetupOptions = {}): Promise<MakeKeyResult> {
  try {
    const startedAt = performance.now();
    const r1cs = readR1cs(r1csBytes);
    const readAt = performance.now();
    const { zkey, verifyingKey, selfTest, timings } = await setupGroth16(r1cs, options);
    if (!selfTest.ok) return { ok: false, code: "gate_failed", message: `self_test: ${selfTest.message}` };
    const key = readProvingKey(zkey);
    const kernels = await loadReferenceKernels(key.curve);
    const gatesFrom = performance.now();
    const gates = checkKey(kernels, await primeCurve(key.curve.name), { key, verifyingKey, r1cs });
    if (!gates.ok) return { ok: false, code: "gate_failed", message: `${gates.gate}: ${gates.message}` };
    return {
      ok: true,
      zkey,
      verifyingKey: verifyingKeyToJson(verifyingKey, kernels),
      gates: ["self_test", ...gates.passed],
      timings: { readMs: readAt - startedAt, ...timings, gatesMs: performance.now() - gatesFrom },
    };
  } catch (error) {
    const isRefusal = error instanceof R1csFormatError || error instanceof SetupInputError;
    if (isRefusal || error instanceof KeyTooLargeError)
      return { ok: false, code: "circuit_unsupported", message: error.message };
    throw error;
  }
}
