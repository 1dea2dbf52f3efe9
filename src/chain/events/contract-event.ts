/** What is published of one log of a contract: the subjects, the audience and the payload. Pure. */
import type { EventDraft } from "../../platform/events/events.js";
import type { StoreValue } from "../../platform/store/store.js";
import type { ContractAbi } from "../contracts/abi/abi.js";
import type { WatchedContract } from "../contracts/abi/contract-abis.js";
import type { PublishedLog } from "./follow-records.js";
import { decodeLog, type ChainLog } from "./log-decoding.js";

/** An event and the record by which it can be retracted. */
export interface ContractEvent {
  readonly log: PublishedLog;
  readonly draft: EventDraft;
}

export interface EventSource {
  readonly networkId: string;
  readonly contract: WatchedContract;
  readonly abi: ContractAbi;
  /** Sender of the transaction; null when the node does not know it. */
  readonly sender: string | null;
}

/**
 * Returns the event of a log. It goes to the contract's owner alone, under the subjects
 * `network.<id>.contracts.<address>`, the contract's `pubsub_prefix` and, when the ABI names the event,
 * `<pubsub_prefix>.<event>`.
 */
export function contractEvent(log: ChainLog, { networkId, contract, abi, sender }: EventSource): ContractEvent {
  const decoded = decodeLog(abi, log);
  const type = decoded?.type ?? null;
  const prefix = contract.pubsubPrefix;
  const published: PublishedLog = {
    owner: contract.owner,
    subjects: [
      `network.${networkId}.contracts.${contract.address}`,
      prefix,
      ...(type === null ? [] : [`${prefix}.${type}`]),
    ],
    contract_id: contract.contractId,
    address: contract.address,
    type,
    tx_hash: log.transactionHash,
    block_number: log.blockNumber,
    block_hash: log.blockHash,
    log_index: log.logIndex,
  };
  const params = decoded?.params ?? null;
  return {
    log: published,
    draft: draftOf(published, {
      // Existing clients read the parameters beside the other members; one of the same name is in `params` only.
      ...(typeof params === "object" && params !== null && !isList(params) ? params : {}),
      ...positionOf(published, networkId),
      by: sender,
      params,
      removed: false,
      ...(decoded === undefined ? { topics: log.topics, data: log.data } : {}),
    }),
  };
}

/** Returns the event that retracts a published log, because its block is no longer part of the chain. */
export function retraction(log: PublishedLog, networkId: string): EventDraft {
  return draftOf(log, { ...positionOf(log, networkId), removed: true });
}

function isList(value: StoreValue): value is readonly StoreValue[] {
  return Array.isArray(value);
}

function positionOf(
  { subjects: _subjects, owner: _owner, ...position }: PublishedLog,
  networkId: string,
): Readonly<Record<string, StoreValue>> {
  return { network_id: networkId, ...position };
}

function draftOf({ subjects, owner }: PublishedLog, payload: StoreValue): EventDraft {
  const [subject = "", ...also] = subjects;
  return { subject, also, payload, audience: [owner] };
}
