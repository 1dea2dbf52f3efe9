/**
 * Whether a history of a register could have happened one operation after the other, each at one moment between its
 * call and its answer (J. Wing, C. Gong: Testing and verifying concurrent objects, 1993; with the memory of visited
 * states of G. Lowe: Testing for linearizability, 2017).
 */

export interface RegisterOperation {
  readonly kind: "read" | "write";
  /** What was read or written; undefined for a register that was never written. */
  readonly value: string | undefined;
  readonly calledAt: number;
  /** Infinity for a write whose outcome is unknown: it may have happened at any later time, or never. */
  readonly answeredAt: number;
}

/**
 * Returns whether the operations on one register have an order that explains all answers. Reads without an answer must
 * be left out.
 * @param first the value before all operations
 */
export function isLinearizable(operations: readonly RegisterOperation[], first: string | undefined): boolean {
  const history = [...operations].sort((a, b) => a.calledAt - b.calledAt);
  const visited = new Set<string>();
  const done = history.map(() => false);
  const stack: { readonly index: number; readonly before: string | undefined; next: number }[] = [];
  let value = first;
  let next = 0;
  for (;;) {
    if (history.every((operation, index) => done[index] || operation.answeredAt === Infinity)) return true;
    const index = candidate(history, done, { from: next, value });
    if (index !== undefined) {
      const after = valueAfter(history[index], value);
      done[index] = true;
      const state = `${done.map((isDone) => (isDone ? "1" : "0")).join("")} ${after ?? ""}`;
      if (!visited.has(state)) {
        visited.add(state);
        stack.push({ index, before: value, next: index + 1 });
        value = after;
        next = 0;
        continue;
      }
      done[index] = false;
      next = index + 1;
      continue;
    }
    const last = stack.pop();
    if (last === undefined) return false;
    done[last.index] = false;
    value = last.before;
    next = last.next;
  }
}

/** Returns the next operation that may come first of those that are left, and whose answer fits the value. */
function candidate(
  history: readonly RegisterOperation[],
  done: readonly boolean[],
  { from, value }: { readonly from: number; readonly value: string | undefined },
): number | undefined {
  let earliestAnswer = Infinity;
  for (const [index, { answeredAt }] of history.entries())
    if (done[index] !== true) earliestAnswer = Math.min(earliestAnswer, answeredAt);
  for (let index = from; index < history.length; index += 1) {
    const operation = history[index];
    if (operation === undefined || operation.calledAt > earliestAnswer) return undefined;
    if (done[index] === true) continue;
    if (operation.kind === "write" || operation.value === value) return index;
  }
  return undefined;
}

function valueAfter(operation: RegisterOperation | undefined, value: string | undefined): string | undefined {
  return operation?.kind === "write" ? operation.value : value;
}
