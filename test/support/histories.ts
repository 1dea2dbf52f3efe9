/** Clients that read and write over HTTP on any node, and note what they asked, when, and what came of it. */
import type { RegisterOperation } from "./linearizability.js";
import type { SeededRandom } from "./seeded.js";

/** What became of a request: done, surely not done, or nobody knows. */
type Outcome = { readonly state: "done"; readonly json: unknown } | { readonly state: "refused" | "unknown" };

/** Codes by which the server says that nothing was written. */
const REFUSED: ReadonlySet<string> = new Set([
  "store_unreachable",
  "replica_behind",
  "conflict",
  "shutting_down",
  "overloaded",
]);

/** How long a client waits for an answer: a node that hangs must not keep all of them. */
const PATIENCE_MS = 4_000;

export interface Register {
  readonly id: string;
  readonly operations: RegisterOperation[];
}

export interface ClientOptions {
  /** Address of a node, which changes when the node starts anew. */
  readonly urls: () => readonly string[];
  readonly token: string;
  readonly random: SeededRandom;
  readonly registers: readonly Register[];
  readonly isOver: () => boolean;
}

/** What the clients of a set were told. */
export interface SetHistory {
  readonly added: string[];
  readonly unknown: Set<string>;
}

/** Writes and reads the names of applications until it is over, one request at a time. */
export async function useRegisters(name: string, options: ClientOptions): Promise<void> {
  const { random, registers, isOver } = options;
  for (let count = 0; !isOver(); count += 1) {
    const { id, operations } = random.pick(registers);
    const path = `/api/v1/applications/${id}`;
    const value = `${name} ${String(count)}`;
    const isWrite = random.chance(0.4);
    const calledAt = performance.now();
    const outcome = isWrite
      ? await send(options, { method: "PUT", path, body: { name: value } })
      : await send(options, { method: "GET", path });
    const answeredAt = outcome.state === "done" ? performance.now() : Infinity;
    if (isWrite && outcome.state !== "refused") operations.push({ kind: "write", value, calledAt, answeredAt });
    if (!isWrite && outcome.state === "done")
      operations.push({ kind: "read", value: (outcome.json as { name: string }).name, calledAt, answeredAt });
  }
}

/** Adds vaults until it is over. */
export async function useSet(name: string, options: ClientOptions, history: SetHistory): Promise<void> {
  for (let count = 0; !options.isOver(); count += 1) {
    const member = `${name} ${String(count)}`;
    const { state } = await send(options, { method: "POST", path: "/api/v1/vaults", body: { name: member } });
    if (state === "done") history.added.push(member);
    if (state === "unknown") history.unknown.add(member);
  }
}

async function send(
  { urls, token, random }: ClientOptions,
  { method, path, body }: { readonly method: string; readonly path: string; readonly body?: unknown },
): Promise<Outcome> {
  try {
    const answer = await fetch(`${random.pick(urls())}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const text = await answer.text();
    const json: unknown = text === "" ? undefined : JSON.parse(text);
    if (answer.ok) return { state: "done", json };
    const { errors = [] } = json as { errors?: readonly { readonly code: string }[] };
    return { state: errors.some(({ code }) => REFUSED.has(code)) ? "refused" : "unknown" };
  } catch (error) {
    // A node that takes no connections was not asked; one that was killed or hangs may have done it, or do it yet.
    const { cause } = error as { readonly cause?: { readonly code?: unknown } };
    return { state: cause?.code === "ECONNREFUSED" ? "refused" : "unknown" };
  }
}
