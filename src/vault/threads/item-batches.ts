/**
 * One item or a batch: tells them apart in a body, gives a batch to the worker in slices that leave the thread free for
 * other requests in between, and joins the outcomes in order. A refused item becomes its own list of errors.
 */
import { JsonText } from "../../platform/json/json-text.js";
import type { RefusedItem } from "../../platform/contract/refused-item.js";
import { AppError, assert, invalidMember } from "../../platform/errors.js";
import type { KeySpec } from "../key-specs/key-spec.js";
import type { ItemErrorsJson } from "../keys/operation-schemas.js";
import type { ItemOutcome, WorkerKind } from "../protocol.js";

/** The answer to a batch. */
export interface BatchJson<Result> {
  batch: (Result | ItemErrorsJson)[];
}

/** Operations at least this slow run on the bulk worker: on a prompt one the next request would wait for them. */
const SLOW_US = 1_500;
/** How long a slice occupies the bulk worker. Others wait that long; the round trip between threads is 1 % of it. */
const SLICE_US = 10_000;
const SLICE_ITEMS_MAX = 200;
/** Two, so that the worker has the next slice at hand when one ends. */
const SLICES_IN_FLIGHT = 2;
const [BATCH_START, COMMA, BATCH_END] = ['{"batch":[', ",", "]}"].map((text) => Buffer.from(text)) as [
  Buffer,
  Buffer,
  Buffer,
];

/** Returns the kind of worker that runs a single operation of a key. */
export function workerKindFor(spec: Pick<KeySpec, "operationUs">): WorkerKind {
  return spec.operationUs >= SLOW_US ? "bulk" : "prompt";
}

/** Returns the items of a body, and whether they were a batch. Throws `invalid_request` when a body has both forms. */
export function itemsOf<Item extends object>(
  input: Item & { readonly batch?: readonly Item[] },
): { readonly items: readonly Item[]; readonly isBatch: boolean } {
  if (input.batch === undefined) return { items: [input], isBatch: false };
  const { batch, ...item } = input;
  const other = Object.keys(item).find((name) => (item as Readonly<Record<string, unknown>>)[name] !== undefined);
  if (other !== undefined) throw invalidMember(other, `give one item or \`batch\`: \`${other}\` belongs in the items`);
  return { items: batch, isBatch: true };
}

/**
 * Runs slices of items, two at a time, until all are done. Returns the result of each slice, in order.
 * @param options.operationUs microseconds that one item takes; decides the length of a slice
 * @param options.signal its abort rejects before the next slice
 */
export async function runSlices<Item, Result>(
  items: readonly Item[],
  options: { readonly operationUs: number; readonly signal?: AbortSignal | undefined },
  run: (slice: readonly Item[]) => Promise<Result>,
): Promise<Result[]> {
  const length = Math.min(SLICE_ITEMS_MAX, Math.max(1, Math.floor(SLICE_US / options.operationUs)));
  const slices = Array.from({ length: Math.ceil(items.length / length) }, (_, index) =>
    items.slice(index * length, (index + 1) * length),
  );
  const results: Result[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    for (let index = next++; index < slices.length; index = next++) {
      options.signal?.throwIfAborted();
      results[index] = await run(slices[index] ?? []);
    }
  };
  await Promise.all(Array.from({ length: SLICES_IN_FLIGHT }, work));
  return results;
}

/** Returns the result of a single item, or a JsonText where the worker wrote it as JSON. Throws the item's failure. */
export function valueOf(outcome: ItemOutcome | undefined): object {
  assert(outcome !== undefined, "each item has an outcome");
  if (!outcome.ok) throw new AppError(outcome.code, { message: outcome.message, details: outcome.details });
  const { value } = outcome;
  return typeof value === "string" ? new JsonText(value) : value;
}

/** Returns the answer to a batch whose results are objects of the type `Result`. */
export function batchOf<Result>(outcomes: readonly ItemOutcome[]): BatchJson<Result> {
  return { batch: outcomes.map((outcome) => resultOf(outcome) as Result | ItemErrorsJson) };
}

/** Returns the outcomes of a slice as JSON in UTF-8, separated by commas. */
export function outcomesJson(outcomes: readonly ItemOutcome[]): Uint8Array {
  const texts = outcomes.map((outcome) =>
    outcome.ok && typeof outcome.value === "string" ? outcome.value : JSON.stringify(resultOf(outcome)),
  );
  // Memory of its own: a view on a shared pool would carry its neighbours along when it crosses threads. Joining the
  // texts first takes five times as long.
  const bytes = Buffer.allocUnsafeSlow(
    texts.reduce((sum, text) => sum + Buffer.byteLength(text), Math.max(0, texts.length - 1)),
  );
  let at = 0;
  for (const text of texts) {
    if (at > 0) at += COMMA.copy(bytes, at);
    at += bytes.write(text, at);
  }
  return bytes;
}

/** Returns the outcome of an item that its schema refused; undefined for other items. */
export function refusalOf(item: object): Extract<ItemOutcome, { ok: false }> | undefined {
  const { refused } = item as Partial<RefusedItem>;
  return refused === undefined
    ? undefined
    : { ok: false, code: "invalid_request", message: refused[0]?.message ?? "the item is refused", details: refused };
}

/** Joins slices that `outcomesJson` wrote into the answer to a batch, and overwrites them. */
export function joinedBatch<Result>(slices: readonly Uint8Array[]): JsonText<BatchJson<Result>> {
  const parts = slices.flatMap((slice, index) => (index === 0 ? [slice] : [COMMA, slice]));
  const text = new JsonText<BatchJson<Result>>(Buffer.concat([BATCH_START, ...parts, BATCH_END]));
  for (const slice of slices) slice.fill(0);
  return text;
}

/**
 * Runs the work for one item on the main thread. A refusal is the item's outcome; a failure with a status from 500 on
 * concerns the whole call and is thrown.
 */
export async function outcomeUnlessFault(work: () => Promise<object>): Promise<ItemOutcome> {
  try {
    return { ok: true, value: await work() };
  } catch (error) {
    if (!(error instanceof AppError) || error.status >= 500) throw error;
    return { ok: false, code: error.code, message: error.message, details: error.details };
  }
}

function resultOf(outcome: ItemOutcome): object | string {
  return outcome.ok ? outcome.value : { errors: [...outcome.details] };
}
