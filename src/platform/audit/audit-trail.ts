/**
 * Records what requests do. Each handler runs in a scope, and every commit on an audited store inside the scope carries
 * the request's event, so that change and record are one commit and the services need not know of it. A request that
 * commits nothing is recorded before its answer is sent (`durable`), or handed to the writer before its answer is sent
 * (`deferred`). Commits on an audited store outside any request are recorded as the service's own.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { SUBJECT_KINDS } from "../auth/principal.js";
import { AppError } from "../errors.js";
import type { Log } from "../log.js";
import { mergeCommits } from "../store/commits.js";
import type { Store, StoreCommit, StoreKey } from "../store/store.js";
import type { AuditEvent } from "./audit-event.js";
import type { AuditPort } from "./audit-log.js";

/** An event without its outcome, which is known only after the handler has run. */
export type AuditContext = Omit<AuditEvent, "outcome" | "code" | "objects">;

/**
 * `durable`: the event is on disk before the answer is sent. `deferred`: the event is queued for the writer before the
 * answer is sent, and the answer does not wait for the disk; a crash within that time loses the event.
 */
export type AuditMode = "durable" | "deferred";

export interface RecordedWork<T> {
  readonly work: () => T | Promise<T>;
  /** Called with the result when it could not be recorded and is therefore not returned. */
  readonly discard?: ((value: T) => void) | undefined;
}

interface Scope {
  readonly context: AuditContext;
  recorded: number;
  subject: string | undefined;
  isOpen: boolean;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const KINDS: ReadonlySet<string> = new Set(SUBJECT_KINDS);
/** Objects named in one event; a deletion of a prefix names the prefix only. */
const OBJECTS_MAX = 16;
const SERVICE_ACTION = "service.commit";

export class AuditTrail {
  readonly #audit: AuditPort;
  readonly #log: Log;
  readonly #scopes = new AsyncLocalStorage<Scope>();
  #openScopes = 0;

  constructor(dependencies: { readonly audit: AuditPort; readonly log: Log }) {
    this.#audit = dependencies.audit;
    this.#log = dependencies.log;
  }

  /**
   * Runs a request's work and records it. A failure is recorded as refused and rethrown.
   * @throws audit_unavailable when the event could not be recorded; the result is passed to `discard` instead
   */
  run<T>(context: AuditContext, mode: AuditMode, { work, discard }: RecordedWork<T>): Promise<T> {
    const scope = newScope(context);
    return this.#recorded(scope, mode, { work: () => this.#inScope(scope, work), discard });
  }

  /**
   * Does the same for work that commits nothing on an audited store, such as a signature, without the cost of a scope.
   * A commit that happens nevertheless is recorded as the service's own.
   */
  runUse<T>(context: AuditContext, mode: AuditMode, work: RecordedWork<T>): Promise<T> {
    return this.#recorded(newScope(context), mode, work);
  }

