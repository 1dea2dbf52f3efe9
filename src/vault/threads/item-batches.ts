/**
 * One item or many: reads which a body means, hands many to the worker in slices that leave the thread free for others
 * in between, and puts the answers back in order. A failing item becomes its own list of errors.
 */
import { JsonText } from "../../platform/json/json-text.js";
import { AppError } from "../../platform/errors.js";
import type { KeySpec } from "../key-specs/key-spec.js";
import type { ItemErrorsJson } from "../keys/operation-schemas.js";
import type { ItemOutcome, VaultLane } from "../protocol.js";
import { invalidMember } from "../keys/validation.js";

/** A batch's answer. */
export interface BatchJson<Result> {
  batch: (Result | ItemErrorsJson)[];
}

/** Operations at least this slow leave the prompt thread, whose next task would otherwise wait for them. */
const SLOW_US = 1_500;
/** How long a slice keeps the bulk thread: others there wait for it, and the way there and back is 1 % of it. */
const SLICE_US = 10_000;
const SLICE_ITEMS_MAX = 200;
/** The thread has the next slice at hand when one ends. */
const SLICES_IN_FLIGHT = 2;
const [BATCH_START, COMMA, BATCH_END] = ['{"batch":[', ",", "]}"].map((text) => Buffer.from(text)) as [
  Buffer,
  Buffer,
  Buffer,
];

/** Where a single operation of a key runs. */
export function laneOf(spec: Pick<KeySpec, "operationUs">): VaultLane {
  return spec.operationUs >= SLOW_US ? "bulk" : "prompt";
}

/** The items of a body, and whether they were a batch. Throws when a body has both forms. */
export function itemsOf<Item extends object>(
  input: Item & { readonly batch?: readonly Item[] },
): { readonly items: readonly Item[]; readonly isBatch: boolean } {
  if (input.batch === undefined) return { items: [input], isBatch: false };
  const { batch, ...item } = input;
  const other = Object.keys(item).find((name) => (item as Readonly<Record<string, unknown>>)[name] !== undefined);
  if (other !== undefined)
    throw invalidMember(other, `give one item or \`batch\`: \`${other}\` belongs into the items`);
  return { items: batch, isBatch: true };
}

/**
 * Runs slices of items, two at a time and in order, until all are done or the signal fires. Answers what came of each
 * slice.
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

/** The answer of a single item; a JsonText of what came as JSON. Throws its failure. */
export function valueOf<Result>(outcome: ItemOutcome | undefined): Result {
  if (outcome === undefined) throw new Error("invariant broken: each item has an outcome");
  if (!outcome.ok) throw new AppError(outcome.code, { message: outcome.message, details: outcome.details });
  const { value } = outcome;
  return (typeof value === "string" ? new JsonText(value) : value) as Result;
}

/** The answer of a batch. */
export function batchOf<Result>(outcomes: readonly ItemOutcome[]): BatchJson<Result> {
  return { batch: outcomes.map((outcome) => answerOf<Result>(outcome)) };
}

/** The answers of a slice as JSON in UTF-8, with commas between them. */
export function answersJson(outcomes: readonly ItemOutcome[]): Uint8Array {
  const answers = outcomes.map((outcome) =>
    outcome.ok && typeof outcome.value === "string" ? outcome.value : JSON.stringify(answerOf(outcome)),
  );
  // Memory of its own: a view on a shared pool would carry its neighbours along when it crosses threads. Joining the
  // texts first takes five times as long.
  const bytes = Buffer.allocUnsafeSlow(
    answers.reduce((sum, answer) => sum + Buffer.byteLength(answer), Math.max(0, answers.length - 1)),
  );
  let at = 0;
  for (const answer of answers) {
    if (at > 0) at += COMMA.copy(bytes, at);
    at += bytes.write(answer, at);
  }
  return bytes;
}

/** The answer of a batch from those of its slices, as `answersJson` writes them; overwrites them. */
export function batchText<Result>(slices: readonly Uint8Array[]): JsonText<BatchJson<Result>> {
  const parts = slices.flatMap((slice, index) => (index === 0 ? [slice] : [COMMA, slice]));
  const text = new JsonText<BatchJson<Result>>(Buffer.concat([BATCH_START, ...parts, BATCH_END]));
  for (const slice of slices) slice.fill(0);
  return text;
}

function answerOf<Result>(outcome: ItemOutcome): Result | ItemErrorsJson {
  return outcome.ok ? (outcome.value as Result) : { errors: [...outcome.details] };
}

/** The outcome of work for one item: its refusal is an outcome too, anything else is not the item's. */
export async function outcomeOf(work: () => Promise<object>): Promise<ItemOutcome> {
  try {
    return { ok: true, value: await work() };
  } catch (error) {
    if (!(error instanceof AppError) || error.status >= 500) throw error;
    return { ok: false, code: error.code, message: error.message, details: error.details };
  }
}
