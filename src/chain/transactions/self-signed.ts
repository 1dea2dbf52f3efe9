/**
 * Transactions that callers signed themselves: read strictly, stored like others, sent and followed in the queue
 * of their signer.
 */
import { InvalidSignedTransaction, readSignedTransaction } from "../../crypto/ethereum/signed-transaction.js";
import { keccak256 } from "../../crypto/hashes/keccak.js";
import type { Subject } from "../../platform/auth/principal.js";
import { AppError, invalidMember } from "../../platform/errors.js";
import { newId } from "../../platform/ids.js";
import type { StoreCommit } from "../../platform/store/store.js";
import type { BroadcastTransactionInput, TransactionJson } from "./transaction-schemas.js";
import { requireGasBeforeExecution, type TransactionLists } from "./fees/intrinsic-gas.js";
import type { NonceQueues } from "./sending/nonce-queues.js";
import type { TransactionWriter } from "./transaction-writer.js";
import type { TransactionNetworks } from "./transaction-ports.js";
import { UNSENT, type TransactionRecord } from "./transaction-record.js";
import { refusalFault } from "./sending/refusals.js";
import type { TransactionRepository } from "./transaction-repository.js";
import { insertWithRef, type TransactionService } from "./transaction-service.js";

export interface SelfSignedDependencies {
  readonly service: TransactionService;
  readonly repository: TransactionRepository;
  readonly writer: TransactionWriter;
  readonly queues: NonceQueues;
  readonly networks: TransactionNetworks;
}

/** What may come with signed bytes. */
export interface BroadcastOptions {
  /** Of the transaction; a new one unless given. */
  readonly id?: string;
  /** Returns what is stored in one commit with the transaction. It gets it as it is before it is sent. */
  readonly keep?: ((made: TransactionJson) => StoreCommit) | undefined;
}

/** Types of EIP-2718 by their first byte, 0x-hex. */
const UNSENT_TYPES: ReadonlyMap<string, string> = new Map([
  ["0x03", "a blob transaction (type 3, EIP-4844)"],
  ["0x04", "a transaction with authorizations (type 4, EIP-7702)"],
]);

export class SelfSigned {
  readonly #dependencies: SelfSignedDependencies;

  constructor(dependencies: SelfSignedDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Checks signed bytes as far as no node is needed.
   * @throws not_found, transaction_invalid, out_of_gas
   */
  check(owner: Subject, input: BroadcastTransactionInput): void {
    this.#recordOf(owner, input, newId());
  }

  /**
   * Stores signed bytes, sends them and returns the transaction.
   * @throws transaction_invalid, out_of_gas, nonce_in_use, ref_taken
   * @throws transaction_refused, insufficient_funds when the node refuses the bytes
   */
  async broadcast(
    owner: Subject,
    input: BroadcastTransactionInput,
    { id = newId(), keep }: BroadcastOptions = {},
  ): Promise<TransactionJson> {
    const { service, writer, queues } = this.#dependencies;
    const { record, raw, nonce } = this.#recordOf(owner, input, id);
    const { queue, queued } = await queues.queueFor(record).reserving(nonce, async () => {
      // From here on the bytes are sent, by the next start of the server if need be.
      await insertWithRef(this.#dependencies, record, keep?.(service.onWire(record)) ?? {});
      return queues.adopt(record);
    });
    const { outcome, refusal } = await queue.sendFirst(queued, raw);
    if (refusal === undefined || outcome === "accepted" || outcome === "later" || outcome === "unexplained")
      return service.get(owner, id);
    const fault = refusalFault(outcome, refusal);
    await writer.fail(owner, id, fault, {
      isInvalid: outcome === "invalid" && !queued.state.mayBeInPool,
    });
    queue.release(queued, { isUsed: false });
    queues.forget(queued);
    throw new AppError(outcome === "insufficient_funds" ? "insufficient_funds" : "transaction_refused", {
      message: fault.message,
    });
  }

  #recordOf(
    owner: Subject,
    input: BroadcastTransactionInput,
    id: string,
  ): { readonly record: TransactionRecord; readonly raw: string; readonly nonce: number } {
    const { writer, networks } = this.#dependencies;
    const network = networks.find(owner, input.network_id);
    const raw = input.raw_transaction.toLowerCase();
    const { chainId, lists, ...members } = readSigned(raw);
    if (chainId !== network.chainId)
      throw invalid(`is for chain ${String(chainId ?? "none")}, not for ${String(network.chainId)}`);
    requireGasBeforeExecution(BigInt(members.gas), { ...members, lists });
    const now = writer.now();
    const hash = `0x${Buffer.from(keccak256(bytesOf(raw))).toString("hex")}`;
    const { fees, ...rest } = members;
    const record: TransactionRecord = {
      id,
      created_at: now,
      owner_kind: owner.kind,
      owner_id: owner.id,
      network_id: network.id,
      chain_id: network.chainId,
      account_id: null,
      wallet_id: null,
      signer: null,
      wishes: {},
      ref: input.ref ?? id,
      description: input.description ?? null,
      contract_id: null,
      ...UNSENT,
      ...rest,
      state: "signed",
      holds_nonce: true,
      hash,
      attempts: [{ hash, kind: "first", signed_at: now, ...fees, raw }],
    };
    return { record, raw, nonce: members.nonce };
  }
}

type SignedMembers = Pick<TransactionRecord, "from" | "to" | "value" | "data" | "gas"> & {
  readonly nonce: number;
  readonly chainId: number | undefined;
  readonly lists: TransactionLists;
  readonly fees: Readonly<Record<string, string>>;
};

/** Reads the members and the signer of signed bytes, 0x-hex in lower case. Throws `transaction_invalid`. */
function readSigned(raw: string): SignedMembers {
  const unsent = UNSENT_TYPES.get(raw.slice(0, 4));
  if (unsent !== undefined) throw invalid(`is ${unsent}: those are not sent, types 0, 1 and 2 are`);
  try {
    const signed = readSignedTransaction(bytesOf(raw));
    const { nonce } = signed;
    if (nonce > BigInt(Number.MAX_SAFE_INTEGER)) throw invalid("has a nonce that no account reaches");
    const fees = Object.entries({
      gas_price: signed.gasPrice,
      max_fee_per_gas: signed.maxFeePerGas,
      max_priority_fee_per_gas: signed.maxPriorityFeePerGas,
    });
    return {
      from: signed.from,
      to: signed.to,
      value: String(signed.value),
      data: `0x${Buffer.from(signed.data).toString("hex")}`,
      gas: String(signed.gas),
      nonce: Number(nonce),
      chainId: signed.chainId === undefined ? undefined : Number(signed.chainId),
      lists: listsOf(signed.accessList),
      fees: Object.fromEntries(fees.flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]))),
    };
  } catch (error) {
    if (error instanceof InvalidSignedTransaction)
      throw invalid(`is not a signed transaction of type 0, 1 or 2: ${error.message}`);
    throw error;
  }
}

function bytesOf(raw: string): Uint8Array {
  return Buffer.from(raw.slice(2), "hex");
}

function listsOf(accessList: readonly { readonly storageKeys: readonly unknown[] }[]): TransactionLists {
  return {
    accessListAddresses: accessList.length,
    accessListKeys: accessList.reduce((sum, { storageKeys }) => sum + storageKeys.length, 0),
  };
}

function invalid(message: string): AppError {
  return invalidMember("raw_transaction", `\`raw_transaction\` ${message}`, "transaction_invalid");
}