  async #recorded<T>(scope: Scope, mode: AuditMode, { work, discard }: RecordedWork<T>): Promise<T> {
    let value: T;
    try {
      value = await work();
    } catch (error) {
      // Throttled requests are not recorded, as those that the HTTP front throttles: strangers could fill the disk.
      if (error instanceof AppError && error.code === "too_many_requests" && scope.recorded === 0) throw error;
      await this.#audit.append({
        outcome: "refused",
        code: error instanceof AppError ? error.code : "internal_error",
        ...contextOf(scope),
      });
      throw error;
    }
    if (scope.recorded > 0) return value;
    // The spread comes last: adding a member to a spread copy costs three times as much as the copy.
    const recorded = this.#audit.append({ outcome: "ok", ...contextOf(scope) });
    if (mode === "deferred") {
      recorded.catch(() => {
        this.#log.warn("an event was not recorded", { kind: scope.context.action });
      });
      return value;
    }
    try {
      await recorded;
    } catch (error) {
      discard?.(value);
      throw error;
    }
    return value;
  }

  /**
   * Node hooks every promise of the process while a scope is open, which slows all requests by a sixth. Therefore the
   * last scope to close switches the hooks off. Work that a request leaves running belongs to no request from then on,
   * whether other scopes are open or not.
   */
  async #inScope<T>(scope: Scope, work: () => T | Promise<T>): Promise<T> {
    this.#openScopes += 1;
    try {
      return await this.#scopes.run(scope, async () => await work());
    } finally {
      scope.isOpen = false;
      this.#openScopes -= 1;
      if (this.#openScopes === 0) this.#scopes.disable();
    }
  }

  /** Returns the scope of the request that the current work belongs to. */
  #scope(): Scope | undefined {
    const scope = this.#scopes.getStore();
    return scope?.isOpen === true ? scope : undefined;
  }

  /** Records an event of the service itself; inside a request the event also names the caller. */
  async append(event: AuditEvent): Promise<void> {
    const scope = this.#scope();
    await this.#audit.append(scope === undefined ? event : { ...contextOf(scope), ...event });
    if (scope !== undefined) scope.recorded += 1;
  }

  /** Returns the store with recording: a commit is recorded when it changes a table for which `isAudited` is true. */
  audited(store: Store, isAudited: (table: string) => boolean): Store {
    return {
      get: (key) => store.get(key),
      range: (prefix, options) => store.range(prefix, options),
      count: (prefix) => store.count(prefix),
      ...(store.revision === undefined ? {} : { revision: store.revision.bind(store) }),
      close: async () => {
        await store.close();
      },
      commit: async (commit) => {
        await this.#commit(store, commit, isAudited);
      },
    };
  }

  async #commit(store: Store, commit: StoreCommit, isAudited: (table: string) => boolean): Promise<void> {
    const touched = touchedRecords(commit, isAudited);
    if (touched.length === 0) {
      await store.commit(commit);
      return;
    }
    const scope = this.#scope();
    if (scope !== undefined) scope.subject ??= sessionSubject(touched);
    const event: AuditEvent = {
      ...(scope === undefined ? { action: SERVICE_ACTION } : contextOf(scope)),
      outcome: "ok",
      objects: this.#describe(touched),
    };
    await store.commit(mergeCommits(commit, this.#audit.record(event)));
    if (scope !== undefined) scope.recorded += 1;
  }

  #describe(touched: readonly Touched[]): string[] {
    const objects = touched
      .slice(0, OBJECTS_MAX)
      .map(
        ({ change, key }) =>
          `${change} ${key.map((part, index) => (index === 0 ? String(part) : auditedPart(part, this.#audit))).join("/")}`,
      );
    return touched.length > OBJECTS_MAX ? [...objects, `and ${String(touched.length - OBJECTS_MAX)} more`] : objects;
  }
}

/**
 * Returns a part of a key or a path as the log may hold it: ids and kinds of subject as they are, and the keyed hash of
 * anything else, which may be a name or a token.
 */
export function auditedPart(part: string | number, audit: Pick<AuditPort, "hashName">): string {
  return typeof part === "number" || UUID.test(part) || KINDS.has(part) ? String(part) : `~${audit.hashName(part)}`;
}

interface Touched {
  readonly change: "put" | "delete";
  readonly key: StoreKey;
}

/** Returns the changed records. Index and unique entries, marked by # or ! in the table name, are left out. */
function touchedRecords(commit: StoreCommit, isAudited: (table: string) => boolean): Touched[] {
  const isRecord = (key: StoreKey): boolean => typeof key[0] === "string" && !/[#!]/.test(key[0]) && isAudited(key[0]);
  return [
    ...(commit.puts ?? []).map(({ key }): Touched => ({ change: "put", key })),
    ...[...(commit.deletes ?? []), ...(commit.deletePrefixes ?? [])].map((key): Touched => ({ change: "delete", key })),
  ].filter(({ key }) => isRecord(key));
}

/** Returns the subject whose session a commit opens. A session's key begins with the kind and id of its subject. */
function sessionSubject(touched: readonly Touched[]): string | undefined {
  const key = touched.find((record) => record.change === "put" && record.key[0] === "session")?.key;
  return key === undefined ? undefined : `${String(key[1])}:${String(key[2])}`;
}

function newScope(context: AuditContext): Scope {
  return { context, recorded: 0, subject: undefined, isOpen: true };
}

function contextOf(scope: Scope): AuditContext {
  return scope.context.subject !== undefined || scope.subject === undefined
    ? scope.context
    : { ...scope.context, subject: scope.subject };
}
