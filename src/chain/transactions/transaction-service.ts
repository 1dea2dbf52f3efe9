/**
 * Transactions for HTTP and for contracts: checks a request, stores it, and leaves the rest to the account's nonce
 * queue. Bump and cancel are in sending/replacements.ts, transactions that callers signed in self-signed.ts.
 */
import type { Subject } from "../../platform/auth/principal.js";
import { AppError, invalidMember, notFound } from "../../platform/errors.js";
import { isUuid, newId } from "../../platform/ids.js";
import { StoreConflict, type StoreCommit, type StoreRecord } from "../../platform/store/store.js";
import { mergeCommits, retryOnConflict, type Page } from "../../platform/store/tables.js";
import { checksumAddress } from "../../crypto/ethereum/address.js";
import { InvalidPayload } from "../../crypto/ethereum/invalid.js";
import { readAddress } from "../../crypto/ethereum/quantity.js";
import { askNode } from "../rpc/node-faults.js";
import type { Accounts } from "../accounts/accounts.js";
import type { SettlementListener, TransactionWriter } from "./transaction-writer.js";
import type { KnownAbis, SubmissionRequest, Submissions, Submitted } from "./submission-port.js";
import type { TransactionFilters, TransactionJson } from "./transaction-schemas.js";
import { checkRequestedFees } from "./fees/fees.js";
import type { GasEstimates, GasRequest } from "./fees/gas.js";
import { requireIntrinsicGas } from "./fees/intrinsic-gas.js";
import { nonceInUse } from "./sending/nonce-queue.js";
import type { NonceQueues } from "./sending/nonce-queues.js";
import type { SharedProgress } from "./holder/shared-progress.js";
import { readInteger } from "./node-values.js";
import { receiptOnWire } from "./receipts.js";
import { simulatedReturn } from "./simulation.js";
import type { TransactionNetwork, TransactionNetworks } from "./transaction-ports.js";
import {
  transactionOnWire,
  UNSENT,
  type Depth,
  type RequestedValues,
  type TransactionRecord,
} from "./transaction-record.js";
import type { TransactionRepository } from "./transaction-repository.js";
import type { TransactionSigning } from "./transaction-signing.js";

export interface TransactionServiceDependencies {
  readonly repository: TransactionRepository;
  readonly writer: TransactionWriter;
  readonly queues: Pick<NonceQueues, "add" | "drop">;
  readonly progress: SharedProgress;
  readonly gas: GasEstimates;
  readonly signing: TransactionSigning;
  readonly accounts: Accounts;
  readonly networks: TransactionNetworks;
}

/** Transactions of one account that may wait for their nonce: some minutes of signing. */
const WAITING_MAX = 10_000;
/**
 * Nonces that a caller's own choice may leave free below it: each is filled with an empty transaction, which costs gas.
 */
const NONCES_AHEAD_MAX = 64;
const GAS_MAX = 2n ** 64n - 1n;
const NO_DATA = "0x";

export class TransactionService implements Submissions {
  readonly #dependencies: TransactionServiceDependencies;
  #abis: KnownAbis | undefined;

  constructor(dependencies: TransactionServiceDependencies) {
    this.#dependencies = dependencies;
  }

  /** As `Submissions.onSettled`. */
  onSettled(listener: SettlementListener): void {
    this.#dependencies.writer.onSettled(listener);
  }

  /** As `Submissions.provideAbis`. */
  provideAbis(abis: KnownAbis): void {
    this.#abis = abis;
  }

  /** As `Submissions.submit`. */
  async submit(
    owner: Subject,
    request: SubmissionRequest,
    alongside?: (submitted: Submitted) => StoreCommit,
  ): Promise<Submitted> {
    const { id, ref } = await this.#store(owner, request, (record) => alongside?.(record) ?? {});
    return { id, ref };
  }

