/**
 * Bump and cancel: another signature for the same nonce with higher fees, stored before it is sent, so that one of them
 * is mined at most.
 */
import type { Subject } from "../../../platform/auth/principal.js";
import { AppError } from "../../../platform/errors.js";
import type { BumpTransactionInput, TransactionJson } from "../transaction-schemas.js";
import { addAttempt, ATTEMPTS_MAX } from "./attempts.js";
import { readQuantity } from "../request-quantities.js";
import { checkRequestedFees, type FeePolicy } from "../fees/fees.js";
import type { NonceQueues } from "./nonce-queues.js";
import type { TransactionWriter } from "../transaction-writer.js";
import type { TransactionNetworks } from "../transaction-ports.js";
import type { Attempt, TransactionRecord, RequestedValues } from "../transaction-record.js";
import { refusalFault } from "./refusals.js";
import type { SendResult } from "./send-queue.js";
import type { TransactionService } from "../transaction-service.js";
import type { TransactionSigning } from "../transaction-signing.js";

export interface ReplacementsDependencies {
  readonly service: TransactionService;
  readonly ledger: TransactionWriter;
  readonly lanes: NonceQueues;
  readonly fees: FeePolicy;
  readonly signing: TransactionSigning;
  readonly networks: TransactionNetworks;
}

export class Replacements {
  readonly #dependencies: ReplacementsDependencies;

  constructor(dependencies: ReplacementsDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Raises the fees. Of one that is not signed yet the wish alone changes.
   * Throws `transaction_settled`, `transaction_not_replaceable`, `replacement_underpriced`, `fee_cap_exceeded`.
   */
  async bump(owner: Subject, idOrRef: string, input: BumpTransactionInput): Promise<TransactionJson> {
    const { service, ledger, networks } = this.#dependencies;
    const wishes = feeWishes(input);
    const record = service.find(owner, idOrRef).value;
    checkRequestedFees(networks.find(owner, record.network_id), wishes);
    if (record.state === "created") {
      const changed = await ledger.change(owner, record.id, (current) =>
        current.state === "created" ? { ...current, wishes: { ...withoutFees(current.wishes), ...wishes } } : undefined,
      );
      if (changed !== undefined) return service.onWire(changed);
    }
    return await this.#replace(owner, record.id, "bump", wishes);
  }

  /** Throws as `bump` does. */
  async cancel(owner: Subject, idOrRef: string): Promise<TransactionJson> {
    const { service, ledger, lanes } = this.#dependencies;
    const record = service.find(owner, idOrRef).value;
    if (record.state === "created") {
      // Stored first: the lane signs only what is still `created`.
      const changed = await ledger.change(owner, record.id, (current) =>
        current.state === "created"
          ? { ...current, state: "cancelled", watched: false, cancel_requested_at: ledger.now() }
          : undefined,
      );
      if (changed !== undefined) {
        // Otherwise it is being signed, and the lane finds it cancelled.
        if (lanes.laneFor(record).withdraw(record.id)) lanes.forgetId(record.id);
        return service.onWire(changed);
      }
    }
    return await this.#replace(owner, record.id, "cancel", {});
  }

  async #replace(
    owner: Subject,
    id: string,
    kind: Exclude<Attempt["kind"], "first">,
    wishes: RequestedValues,
  ): Promise<TransactionJson> {
    const { service, lanes, fees, signing, networks, ledger } = this.#dependencies;
    const record = service.find(owner, id).value;
    const lane = lanes.laneFor(record);
    const entry = lane.find(id);
    const last = record.attempts.at(-1);
    if (record.block !== null || !record.watched || entry === undefined || record.nonce === null || last === undefined)
      throw settled();
    if (record.signer === null)
      throw new AppError("transaction_not_replaceable", {
        message: "the transaction was signed by its caller, and only the caller can sign another",
      });
    if (record.attempts.length >= ATTEMPTS_MAX)
      throw new AppError("transaction_not_replaceable", {
        message: `the transaction was replaced ${String(ATTEMPTS_MAX)} times`,
      });
    if (kind === "bump" && record.cancel_requested_at !== null)
      throw new AppError("transaction_not_replaceable", { message: "the transaction is being cancelled" });
    const higher = await fees.raise(networks.find(owner, record.network_id), last, wishes);
    const attempt = await signing.sign(record, record.nonce, higher, kind, ledger.now());
    if (attempt.raw === undefined || !(await addAttempt(ledger, entry, attempt))) throw settled();
    refuse(await lane.sendNow(entry, attempt.raw));
    return service.onWire(service.find(owner, id).value);
  }
}

/**
 * What the node said to a replacement, as the caller's answer. One that could not be sent is sent again by the lane.
 */
function refuse({ outcome, refusal }: SendResult): void {
  switch (outcome) {
    case "accepted":
    case "later":
    case "unknown":
      return;
    case "nonce_too_low":
      throw settled();
    case "fee_too_low":
    case "underpriced":
      throw new AppError("replacement_underpriced", {
        message: "the node asks for higher fees than the replacement's",
      });
    case "insufficient_funds":
    case "refused": {
      const { message } =
        refusal === undefined ? { message: "the node refused the replacement" } : refusalFault(outcome, refusal);
      throw new AppError(outcome === "refused" ? "transaction_refused" : "insufficient_funds", { message });
    }
  }
}

function feeWishes({
  gas_price: gasPrice,
  max_fee_per_gas: fee,
  max_priority_fee_per_gas: tip,
}: BumpTransactionInput): RequestedValues {
  return {
    ...(gasPrice === undefined ? {} : { gas_price: String(readQuantity(gasPrice)) }),
    ...(fee === undefined ? {} : { max_fee_per_gas: String(readQuantity(fee)) }),
    ...(tip === undefined ? {} : { max_priority_fee_per_gas: String(readQuantity(tip)) }),
  };
}

function withoutFees({ gas, nonce }: TransactionRecord["wishes"]): RequestedValues {
  return { ...(gas === undefined ? {} : { gas }), ...(nonce === undefined ? {} : { nonce }) };
}

function settled(): AppError {
  return new AppError("transaction_settled", { message: "the transaction is mined, or came to its end" });
}
