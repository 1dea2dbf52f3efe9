/**
 * Bump and cancel: another signature for the same nonce with higher fees, stored before it is sent, so that one of them
 * is mined at most.
 */
import type { Subject } from "../../../platform/auth/principal.js";
import { AppError } from "../../../platform/errors.js";
import { checkRequestedFees, type FeePolicy } from "../fees/fees.js";
import { readQuantity } from "../request-quantities.js";
import type { TransactionNetworks } from "../transaction-ports.js";
import type { Attempt, RequestedValues, TransactionRecord } from "../transaction-record.js";
import type { BumpTransactionInput, TransactionJson } from "../transaction-schemas.js";
import type { TransactionService } from "../transaction-service.js";
import type { TransactionSigning } from "../transaction-signing.js";
import type { TransactionWriter } from "../transaction-writer.js";
import { addAttempt, ATTEMPTS_MAX } from "./attempts.js";
import type { NonceQueues } from "./nonce-queues.js";
import { refusalFault } from "./refusals.js";
import type { SendResult } from "./send-queue.js";

export interface ReplacementsDependencies {
  readonly service: TransactionService;
  readonly writer: TransactionWriter;
  readonly queues: NonceQueues;
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
   * Raises the fees. Before the transaction is signed, only its requested fees change.
   * @throws transaction_settled, transaction_not_replaceable, replacement_underpriced, fee_cap_exceeded
   */
  async bump(owner: Subject, idOrRef: string, input: BumpTransactionInput): Promise<TransactionJson> {
    const { service, writer, networks } = this.#dependencies;
    const requested = requestedFees(input);
    const record = service.find(owner, idOrRef).value;
    checkRequestedFees(networks.find(owner, record.network_id), requested);
    if (record.state === "created") {
      const changed = await writer.change(owner, record.id, (current) =>
        current.state === "created"
          ? { ...current, wishes: { ...withoutFees(current.wishes), ...requested } }
          : undefined,
      );
      if (changed !== undefined) return service.onWire(changed);
    }
    return await this.#replace(owner, record.id, "bump", requested);
  }

  /**
   * Cancels a transaction: at once before it is signed, otherwise by an empty one with its nonce.
   * @throws the codes of `bump`
   */
  async cancel(owner: Subject, idOrRef: string): Promise<TransactionJson> {
    const { service, writer, queues } = this.#dependencies;
    const record = service.find(owner, idOrRef).value;
    if (record.state === "created") {
      // Stored first: the queue signs only what is still `created`.
      const changed = await writer.change(owner, record.id, (current) =>
        current.state === "created"
          ? { ...current, state: "cancelled", watched: false, cancel_requested_at: writer.now() }
          : undefined,
      );
      if (changed !== undefined) {
        // Otherwise it is being signed, and the queue finds it cancelled.
        if (queues.queueFor(record).withdraw(record.id)) queues.forgetId(record.id);
        return service.onWire(changed);
      }
    }
    return await this.#replace(owner, record.id, "cancel", {});
  }

  async #replace(
    owner: Subject,
    id: string,
    kind: Exclude<Attempt["kind"], "first">,
    requested: RequestedValues,
  ): Promise<TransactionJson> {
    const { service, queues, fees, signing, networks, writer } = this.#dependencies;
    const record = service.find(owner, id).value;
    const queue = queues.queueFor(record);
    const queued = queue.find(id);
    const last = record.attempts.at(-1);
    if (record.block !== null || !record.watched || queued === undefined || record.nonce === null || last === undefined)
      throw settled();
    requireReplaceable(record, kind);
    const higher = await fees.raise(networks.find(owner, record.network_id), last, requested);
    const { nonce } = record;
    const attempt = await signing.sign(record, { nonce, fees: higher, kind, now: writer.now() });
    if (attempt.raw === undefined || !(await addAttempt(writer, queued, { attempt, nonce }))) throw settled();
    throwRefusal(await queue.sendNow(queued, attempt.raw));
    return service.onWire(service.find(owner, id).value);
  }
}

function requireReplaceable(
  { signer, attempts, cancel_requested_at: cancelledAt }: TransactionRecord,
  kind: "bump" | "cancel",
): void {
  if (signer === null)
    throw new AppError("transaction_not_replaceable", {
      message: "the transaction was signed by its caller, and only the caller can sign another",
    });
  if (attempts.length >= ATTEMPTS_MAX)
    throw new AppError("transaction_not_replaceable", {
      message: `the transaction was replaced ${String(ATTEMPTS_MAX)} times`,
    });
  if (kind === "bump" && cancelledAt !== null)
    throw new AppError("transaction_not_replaceable", { message: "the transaction is being cancelled" });
}

/** Throws the error that answers a refused replacement. One that a node may have is sent again later. */
function throwRefusal(result: SendResult): void {
  switch (result.outcome) {
    case "accepted":
    case "later":
    case "unknown":
    case "unexplained":
      return;
    case "nonce_too_low":
      throw settled();
    case "fee_too_low":
    case "underpriced":
      throw new AppError("replacement_underpriced", {
        message: "the node asks for higher fees than the replacement's",
      });
    case "insufficient_funds":
      throw new AppError("insufficient_funds", refusalFault(result.outcome, result.refusal));
    case "refused":
    case "invalid":
      throw new AppError("transaction_refused", refusalFault(result.outcome, result.refusal));
  }
}

function requestedFees({
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

function withoutFees({ gas, nonce }: RequestedValues): RequestedValues {
  return { ...(gas === undefined ? {} : { gas }), ...(nonce === undefined ? {} : { nonce }) };
}

function settled(): AppError {
  return new AppError("transaction_settled", { message: "the transaction is mined, or has ended" });
}
