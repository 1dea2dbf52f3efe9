/**
 * Asks the contract on the chain about a proof that this server has verified. Both must say the same: where they do
 * not, one of them is wrong, and neither answer is given.
 */
import type { ContractPort } from "../../chain/contracts/contract-port.js";
import type { VerifyValue } from "../../engine/protocol.js";
import type { Subject } from "../../platform/auth/principal.js";
import { AppError, assert, invalidMember } from "../../platform/errors.js";
import type { AgreeingContract } from "../proofs/attestation.js";
import type { ProverAccess } from "../sharing/prover-access.js";
import { placeOf, type ContractChecks } from "./contract-checks.js";
import type { VerifierAlarm } from "./verifier-alarm.js";
import { verifierCalldata } from "./verifier-calldata.js";
import { isUsable, type StoredVerifier, type VerifierRecords } from "./verifier-records.js";
import type { OnChainAnswer } from "./verifier-schemas.js";

interface OnChainVerificationDependencies {
  readonly access: ProverAccess;
  readonly records: VerifierRecords;
  readonly checks: Pick<ContractChecks, "verdict" | "hasCode">;
  readonly alarm: Pick<VerifierAlarm, "raise" | "count">;
  readonly chain: () => Pick<ContractPort, "chainIdOf">;
}

/** What a verifier in this process and one on the chain said of one proof. */
interface Verdicts {
  readonly server: boolean;
  readonly contract: boolean;
}

export class OnChainVerification {
  readonly #with: OnChainVerificationDependencies;

  constructor(dependencies: OnChainVerificationDependencies) {
    this.#with = dependencies;
  }

  /** Alarms since the server started. */
  get disagreements(): number {
    return this.#with.alarm.count;
  }

  /**
   * Returns the verifier that a request means: the newest that can be asked, on the network that it names.
   * @throws AppError `forbidden` for another's prover, whose network and node are the owner's; `verifier_missing`;
   *   `invalid_request` where there are verifiers on several networks and none is named
   */
  choose(caller: Subject, proverId: string, networkId: string | undefined): StoredVerifier {
    if (!this.#with.access.require(caller, proverId, "verify").isOwner)
      throw new AppError("forbidden", { message: "only the prover's owner asks its contracts through this server" });
    const usable = this.#with.records.ofProver(caller, proverId).rows.filter(isUsable);
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
   * @throws AppError `verifier_disagreement`, `verifier_code_mismatch`, which are alarms; `network_unreachable`,
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
    if (said !== checked.result)
      throw await this.#disagreement(verifier, { server: checked.result, contract: said }, signal);
    return { verifier_id: verifier.id, network_id: verifier.network_id, address: place.address, result: said };
  }

  /**
   * Returns what a receipt says of the contract.
   * @throws AppError `not_found` when the network was deleted meanwhile
   */
  contractOf(verifier: StoredVerifier): AgreeingContract {
    const { owner, network_id: networkId, code_hash: codeHash } = verifier;
    assert(codeHash !== null, "a verifier that can be asked was tried, which reads its code");
    const { address } = placeOf(verifier);
    const chainId = this.#with.chain().chainIdOf(owner, networkId);
    return { network_id: networkId, chain_id: chainId, address, code_hash: codeHash };
  }

  /** Raises the alarm, also where the contract's code cannot be read, and returns what the request fails with. */
  async #disagreement(verifier: StoredVerifier, verdicts: Verdicts, signal: AbortSignal): Promise<AppError> {
    const { checks, alarm } = this.#with;
    const { expected } = verifier;
    assert(expected !== null, "a verifier that was asked is deployed");
    let code: "expected" | "other" | "unknown" = "unknown";
    let cause: unknown;
    try {
      code = (await checks.hasCode(placeOf(verifier), expected, signal)) ? "expected" : "other";
    } catch (error) {
      cause = error;
    }
    const kind = code === "other" ? "verifier_code_mismatch" : "verifier_disagreement";
    await alarm.raise(verifier, kind, { ...verdicts, contract_code: code });
    if (code === "other")
      return new AppError(kind, {
        message: "the contract at the address has other code than was deployed, and answers differently",
      });
    const doubt = code === "unknown" ? "; the contract's code could not be read" : "";
    return new AppError(kind, {
      message: `this server says ${String(verdicts.server)} and the contract ${String(verdicts.contract)}: one of them is wrong, so that neither answer is given${doubt}`,
      ...(cause === undefined ? {} : { cause }),
    });
  }
}
