/**
 * The store port in the plainest possible way: a sorted list in memory. It is the reference that the LMDB adapter is
 * compared with, so it shares no code with it.
 */
import { StoreConflict } from "../../src/platform/store/store.js";
import type {
  AppendFeed,
  RangeOptions,
  Store,
  StoreCommit,
  StoreKey,
  StoreRecord,
  StoreValue,
} from "../../src/platform/store/store.js";

interface Entry {
  readonly key: StoreKey;
  readonly json: string;
  readonly version: number;
}

export class MemoryStore implements Store, AppendFeed {
  readonly #listeners = new Map<string, Set<() => void>>();
  #entries: Entry[] = [];
  #sequence = 0;

  get<T = StoreValue>(key: StoreKey): StoreRecord<T> | undefined {
    const entry = this.#entries.find((candidate) => compareKeys(candidate.key, key) === 0);
    return entry === undefined ? undefined : toRecord<T>(entry);
  }

  range<T = StoreValue>(prefix: StoreKey, options: RangeOptions = {}): StoreRecord<T>[] {
    const { offset = 0, limit = Infinity, reverse = false, after } = options;
    let found = this.#entries.filter((entry) => startsWith(entry.key, prefix));
    if (reverse) found.reverse();
    if (after !== undefined)
      found = found.filter((entry) =>
        reverse ? compareKeys(entry.key, after) < 0 : compareKeys(entry.key, after) > 0,
      );
    return found.slice(offset, offset + limit).map((entry) => toRecord<T>(entry));
  }

  count(prefix: StoreKey): number {
    return this.range(prefix).length;
  }

  /** Appends are numbered but not linked: there is no key here. */
  async commit({
    checks = [],
    puts: plainPuts = [],
    deletes = [],
    deletePrefixes = [],
    appends = [],
  }: StoreCommit): Promise<void> {
    const heads = new Map<string, number>();
    const puts = [
      ...plainPuts,
      ...appends.flatMap(({ chain, value, indexes = [], unlinked = false }) => {
        const number = (heads.get(chain) ?? this.get<{ number: number }>([`${chain}#head`])?.value.number ?? 0) + 1;
        heads.set(chain, number);
        return [
          { key: [chain, number], value: unlinked ? value : { mac: "", event: value } },
          ...indexes.map((key) => ({ key: [...key, number], value: true })),
        ];
      }),
      ...[...heads].map(([chain, number]) => ({ key: [`${chain}#head`], value: { number } })),
    ];
    for (const check of checks) {
      if ((this.get(check.key)?.version ?? "absent") !== check.version) throw new StoreConflict(check.key);
    }
    this.#sequence += 1;
    const gone = (key: StoreKey): boolean =>
      deletePrefixes.some((prefix) => startsWith(key, prefix)) ||
      [...deletes, ...puts.map((put) => put.key)].some((other) => compareKeys(other, key) === 0);
    const written = new Map(puts.map((put) => [JSON.stringify(put.key), put]));
    this.#entries = [
      ...this.#entries.filter((entry) => !gone(entry.key)),
      ...[...written.values()].map((put) => ({
        key: put.key,
        json: JSON.stringify(put.value),
        version: this.#sequence,
      })),
    ].sort((one, other) => compareKeys(one.key, other.key));
    for (const chain of heads.keys())
      this.#listeners.get(chain)?.forEach((listener) => {
        listener();
      });
  }

  onAppend(chain: string, listener: () => void): () => void {
    const listeners = this.#listeners.get(chain) ?? new Set();
    this.#listeners.set(chain, listeners.add(listener));
    return () => {
      listeners.delete(listener);
    };
  }

  async close(): Promise<void> {
    this.#entries = [];
  }
}

function toRecord<T>({ key, json, version }: Entry): StoreRecord<T> {
  return { key, version, value: JSON.parse(json) as T };
}

function startsWith(key: StoreKey, prefix: StoreKey): boolean {
  return prefix.length <= key.length && prefix.every((part, index) => part === key[index]);
}

/** Part by part; a number before a text; texts by code points; a key before its own continuations. */
export function compareKeys(one: StoreKey, other: StoreKey): number {
  for (const [index, part] of one.entries()) {
    const against = other[index];
    if (against === undefined) return 1;
    if (typeof part !== typeof against) return typeof part === "number" ? -1 : 1;
    if (typeof part === "number" && typeof against === "number" && part !== against) return part - against;
    if (typeof part === "string" && typeof against === "string" && part !== against) return compareTexts(part, against);
  }
  return one.length - other.length;
}

function compareTexts(one: string, other: string): number {
  const left = Array.from(one, (letter) => letter.codePointAt(0)!);
  const right = Array.from(other, (letter) => letter.codePointAt(0)!);
  for (const [index, point] of left.entries()) {
    const against = right[index];
    if (against === undefined) return 1;
    if (point !== against) return point - against;
  }
  return left.length - right.length;
}
