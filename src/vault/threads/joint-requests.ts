/**
 * Requests of one turn that want the same of the same key, as one request: the key is named, found and lent once, and
 * some specs sign many items for less than each by itself. What comes back is dealt out again, an answer to each; what
 * fails unexpectedly is parted again.
 */
import { findKeySpec } from "../key-specs/table.js";
import type { ItemOutcome, OperateMessage, VaultRequest, VaultTaskResult } from "../protocol.js";

/** What goes to the thread as one, for one request or several. */
export interface JointRequest<Waiting> {
  readonly request: VaultRequest;
  readonly waiting: readonly Waiting[];
}

/** Work of one joint request: its first answer waits for the last. */
const JOINT_US = 1_000;
/** The same for slow signatures that share their check. Beyond four or five items each of them saves little more. */
const SHARED_CHECK_US = 4_000;

/** Joins neighbours that may go as one; the others stay by themselves. */
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

/** What came of a joint request, for each that waits; what failed as a whole failed for all. */
export function dealOut<Waiting extends { readonly request: VaultRequest }>(
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
 * What failed for no reason that concerns its record or its key, each for itself: the fault may lie in one of them, and
 * the others get their answers. Nothing of it has been answered, and an operation of a key leaves nothing behind.
 * Undefined where there is nothing to part.
 */
export function partedAfter<Waiting extends { readonly request: VaultRequest }>(
  { waiting }: JointRequest<Waiting>,
  result: VaultTaskResult<unknown> | undefined,
): JointRequest<Waiting>[] | undefined {
  if (waiting.length === 1 || result?.ok !== false || result.code !== "internal_error") return undefined;
  return waiting.map((one) => ({ request: one.request, waiting: [one] }));
}

/** Only what was read from one and the same record joins: whoever may use the key may use it for each. */
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
  const items: unknown[] = [];
  // Pushed: a flatMap over lists of one takes a microsecond for each.
  for (const { request } of waiting) items.push(...itemsOf(request));
  return { ...first, message: { ...first.message, items } };
}

function itemsOf({ task, message }: VaultRequest): readonly unknown[] {
  return task === "operate" ? message.items : [];
}
