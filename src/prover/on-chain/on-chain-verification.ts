/**
 * Asks the contract on the chain about a proof that this server has verified. Both must say the same: where they do
 * not, one of them is wrong, and neither answer is given.
 */
import type { VerifyValue } from "../../engine/protocol.js";
import type { AuditEvent } from "../../platform/audit/audit-event.js";
import { formatSubject, type Subject } from "../../platform/auth/principal.js";
import { AppError, assert, invalidMember } from "../../platform/errors.js";
import type { Events } from "../../platform/events/events.js";
import type { Log } from "../../platform/log.js";
import type { Store } from "../../platform/store/store.js";
import { verifierDisagreed } from "../prover-events.js";
import type { ProverAccess } from "../sharing/prover-access.js";
import { placeOf, type ContractChecks } from "./contract-checks.js";
import { verifierCalldata } from "./verifier-calldata.js";
import type { StoredVerifier, VerifierRecords } from "./verifier-records.js";
import type { OnChainAnswer } from "./verifier-schemas.js";

interface OnChainVerificationDependencies {
  readonly access: ProverAccess;
  readonly records: VerifierRecords;
  readonly checks: Pick<ContractChecks, "verdict" | "hasCode">;
  readonly store: Pick<Store, "commit">;
  readonly events: Pick<Events, "commitOf">;
  /** Writes a row of the audit log. */
  readonly audit: (event: AuditEvent) => Promise<void>;
  readonly log: Log;
}

type Alarm = "verifier_disagrees" | "verifier_code_mismatch";

export class OnChainVerification {
  readonly #with: OnChainVerificationDependencies;
  #disagreements = 0;

  constructor(dependencies: OnChainVerificationDependencies) {
    this.#with = dependencies;
  }

  /** Alarms since the server started. */
  get disagreements(): number {
    return this.#disagreements;
  }

  /**
   * Returns the verifier that a request means: the newest that can be asked, on the network that it names.
   * @throws AppError `forbidden` for another's prover, whose network and node are the owner's; `verifier_missing`;
   *   `invalid_request` where there are verifiers on several networks and none is named
   */
  choose(caller: Subject, proverId: string, networkId: string | undefined): StoredVerifier {
    if (!this.#with.access.require(caller, proverId, "verify").isOwner)
      throw new AppError("forbidden", { message: "only the prover's owner asks its contracts through this server" });
    const usable = this.#with.records
      .ofProver(caller, proverId)
      .rows.filter(({ status }) => status === "ready" || status === "unproven");
    const wanted = usable.filter(({ network_id: id }) => networkId === undefined || id === networkId.toLowerCase());
    if (networkId === undefined && new Set(usable.map(({ network_id: id }) => id)).size > 1)
      throw invalidMember("network_id", "the prover has verifiers on several networks: name one");
    const newest = wanted.at(-1);
    if (newest !== undefined) return newest;
    throw new AppError("verifier_missing", {
      message: `the prover has no verifier${networkId === undefined ? "" : " on this network"} that could be asked: POST /provers/:id/verifiers deploys one`,
    });
  }

  /**
   * Asks the contract about the same proof.
   * @throws AppError `verifier_disagrees`, `verifier_code_mismatch`, which are alarms; `network_unreachable`,
   *   `network_timeout`, `network_answer_invalid` and the like while no node answers
   */
  async agree(verifier: StoredVerifier, checked: VerifyValue, signal: AbortSignal): Promise<OnChainAnswer> {
    const { expected, scheme } = verifier;
    assert(
      checked.solidity !== undefined && expected !== null,
      "a prover with a contract has the form of its arguments",
    );
    const place = placeOf(verifier);
    const said = await this.#with.checks.verdict(place, verifierCalldata(scheme, checked.solidity), signal);
    if (said !== checked.result) {
      const isSameCode = await this.#with.checks.hasCode(place, expected, signal);
      await this.#alarm(verifier, isSameCode ? "verifier_disagrees" : "verifier_code_mismatch");
      throw new AppError(isSameCode ? "verifier_disagrees" : "verifier_code_mismatch", {
        message: isSameCode
          ? `this server says ${String(checked.result)} and the contract ${String(said)}: one of them is wrong, so that neither answer is given`
          : "the contract at the address has other code than was deployed, and answers differently",
      });
    }
    return { verifier_id: verifier.id, network_id: verifier.network_id, address: place.address, result: said };
  }

  /** Told to the operator in log, metrics and audit, and to the owner by an event. */
  async #alarm({ owner, id, prover_id: proverId, network_id: networkId }: StoredVerifier, code: Alarm): Promise<void> {
    const { log, store, events, audit } = this.#with;
    this.#disagreements += 1;
    log.error("verifier contract and server disagree", { verifier_id: id, prover_id: proverId, code });
    const told = await Promise.allSettled([
      store.commit(events.commitOf(verifierDisagreed(owner, { verifierId: id, proverId, networkId, code }))),
      audit({
        action: "verifier.disagreement",
        outcome: "refused",
        code,
        subject: formatSubject(owner),
        target: { id: proverId, verifier_id: id },
      }),
    ]);
    for (const outcome of told)
      if (outcome.status === "rejected")
        log.error("alarm could not be recorded", { verifier_id: id, error: outcome.reason as unknown });
  }
}
