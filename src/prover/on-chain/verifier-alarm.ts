/** The alarm of a contract on a chain that does not do what this server says of it. */
import { formatSubject } from "../../platform/auth/principal.js";
import type { StoreValue } from "../../platform/store/store.js";
import { Disagreements } from "../assurance/disagreements.js";
import { verifierDisagreed } from "../prover-events.js";
import type { StoredVerifier } from "./verifier-records.js";

/** It answers otherwise, or it has other code than was deployed. */
export type VerifierAlarmCode = "verifier_disagreement" | "verifier_code_mismatch";

export class VerifierAlarm {
  readonly #disagreements: Disagreements;

  constructor(dependencies: ConstructorParameters<typeof Disagreements>[0]) {
    this.#disagreements = new Disagreements(dependencies);
  }

  /** Alarms since the server started. */
  get count(): number {
    return this.#disagreements.count;
  }

  /** Told to the operator in log, metrics and audit, and to the owner by an event. */
  async raise(
    { owner, id, prover_id: proverId, network_id: networkId }: StoredVerifier,
    code: VerifierAlarmCode,
    detail: Readonly<Record<string, StoreValue>>,
  ): Promise<void> {
    await this.#disagreements.tell({
      message: "verifier contract and server disagree",
      fields: { verifier_id: id, prover_id: proverId, code },
      row: {
        action: "verifier.disagreement",
        outcome: "refused",
        code,
        subject: formatSubject(owner),
        target: { id: proverId, verifier_id: id },
        detail: { ...detail },
      },
      drafts: verifierDisagreed(owner, { verifierId: id, proverId, networkId, code }),
    });
  }
}
