/** Decodes logs of contracts by their ABI (Solidity documentation, "Contract ABI Specification", Events). Pure. */
import type { Hex } from "../hex.js";
import { keccak256 } from "../../crypto/hashes/keccak.js";
import type { StoreValue } from "../../platform/store/store.js";
import { signatureOf, type AbiEntry, type ContractAbi } from "../contracts/abi/abi.js";
import { readType, type AbiMember, type AbiParameter, type AbiType } from "../contracts/abi/abi-types.js";
import { decodeMembers, named } from "../contracts/abi/abi-values.js";

/** A log from a node, checked. */
export interface ChainLog {
  /** Lower case. */
  readonly address: string;
  readonly topics: readonly Hex[];
  readonly data: Hex;
  readonly blockNumber: number;
  readonly blockHash: string;
  readonly logIndex: number;
  readonly transactionHash: string;
}

export interface DecodedLog {
  /** Name of the event. */
  readonly type: string;
  /** By name where every parameter has a name of its own, a list otherwise. */
  readonly params: StoreValue;
}

/** An event of an ABI, ready for decoding. */
interface EventType {
  readonly name: string;
  readonly inputs: readonly (AbiMember & { readonly indexed: boolean })[];
}

type EventTable = ReadonlyMap<string, readonly EventType[]>;

/** By the ABI object, which stays the same as long as its record does. */
const tables = new WeakMap<ContractAbi, EventTable>();

/**
 * Returns the event and its parameters; undefined when the ABI has no event that fits. An indexed parameter of a
 * dynamic type is its hash, because logs have no more of it.
 */
export function decodeLog(abi: ContractAbi, log: Pick<ChainLog, "topics" | "data">): DecodedLog | undefined {
  const [selector, ...topics] = log.topics;
  const candidates = selector === undefined ? [] : (eventTable(abi).get(selector) ?? []);
  for (const event of candidates) {
    const values = valuesOf(event, topics, log.data);
    if (values !== undefined) return { type: event.name, params: named(event.inputs, values) };
  }
  return undefined;
}

function eventTable(abi: ContractAbi): EventTable {
  const present = tables.get(abi);
  if (present !== undefined) return present;
  const table = new Map<string, EventType[]>();
  for (const entry of abi) {
    if (entry.type !== "event" || entry.anonymous === true) continue;
    const selector = `0x${Buffer.from(keccak256(Buffer.from(signatureOf(entry)))).toString("hex")}`;
    // A signature may occur twice with other parameters indexed: the first that fits the log is taken.
    table.set(selector, [...(table.get(selector) ?? []), toEvent(entry)]);
  }
  tables.set(abi, table);
  return table;
}

function toEvent({ name, inputs }: AbiEntry): EventType {
  return { name, inputs: inputs.flatMap((input) => memberOf(input)) };
}

function memberOf(input: AbiParameter): (AbiMember & { readonly indexed: boolean })[] {
  const type = readType(input);
  return type === undefined ? [] : [{ name: input.name, type, indexed: input.indexed === true }];
}

function valuesOf({ inputs }: EventType, topics: readonly Hex[], data: Hex): StoreValue[] | undefined {
  const indexed = inputs.filter((input) => input.indexed);
  if (indexed.length !== topics.length) return undefined;
  const plain = decodeMembers(
    inputs.filter((input) => !input.indexed),
    data,
  );
  const fromTopics = indexed.map((input, index) => topicValue(input, topics[index] ?? "0x"));
  if (plain === undefined || fromTopics.includes(undefined)) return undefined;
  let plainAt = 0;
  let topicAt = 0;
  return inputs.map((input) => {
    if (input.indexed) return fromTopics[topicAt++] ?? null;
    return plain[plainAt++] ?? null;
  });
}

function topicValue(input: AbiMember, topic: Hex): StoreValue | undefined {
  return isHashed(input.type) ? topic : decodeMembers([input], topic)?.[0];
}

function isHashed(type: AbiType): boolean {
  switch (type.kind) {
    case "integer":
    case "bool":
    case "address":
      return false;
    case "bytes":
      return type.length === null;
    case "string":
    case "array":
    case "tuple":
      return true;
    default:
      return type satisfies never;
  }
}
