/**
 * Transactions for HTTP and for contracts: checks a request, stores it, and leaves the rest to the account's lane.
 * Replacements (bump, cancel) and transactions that callers signed themselves are in files beside this one.
 */
import type { Subject } from "../../platform/auth/principal.js";
import { AppError } from "../../platform/errors.js";
import { isUuid, newId } from "../../platform/ids.js";
import { StoreConflict, type StoreCommit, type StoreRecord } from "../../platform/store/store.js";
import { mergeCommits, retryOnConflict, type Page } from "../../platform/store/tables.js";
import { checksumAddress } from "../../crypto/ethereum/address.js";
import { InvalidPayload } from "../../crypto/ethereum/invalid.js";
import { readAddress } from "../../crypto/ethereum/quantity.js";
import type { Accounts } from "../accounts/accounts.js";
import type { SettlementListener, TransactionWriter } from "./transaction-writer.js";
import type { SubmissionRequest, Submissions, Submitted } from "./submission-port.js";
import type { TransactionFilters, TransactionJson } from "./transaction-schemas.js";
import { checkRequestedFees } from "./fees/fees.js";
import type { GasEstimates } from "./fees/gas.js";
import { requireIntrinsicGas } from "./fees/intrinsic-gas.js";
import type { NonceQueues } from "./sending/nonce-queues.js";
import { readHexQuantity } from "./node-values.js";
import type { TransactionNetwork, TransactionNetworks } from "./transaction-ports.js";
import { transactionOnWire, type Depth, type TransactionRecord, type RequestedValues } from "./transaction-record.js";
import type { TransactionRepository } from "./transaction-repository.js";
import type { TransactionSigning } from "./transaction-signing.js";

export interface TransactionServiceDependencies {
  readonly repository: TransactionRepository;
  readonly ledger: TransactionWriter;
  readonly lanes: NonceQueues;
  readonly gas: GasEstimates;
  readonly signing: TransactionSigning;
  readonly accounts: Accounts;
  readonly networks: TransactionNetworks;
}

/** Transactions of one account that may wait for their nonce: some minutes of work. */
const WAITING_MAX = 10_000;
/**
 * Nonces that a caller's own choice may leave free below it: each is filled with an empty transaction, which costs gas.
 */
const NONCES_AHEAD_MAX = 64;
const GAS_MAX = 2n ** 64n - 1n;
const NO_DATA = "0x";

export class TransactionService implements Submissions {
  readonly #dependencies: TransactionServiceDependencies;

  constructor(dependencies: TransactionServiceDependencies) {
    this.#dependencies = dependencies;
  }

  onSettled(listener: SettlementListener): void {
    this.#dependencies.ledger.onSettled(listener);
  }

  async submit(
    owner: Subject,
    request: SubmissionRequest,
    alongside?: (submitted: Submitted) => StoreCommit,
  ): Promise<Submitted> {
    const { id, ref } = await this.#store(owner, request, alongside);
    return { id, ref };
  }

