/**
 * Joins requests of one turn of the event loop for the same operation of the same key into one request: the key is
 * looked up and lent once, and some specs sign many items for less than each alone. The result is split again, an
 * answer to each request. A joint request that fails unexpectedly is separated, and each request runs alone.
 */
import { findKeySpec } from "../key-specs/table.js";
import type { ItemOutcome, OperateMessage, OperationItem, VaultRequest, VaultTaskResult } from "../protocol.js";

/** A request to the worker that stands for one request or several. */
export interface JointRequest<Waiting> {
  readonly request: VaultRequest;
  readonly waiting: readonly Waiting[];
}

/** Longest work of one joint request, whose first answer waits for the last. */
const JOINT_US = 1_000;
/** The same for slow signatures that share their check. Beyond four or five items, one more saves little. */
const SHARED_CHECK_US = 4_000;

/** Joins neighbours that may be joined; the others stay alone. Keeps the order. */
export function joinRequests<Waiting extends { readonly request: VaultRequest }>(
  all: readonly Waiting[],
): JointRequest<Waiting>[] {
  const groups: Waiting[][] = [];
  for (const one of all) {
    const last = groups.at(-1);
    if (last?.[0] !== undefined && mayJoin(last[0].request, one.request, last.length)) last.push(one);
    else groups.push([one]);
  }
  return groups.flatMap((waiting) =>
    waiting[0] === undefined ? [] : [{ request: jointOf(waiting[0].request, waiting), waiting }],
  );
}

/** Splits the result of a joint request into one for each waiting request. A failure of the whole is each one's. */
export function splitResult<Waiting extends { readonly request: VaultRequest }>(
  { waiting }: JointRequest<Waiting>,
  result: VaultTaskResult<unknown> | undefined,
): (VaultTaskResult<unknown> | undefined)[] {
  if (result?.ok !== true || waiting.length === 1) return waiting.map(() => result);
  const outcomes = result.value as readonly ItemOutcome[];
  let at = 0;
  return waiting.map(({ request }) => {
    const from = at;
    at += itemsOf(request).length;
    return { ok: true, value: outcomes.slice(from, at) };
  });
}

/**
 * Separates a joint request that failed by a fault of our own rather than because of its record or key: the fault may
 * lie in one of the requests, and the others get their answers. Running them again is safe: none was answered, and an
 * operation of a key has no side effects. Returns undefined where there is nothing to separate.
 */
export function separateAfterFault<Waiting extends { readonly request: VaultRequest }>(
  { waiting }: JointRequest<Waiting>,
  result: VaultTaskResult<unknown> | undefined,
): JointRequest<Waiting>[] | undefined {
  if (waiting.length === 1 || result?.ok !== false || result.code !== "internal_error") return undefined;
  return waiting.map((one) => ({ request: one.request, waiting: [one] }));
}

/** Only requests whose key and vault were read from the same record join: the owner of each may use the key. */
function mayJoin(first: VaultRequest, next: VaultRequest, count: number): boolean {
  if (first.task !== "operate" || next.task !== "operate") return false;
  const [one, other] = [first.message, next.message];
  if (one.key !== other.key || one.vault !== other.vault || one.operation !== other.operation) return false;
  return (
    isSingle(one) &&
    isSingle(other) &&
    (count + 1) * (findKeySpec(one.key.spec)?.operationUs ?? Infinity) <= limitUs(one)
  );
}

function isSingle({ items, earlier }: OperateMessage): boolean {
  return items.length === 1 && earlier.length === 0;
}

function limitUs({ key, operation }: OperateMessage): number {
  const spec = findKeySpec(key.spec);
  const sharesCheck =
    (operation === "sign" && spec?.signMany !== undefined) ||
    (operation === "verify" && spec?.verifyMany !== undefined);
  return sharesCheck ? SHARED_CHECK_US : JOINT_US;
}

function jointOf(first: VaultRequest, waiting: readonly { readonly request: VaultRequest }[]): VaultRequest {
  if (waiting.length === 1 || first.task !== "operate") return first;
  const items: OperationItem[] = [];
  // Pushed, because a flatMap over lists of one takes a microsecond for each.
  for (const { request } of waiting) items.push(...itemsOf(request));
  return { ...first, message: { ...first.message, items } };
}

function itemsOf({ task, message }: VaultRequest): readonly OperationItem[] {
  return task === "operate" ? message.items : [];
}
