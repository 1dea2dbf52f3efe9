/**
 * The receipt of a transaction: what its record keeps of it, and what clients see. Logs and reverts are decoded when
 * they are read, by the ABIs that the owner has then.
 */
import type { Hex } from "../hex.js";
import { checksumAddress } from "../../crypto/ethereum/address.js";
import { revertOf } from "../contracts/reverts.js";
import { decodeLog } from "../events/log-decoding.js";
import type { Receipt, ReceiptLog } from "./node-values.js";
import type { KnownAbis } from "./submission-port.js";
import { ownerOf, type StoredReceipt, type TransactionRecord } from "./transaction-record.js";
import { RETURN_BYTES_MAX, type ReceiptJson } from "./transaction-schemas.js";

type KnownContract = ReturnType<KnownAbis["at"]>;

const HEX = /^0x(?:[0-9a-f]{2})*$/i;
const RETURN_CHARACTERS_MAX = 2 + 2 * RETURN_BYTES_MAX;

/**
 * Returns what a record keeps of a receipt.
 * @param revertData return data that says why it reverted, 0x-hex
 */
export function storedReceipt({ isSuccess, logs }: Receipt, revertData: string | undefined): StoredReceipt {
  const isData = revertData !== undefined && HEX.test(revertData);
  return {
    is_success: isSuccess,
    logs: logs?.first ?? null,
    logs_count: logs?.count ?? null,
    revert_data: isData ? revertData.slice(0, RETURN_CHARACTERS_MAX) : null,
  };
}

/** Returns the receipt as clients see it; null while the transaction is in no block. */
export function receiptOnWire(record: TransactionRecord, abis: KnownAbis | undefined): ReceiptJson | null {
  const { block, block_hash: blockHash, receipt } = record;
  if (block === null || blockHash === null) return null;
  const logs = receipt?.logs ?? null;
  const count = receipt?.logs_count ?? null;
  const at = contractsOf(record, abis);
  return {
    block_hash: blockHash,
    block_number: block,
    status: statusOf(record),
    gas_used: record.gas_used,
    effective_gas_price: record.effective_gas_price,
    contract_address: record.contract_address,
    logs: logs?.map((log) => logOnWire(log, at(log.address))) ?? null,
    logs_count: count,
    logs_truncated: (logs?.length ?? 0) < (count ?? 0),
    revert: revertOf(abiOfCall(record, abis), receipt?.revert_data ?? undefined) ?? null,
  };
}

/** Records of earlier versions have the outcome in their state, but for cancellations, of which it says nothing. */
function statusOf({ receipt, state }: TransactionRecord): ReceiptJson["status"] {
  if (receipt !== undefined && receipt !== null) return receipt.is_success ? "success" : "reverted";
  if (state === "cancelled") return null;
  return state === "failed" ? "reverted" : "success";
}

/** Returns the look-up of the owner's contracts by address, each found once. */
function contractsOf(record: TransactionRecord, abis: KnownAbis | undefined): (address: string) => KnownContract {
  const found = new Map<string, KnownContract>();
  return (address) => {
    if (!found.has(address)) found.set(address, abis?.at(ownerOf(record), record.network_id, address));
    return found.get(address);
  };
}

/** The ABI of the contract that the transaction creates or calls; empty where none is known. */
function abiOfCall(record: TransactionRecord, abis: KnownAbis | undefined): ReturnType<KnownAbis["of"]> {
  const owner = ownerOf(record);
  const { contract_id: id, to, network_id: networkId } = record;
  if (id !== null) return abis?.of({ owner, id }) ?? [];
  return (to === null ? undefined : abis?.at(owner, networkId, to)?.abi) ?? [];
}

function logOnWire(
  { index, address, topics, data }: ReceiptLog,
  contract: KnownContract,
): NonNullable<ReceiptJson["logs"]>[number] {
  const log = { topics: topics as readonly Hex[], data: data as Hex };
  const decoded = contract === undefined ? undefined : decodeLog(contract.abi, log);
  return {
    index,
    address: checksumAddress(Buffer.from(address.slice(2), "hex")),
    topics: [...topics],
    data,
    contract_id: contract?.contractId ?? null,
    event: decoded === undefined ? null : { name: decoded.type, args: decoded.params },
  };
}
