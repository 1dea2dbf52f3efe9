/**
 * What callers ask of transactions that are on their way: bump, cancel, and bytes that they signed themselves. The node
 * that sends transactions does it; another one asks that one and answers with what it stored.
 */
import type { Subject } from "../../../platform/auth/principal.js";
import type { StoreCommit } from "../../../platform/store/store.js";
import type { NonceQueues } from "../sending/nonce-queues.js";
import type { Replacements } from "../sending/replacements.js";
import type { SelfSigned } from "../self-signed.js";
import type { BroadcastTransactionInput, BumpTransactionInput, TransactionJson } from "../transaction-schemas.js";
import type { TransactionService } from "../transaction-service.js";
import type { AskedWishes } from "./asked-wishes.js";
import type { Wish } from "./wish-records.js";

export interface SendingRequestsDependencies {
  readonly service: TransactionService;
  readonly replacements: Replacements;
  readonly selfSigned: SelfSigned;
  readonly queues: Pick<NonceQueues, "isStarted">;
  readonly wishes: AskedWishes;
}

/** What the caller keeps with signed bytes. */
export interface KeptBroadcast {
  /** Returns what goes into the transaction's own commit, where this node stores it. */
  readonly made: (made: TransactionJson) => StoreCommit;
  /** Returns what goes into the commit by which another node is asked. */
  readonly asked: () => StoreCommit;
}

export class SendingRequests {
  readonly #dependencies: SendingRequestsDependencies;
  /** What this node does itself. */
  readonly #running = new Set<Promise<unknown>>();

  constructor(dependencies: SendingRequestsDependencies) {
    this.#dependencies = dependencies;
  }

  /** As `Replacements.bump`, and as `AskedWishes.ask` on another node. */
  async bump(owner: Subject, idOrRef: string, input: BumpTransactionInput): Promise<TransactionJson> {
    const { service, replacements, queues, wishes } = this.#dependencies;
    if (queues.isStarted) return await this.#doing(replacements.bump(owner, idOrRef, input));
    const { id } = service.find(owner, idOrRef).value;
    await wishes.ask(owner, { kind: "bump", transaction_id: id, input });
    return service.get(owner, id);
  }

  /** As `Replacements.cancel`, and as `AskedWishes.ask` on another node. */
  async cancel(owner: Subject, idOrRef: string): Promise<TransactionJson> {
    const { service, replacements, queues, wishes } = this.#dependencies;
    if (queues.isStarted) return await this.#doing(replacements.cancel(owner, idOrRef));
    const { id } = service.find(owner, idOrRef).value;
    await wishes.ask(owner, { kind: "cancel", transaction_id: id });
    return service.get(owner, id);
  }

  /** As `SelfSigned.broadcast`, and as `AskedWishes.ask` on another node. */
  async broadcast(owner: Subject, input: BroadcastTransactionInput, kept?: KeptBroadcast): Promise<TransactionJson> {
    const { service, selfSigned, queues, wishes } = this.#dependencies;
    if (queues.isStarted) return await this.#doing(selfSigned.broadcast(owner, input, { keep: kept?.made }));
    // What is no transaction need not be told to another node.
    selfSigned.check(owner, input);
    return service.get(owner, await wishes.ask(owner, { kind: "broadcast", input }, kept?.asked()));
  }

  /** Carries out what another node asked for; the transaction of `broadcast` gets the id. */
  async carryOut(owner: Subject, wish: Wish, id: string): Promise<void> {
    const { replacements, selfSigned } = this.#dependencies;
    switch (wish.kind) {
      case "bump":
        await replacements.bump(owner, wish.transaction_id, wish.input);
        return;
      case "cancel":
        await replacements.cancel(owner, wish.transaction_id);
        return;
      case "broadcast":
        await selfSigned.broadcast(owner, wish.input, { id });
    }
  }
  /** Resolves when what callers have asked of this node itself has ended. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#running);
  }

  async #doing<T>(work: Promise<T>): Promise<T> {
    this.#running.add(work);
    try {
      return await work;
    } finally {
      this.#running.delete(work);
    }
  }
}
