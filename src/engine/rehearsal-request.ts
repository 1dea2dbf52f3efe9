/** What a thread that rehearses is asked for (rehearsal.ts), as plain values, which the main thread knows as well. */
import type { CircuitInterface } from "./circuit/interface.js";
import { PROOF_SYSTEMS, type ProofSystemName } from "./proof-systems/names.js";
import type { OpenKey, WarmKeyValue } from "./protocol.js";

export interface RehearsalRequest extends WarmKeyValue {
  readonly system: ProofSystemName;
  readonly openKey: OpenKey;
  readonly circuit: CircuitInterface;
  /** One word: a phase. */
  readonly state: SharedArrayBuffer;
}

/**
 * While it is `kernels`, the thread has or takes a workspace of the key, which would stay taken if the thread was
 * ended. In `program` it may be ended. `cancelled` is written by who wants its end, in place of `kernels`.
 */
export const REHEARSAL_PHASE = { kernels: 0, program: 1, cancelled: 2 } as const;

/** Larger keys take over half a second, of a proof that takes seconds: their share of what is compiled is small. */
const DOMAIN_POWER_MAX = { groth16: 17, plonk: 14, fflonk: 14 } as const;
/** The thread takes one, and a proof must find another. */
const WORKSPACES_MIN = 2;

/** Whether the kernels are part of the rehearsal with this key: then it takes one of its workspaces. */
export function rehearsesKernels({ system, openKey: { key } }: Pick<RehearsalRequest, "system" | "openKey">): boolean {
  return key.domainPower <= DOMAIN_POWER_MAX[PROOF_SYSTEMS[system].scheme] && key.workspaces.length >= WORKSPACES_MIN;
}
