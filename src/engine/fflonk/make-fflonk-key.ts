/**
 * Makes an FFLONK key pair from the bytes of an R1CS and a structured reference string. The key follows from both: the
 * same two make the same key, and nothing in it is secret. The proving key is snarkjs' own file.
 */
import { BN254 } from "../curves/bn254.js";
import { fflonkVerifyingKeyToJson } from "../encoding/fflonk-verifying-key.js";
import { buildFflonkKey } from "../kernels/fflonk/build-fflonk-key.js";
import { writeFflonkZkey } from "../kernels/fflonk/write-fflonk-zkey.js";
import { readCircuitGates } from "../plonk/make-plonk-key.js";
import type { MakeKeyOptions, MakeKeyResult } from "../proof-systems/proof-system.js";
import { fflonkDomainPowerOf, fflonkPowerCount } from "./fflonk-values.js";
import { zkeyBytes } from "./fflonk-zkey-layout.js";

/** Beyond it the setup's process would need more than its memory: some 17 KB for each gate of the domain. */
export const FFLONK_DOMAIN_POWER_MAX = 17;
/** A file has five times the domain for every public signal, and is sent from process to process as a whole. */
const FILE_BYTES_MAX = 512 * 1024 ** 2;
/** A string of 2^(k + 3) has 2^(k + 4) - 1 powers, and a domain of n = 2^k takes 9 n + 18 of them. */
export const STRING_POWER_MORE = 3;
/** FFLONK drops the terms with factor 0, as snarkjs does. */
export const FFLONK_GATES = { dropsZeroTerms: true } as const;
/** Shares of the whole at which the steps end. */
const PROGRESS = { gates: 0.1, key: 0.7 } as const;

/** Makes the key; a circuit that cannot have one is a result, not an error. About 6 s for 2^16 gates. */
export function makeFflonkKey(r1csBytes: Uint8Array, options: MakeKeyOptions): MakeKeyResult {
  const report = options.onProgress ?? ((): void => undefined);
  const startedAt = performance.now();
  const read = readCircuitGates(r1csBytes, BN254, FFLONK_GATES);
  if ("refusal" in read) return { ok: false, code: "circuit_unsupported", message: read.refusal };
  const { gates } = read;
  const domainPower = fflonkDomainPowerOf(gates.gateCount);
  if (domainPower > FFLONK_DOMAIN_POWER_MAX)
    return { ok: false, code: "circuit_unsupported", message: "the circuit has too many gates" };
  if (zkeyBytes({ domainPower, publicCount: gates.publicCount }) > FILE_BYTES_MAX)
    return {
      ok: false,
      code: "circuit_unsupported",
      message: "the circuit has too many public signals for its size; plonk and groth16 take them",
    };
  if (domainPower > (options.domainPowerMax ?? domainPower)) return { ok: false, code: "memory_required", domainPower };
  report(PROGRESS.gates);
  const power = domainPower + STRING_POWER_MORE;
  const string = options.referenceString?.(power);
  if (string === undefined) return { ok: false, code: "reference_string_required", power };
  const points = { powers: string.powersG1(fflonkPowerCount(domainPower)), tauG2: string.tauG2 };
  const key = buildFflonkKey(gates, points, { workspaces: 1 });
  report(PROGRESS.key);
  const provingKey = Buffer.concat([...writeFflonkZkey(key, gates, points)]);
  report(1);
  return {
    ok: true,
    provingKey,
    verifyingKey: fflonkVerifyingKeyToJson(key.verifyingKey, BN254),
    // All gates of a key that nothing secret made can be run on the stored files.
    gates: [],
    timings: { keyMs: performance.now() - startedAt, gatesMs: 0 },
    referenceString: string.sha256,
  };
}
