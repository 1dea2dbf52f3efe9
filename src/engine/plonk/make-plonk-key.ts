/**
 * Makes a PLONK key pair from the bytes of an R1CS and a structured reference string. The key follows from both: the
 * same two make the same key, and nothing in it is secret.
 */
import { R1csFormatError, readR1cs } from "../circuit/r1cs.js";
import type { R1cs } from "../circuit/r1cs.js";
import type { CurveParameters } from "../curves/curve-parameters.js";
import { plonkVerifyingKeyToJson } from "../encoding/plonk-verifying-key.js";
import { PUBLIC_SIGNALS_MAX } from "../groth16/proof.js";
import { DOMAIN_POWER_MAX } from "../groth16/zkey-layout.js";
import { commitToCircuit } from "../kernels/plonk/build-plonk-key.js";
import { EXTRA_POWERS } from "../kernels/plonk/resident-circuit.js";
import type { MakeKeyOptions, MakeKeyResult } from "../proof-systems/proof-system.js";
import { commitmentsOf, domainPowerOf } from "./key.js";
import type { PlonkVerifyingKey } from "./key.js";
import { writePlonkKey } from "./key-file.js";
import { gatesOf } from "./plonk-gates.js";
import type { GateOptions, PlonkGates } from "./plonk-gates.js";

/** Shares of the whole at which the steps end. */
const PROGRESS = { gates: 0.2, points: 0.5, key: 0.9 } as const;

/** Makes the key; a circuit that cannot have one is a result, not an error. About 3 s for 2^16 gates. */
export async function makePlonkKey(
  r1csBytes: Uint8Array,
  curve: CurveParameters,
  options: MakeKeyOptions,
): Promise<MakeKeyResult> {
  const report = options.onProgress ?? ((): void => undefined);
  const startedAt = performance.now();
  const read = readCircuitGates(r1csBytes, curve);
  if ("refusal" in read) return { ok: false, code: "circuit_unsupported", message: read.refusal };
  const { gates } = read;
  const domainPower = domainPowerOf(gates.gateCount);
  if (domainPower > Math.min(DOMAIN_POWER_MAX, curve.twoAdicity))
    return { ok: false, code: "circuit_unsupported", message: "the circuit has too many gates" };
  if (domainPower > (options.domainPowerMax ?? domainPower)) return { ok: false, code: "memory_required", domainPower };
  report(PROGRESS.gates);
  const string = options.referenceString?.(domainPower);
  if (string === undefined) return { ok: false, code: "reference_string_required", power: domainPower };
  const lagrange = await string.lagrangeG1(domainPower, {
    ...(options.executeRows === undefined ? {} : { executeRows: options.executeRows }),
    onProgress: (share) => {
      report(PROGRESS.gates + (PROGRESS.points - PROGRESS.gates) * share);
    },
  });
  const points = { powers: string.powersG1(2 ** domainPower + EXTRA_POWERS), lagrange, tauG2: string.tauG2 };
  const onProgress = (share: number): void => {
    report(PROGRESS.points + (PROGRESS.key - PROGRESS.points) * share);
  };
  const committed = commitOrRefuse(() => commitToCircuit(gates, points, { curve, onProgress }));
  if ("refusal" in committed) return { ok: false, code: "circuit_unsupported", message: committed.refusal };
  const { verifyingKey } = committed;
  report(PROGRESS.key);
  const commitments = commitmentsOf(verifyingKey);
  const provingKey = writePlonkKey({ gates, domainPower, points, referenceString: string.sha256, commitments }, curve);
  report(1);
  return {
    ok: true,
    provingKey,
    verifyingKey: plonkVerifyingKeyToJson(verifyingKey, curve),
    // All gates of a key that nothing secret made can be run on the stored files.
    gates: [],
    timings: { keyMs: performance.now() - startedAt, gatesMs: 0 },
    referenceString: string.sha256,
  };
}

/** A circuit whose key no WebAssembly memory holds is a result, too. */
function commitOrRefuse(
  commit: () => PlonkVerifyingKey,
): { readonly verifyingKey: PlonkVerifyingKey } | { readonly refusal: string } {
  try {
    return { verifyingKey: commit() };
  } catch (error) {
    if (error instanceof RangeError) return { refusal: error.message };
    throw error;
  }
}

/** Returns the gates of a circuit, or why it has none. */
export function readCircuitGates(
  bytes: Uint8Array,
  curve: CurveParameters,
  options: GateOptions = {},
): { readonly gates: PlonkGates } | { readonly refusal: string } {
  let r1cs: R1cs;
  try {
    r1cs = readR1cs(bytes);
  } catch (error) {
    if (error instanceof R1csFormatError) return { refusal: error.message };
    throw error;
  }
  if (r1cs.prime !== curve.r) return { refusal: `the circuit is not over the scalar field of ${curve.name}` };
  if (r1cs.outputCount + r1cs.publicInputCount > PUBLIC_SIGNALS_MAX)
    return { refusal: `the circuit has more than ${String(PUBLIC_SIGNALS_MAX)} public signals` };
  return { gates: gatesOf(r1cs, options) };
}