  /** Does the same as `submit` with the transaction as clients see it. */
  async create(
    owner: Subject,
    request: SubmissionRequest,
    alongside?: (made: TransactionJson) => StoreCommit,
  ): Promise<TransactionJson> {
    return this.onWire(await this.#store(owner, request, (record) => alongside?.(this.onWire(record)) ?? {}));
  }

  /** Returns a page of transactions, newest first, without `data`, receipts and return values. */
  list(owner: Subject, filters: TransactionFilters, page: Page): { body: TransactionJson[]; total: number } {
    const { rows, total } = this.#dependencies.repository.list(owner, filters, page);
    return { body: rows.map((record) => withoutData(this.#inList(record))), total };
  }

  /** Returns a transaction by its id or ref. Throws `not_found`. */
  get(owner: Subject, idOrRef: string): TransactionJson {
    return this.onWire(this.find(owner, idOrRef).value);
  }

  /** Returns the record of a transaction by its id or ref. Throws `not_found`. */
  find(owner: Subject, idOrRef: string): StoreRecord<TransactionRecord> {
    const { repository } = this.#dependencies;
    const found =
      (isUuid(idOrRef) ? repository.find(owner, idOrRef) : undefined) ?? repository.findByRef(owner, idOrRef);
    if (found === undefined) throw notFound("transaction");
    return found;
  }

  /** Returns a record as clients see it, with what is known of its sending before the store has it. */
  onWire(record: TransactionRecord): TransactionJson {
    return {
      ...this.#inList(record),
      receipt: receiptOnWire(record, this.#abis),
      simulated_return: record.simulated_return ?? null,
    };
  }

  #inList(record: TransactionRecord): TransactionJson {
    const { broadcastAt, sendFault } =
      (record.block === null ? this.#dependencies.progress.of(record) : undefined) ?? {};
    const sent =
      record.state === "signed" && broadcastAt !== undefined
        ? ({ state: "sent", broadcast_at: broadcastAt } as const)
        : {};
    return transactionOnWire({ ...record, ...sent, error: record.error ?? sendFault ?? null }, this.#depth);
  }

  /** Deletes all transactions of an owner. What nodes have taken cannot be taken back. */
  async purge(owner: Subject): Promise<void> {
    const { repository } = this.#dependencies;
    for (;;) {
      const records = await retryOnConflict(async () => {
        const page = repository.page(owner, { page: 1, rpp: 100 });
        await repository.commit(mergeCommits(...page.map((record) => repository.deletion(record))));
        return page;
      });
      if (records.length === 0) return;
      for (const { value } of records) this.#dependencies.queues.drop(value.id);
    }
  }

  async #store(
    owner: Subject,
    request: SubmissionRequest,
    alongside: (record: TransactionRecord) => StoreCommit,
  ): Promise<TransactionRecord> {
    const { writer, queues, accounts, networks, signing } = this.#dependencies;
    const network = networks.find(owner, request.networkId);
    const wishes = requestedValues(request);
    checkRequestedFees(network, wishes);
    const to = request.to === undefined ? null : requireAddress(request.to);
    const data = (request.data ?? NO_DATA).toLowerCase();
    if (to === null && data === NO_DATA)
      throw invalidMember("to", "a transaction has `to`, or `data` that creates a contract");
    const signer = await signing.resolve(owner, request.signer);
    await this.#requireRoom(owner, network, signer.from, request.nonce);
    const value = request.value ?? 0n;
    const call = { from: signer.from, to, value, data };
    const [gas, simulated] = await Promise.all([
      request.gas === undefined ? this.#estimate(network, call) : this.#requireGas(network, request.gas, call),
      simulatedReturn(network, call, request),
    ]);
    const id = newId();
    const record: TransactionRecord = {
      id,
      created_at: writer.now(),
      owner_kind: owner.kind,
      owner_id: owner.id,
      network_id: network.id,
      chain_id: network.chainId,
      account_id: signer.accountId,
      wallet_id: signer.walletId,
      signer: signer.signer,
      from: signer.from,
      to,
      value: String(value),
      data,
      gas: String(gas),
      wishes,
      ref: request.ref ?? id,
      description: request.description ?? null,
      contract_id: request.contractId ?? null,
      ...(simulated === undefined ? {} : { simulated_return: simulated }),
      ...UNSENT,
    };
    const used = signer.accountId === null ? {} : accounts.useCommit(owner, signer.accountId);
    await insertWithRef(this.#dependencies, record, used, alongside(record));
    queues.add(record);
    return record;
  }

  /** Throws `overloaded` when too many transactions of the account wait, and as `requireNear` for a chosen nonce. */
  async #requireRoom(
    owner: Subject,
    network: TransactionNetwork,
    from: string,
    nonce: number | undefined,
  ): Promise<void> {
    const room = this.#dependencies.progress.roomOf({
      chain_id: network.chainId,
      from,
      owner_kind: owner.kind,
      owner_id: owner.id,
    });
    if (room.waiting >= WAITING_MAX)
      throw new AppError("overloaded", {
        message: "too many transactions of the account are waiting",
        retryAfterSec: 5,
      });
    if (nonce === undefined) return;
    await requireNear(network, from, nonce, room.open);
    if (room.holds(nonce)) throw nonceInUse();
  }

  async #estimate(network: TransactionNetwork, call: GasRequest): Promise<bigint> {
    return await this.#dependencies.gas.estimate(network, call);
  }

  /** Returns the gas limit of the caller. Throws `invalid_request`, and `out_of_gas` for what no block would take. */
  async #requireGas(network: TransactionNetwork, gas: bigint, { to, data }: GasRequest): Promise<bigint> {
    if (gas > GAS_MAX) throw invalidMember("gas", "`gas` is beyond what any chain counts (2^64 - 1)");
    requireIntrinsicGas(gas, { to, data });
    await this.#dependencies.gas.requireBlockRoom(network, gas);
    return gas;
  }

  readonly #depth: Depth = (record) => {
    const head = this.#dependencies.progress.headOf(record.network_id);
    return record.block === null || head === undefined ? null : Math.max(0, head - record.block + 1);
  };
}