  /** The same for HTTP. */
  async create(owner: Subject, request: SubmissionRequest): Promise<TransactionJson> {
    return this.onWire(await this.#store(owner, request));
  }

  /** Newest first, without `data`. */
  list(owner: Subject, filters: TransactionFilters, page: Page): { body: TransactionJson[]; total: number } {
    const { rows, total } = this.#dependencies.repository.list(owner, filters, page);
    return { body: rows.map((record) => withoutData(this.onWire(record))), total };
  }

  /** By id or ref. Throws `not_found`. */
  get(owner: Subject, idOrRef: string): TransactionJson {
    return this.onWire(this.find(owner, idOrRef).value);
  }

  /** Throws `not_found`. */
  find(owner: Subject, idOrRef: string): StoreRecord<TransactionRecord> {
    const { repository } = this.#dependencies;
    const found =
      (isUuid(idOrRef) ? repository.find(owner, idOrRef) : undefined) ?? repository.findByRef(owner, idOrRef);
    if (found === undefined) throw new AppError("not_found", { message: "transaction not found" });
    return found;
  }

  onWire(record: TransactionRecord): TransactionJson {
    const { broadcastAt, tooCheap } =
      (record.block === null ? this.#dependencies.lanes.underWay(record) : undefined) ?? {};
    const sent =
      record.state === "signed" && broadcastAt !== undefined
        ? ({ state: "sent", broadcast_at: broadcastAt } as const)
        : {};
    return transactionOnWire({ ...record, ...sent, error: record.error ?? tooCheap ?? null }, this.#depth);
  }

  /** Deletes everything of an owner that is here. What nodes have taken cannot be taken back. */
  async purge(owner: Subject): Promise<void> {
    const { repository, lanes } = this.#dependencies;
    for (;;) {
      const records = await retryOnConflict(async () => {
        const page = repository.page(owner, { page: 1, rpp: 100 });
        await repository.commit(mergeCommits(...page.map((record) => repository.deletion(record))));
        return page;
      });
      if (records.length === 0) return;
      for (const { value } of records) {
        const lane = lanes.laneFor(value);
        const entry = lane.find(value.id);
        lane.withdraw(value.id);
        if (entry !== undefined) {
          lane.release(entry, { isUsed: true });
          lanes.forget(entry);
        }
        lanes.forgetId(value.id);
      }
    }
  }

  async #store(
    owner: Subject,
    request: SubmissionRequest,
    alongside?: (submitted: Submitted) => StoreCommit,
  ): Promise<TransactionRecord> {
    const { ledger, lanes, accounts, networks } = this.#dependencies;
    const network = networks.find(owner, request.networkId);
    const wishes = wishesOf(request);
    checkRequestedFees(network, wishes);
    const to = request.to === undefined ? null : requireAddress(request.to);
    const data = (request.data ?? NO_DATA).toLowerCase();
    if (to === null && data === NO_DATA) throw bad("to", "a transaction has `to`, or `data` that creates a contract");
    const signer = await this.#dependencies.signing.resolve(owner, request.signer);
    const lane = lanes.laneFor({ chain_id: network.chainId, from: signer.from });
    if (lane.waiting >= WAITING_MAX)
      throw new AppError("overloaded", {
        message: "too many transactions of the account are waiting",
        retryAfterSec: 5,
      });
    if (request.nonce !== undefined)
      await requireNear(network, signer.from, request.nonce, lane.waiting + lane.entries().length);
    if (request.nonce !== undefined && lane.holds(request.nonce))
      throw new AppError("nonce_in_use", { message: "another open transaction of the account has this nonce" });
    const value = request.value ?? 0n;
    if (request.gas !== undefined && request.gas > GAS_MAX)
      throw bad("gas", "`gas` is beyond what any chain counts (2^64 - 1)");
    if (request.gas !== undefined) requireIntrinsicGas(request.gas, to, data);
    const gas = request.gas ?? (await this.#dependencies.gas.estimate(network, { from: signer.from, to, value, data }));
    const id = newId();
    const record: TransactionRecord = {
      id,
      created_at: ledger.now(),
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
      ...UNSENT,
    };
    const used = signer.accountId === null ? {} : accounts.useCommit(owner, signer.accountId);
    await insertWithRef(
      this.#dependencies,
      record,
      used,
      ...(alongside === undefined ? [] : [alongside({ id, ref: record.ref })]),
    );
    lanes.add(record);
    return record;
  }

  readonly #depth: Depth = (record) => {
    const head = this.#dependencies.lanes.headOf(record.network_id);
    return record.block === null || head === undefined ? null : Math.max(0, head - record.block + 1);
  };
}

/** The members of a transaction for which nothing has happened. */
export const UNSENT = {
  state: "created",
  nonce: null,
  attempts: [],
  hash: null,
  error: null,
  block: null,
  block_hash: null,
  block_timestamp: null,
  gas_used: null,
  effective_gas_price: null,
  contract_address: null,
  broadcast_at: null,
  finalized_at: null,
  confirmed_at: null,
  cancel_requested_at: null,
  watched: true,
} as const satisfies Partial<TransactionRecord>;

/** Stores a new record. Throws `ref_taken`. */
export async function insertWithRef(
  { ledger, repository }: Pick<TransactionServiceDependencies, "ledger" | "repository">,
  record: TransactionRecord,
  ...alongside: readonly StoreCommit[]
): Promise<void> {
  try {
    await ledger.insert(record, ...alongside);
  } catch (error) {
    if (error instanceof StoreConflict && repository.isRefConflict(error.key))
      throw new AppError("ref_taken", { message: "another transaction has this ref", cause: error });
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
      Number(readHexQuantity(await rpc.request("eth_getTransactionCount", [from, at]), "nonce")),
    ),
  );
  const next = mined ?? 0;
  if (nonce < next)
    throw new AppError("nonce_in_use", {
      message: `the chain has used this nonce; the account's next is ${String(next)}`,
    });
  const highest = Math.max(next, pending ?? 0) + openCount + NONCES_AHEAD_MAX;
  if (nonce > highest)
    throw bad(
      "nonce",
      `\`nonce\` is too far above the account's next, ${String(next)}; ${String(highest)} is the highest now`,
    );
}

/** The checksummed form. Throws `invalid_request` that names the member. */
function requireAddress(text: string): string {
  try {
    return checksumAddress(readAddress(text, "to"));
  } catch (error) {
    if (error instanceof InvalidPayload) throw bad("to", error.message);
    throw error;
  }
}

function wishesOf(request: SubmissionRequest): RequestedValues {
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

function bad(path: string, message: string): AppError {
  return new AppError("invalid_request", { message, details: [{ message, code: "invalid_request", path }] });
}