/** Stores a new record. Throws `ref_taken`, and `nonce_in_use` for a signed one. */
export async function insertWithRef(
  { writer, repository }: Pick<TransactionServiceDependencies, "writer" | "repository">,
  record: TransactionRecord,
  ...alongside: readonly StoreCommit[]
): Promise<void> {
  try {
    await writer.insert(record, ...alongside);
  } catch (error) {
    if (error instanceof StoreConflict && repository.isRefConflict(error.key))
      throw new AppError("ref_taken", { message: "another transaction has this ref", cause: error });
    if (error instanceof StoreConflict && repository.isNonceConflict(error.key)) throw nonceInUse();
    throw error;
  }
}

/**
 * Throws `nonce_in_use` for a nonce that the chain has counted, `invalid_request` for one that is far above the
 * account's next.
 */
async function requireNear({ rpc }: TransactionNetwork, from: string, nonce: number, openCount: number): Promise<void> {
  const [mined, pending] = await Promise.all(
    ["latest", "pending"].map(async (at) =>
      readInteger(await askNode(rpc, "eth_getTransactionCount", [from, at]), "nonce"),
    ),
  );
  const next = mined ?? 0;
  if (nonce < next)
    throw new AppError("nonce_in_use", {
      message: `the chain has used this nonce; the account's next is ${String(next)}`,
    });
  const highest = Math.max(next, pending ?? 0) + openCount + NONCES_AHEAD_MAX;
  if (nonce > highest)
    throw invalidMember(
      "nonce",
      `\`nonce\` is too far above the account's next, ${String(next)}; ${String(highest)} is the highest now`,
    );
}

/** Returns the checksummed form. Throws `invalid_request` that names the member. */
function requireAddress(text: string): string {
  try {
    return checksumAddress(readAddress(text, "to"));
  } catch (error) {
    if (error instanceof InvalidPayload) throw invalidMember("to", error.message);
    throw error;
  }
}

function requestedValues(request: SubmissionRequest): RequestedValues {
  return {
    ...(request.gas === undefined ? {} : { gas: String(request.gas) }),
    ...(request.gasPrice === undefined ? {} : { gas_price: String(request.gasPrice) }),
    ...(request.maxFeePerGas === undefined ? {} : { max_fee_per_gas: String(request.maxFeePerGas) }),
    ...(request.maxPriorityFeePerGas === undefined
      ? {}
      : { max_priority_fee_per_gas: String(request.maxPriorityFeePerGas) }),
    ...(request.nonce === undefined ? {} : { nonce: request.nonce }),
  };
}

function withoutData({ data: _data, ...transaction }: TransactionJson): TransactionJson {
  return transaction;
}
