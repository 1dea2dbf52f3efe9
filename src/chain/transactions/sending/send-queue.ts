/**
 * The order in which one account's signed bytes leave for its node: by nonce, as many in one request as are ready, and
 * one request at a time, so that a node never sees a nonce before the one below it.
 */
import type { RpcRefusal } from "../../rpc/rpc.js";
import { beginSend, endSend, type QueuedTransaction } from "./queued-transaction.js";
import type { SendOutcome } from "./refusal-sentences.js";

/** What came of sending; `unknown` when the node gave no sound answer. */
export type SendResult =
  | { readonly outcome: "accepted"; readonly refusal?: undefined }
  | { readonly outcome: "unknown"; readonly refusal?: undefined }
  /** Also `accepted`, when the node refused the bytes because it has them already. */
  | { readonly outcome: SendOutcome; readonly refusal: RpcRefusal };

/** Signed bytes, 0x-hex, and their transaction. */
export interface SignedBytes {
  readonly queued: QueuedTransaction;
  readonly raw: string;
}

export interface SendQueueDependencies {
  /** Sends to the node of the transactions, which all are of one network; results in their order. Never rejects. */
  readonly send: (signed: readonly SignedBytes[]) => Promise<readonly SendResult[]>;
  /** Acts on the result of one. Never rejects. */
  readonly conclude: (signed: SignedBytes, result: SendResult) => Promise<void>;
  readonly isStopped: () => boolean;
}

/** Of one request: what a node has worked off within some tenths of a second. */
const SENT_AT_ONCE = 64;

interface Position {
  readonly queued: QueuedTransaction;
  /** Resolves when `isReady` is true. */
  readonly ready: Promise<void>;
  isReady: boolean;
  raw: string | undefined;
}

export class SendQueue {
  readonly #dependencies: SendQueueDependencies;
  readonly #positions: Position[] = [];
  readonly #concluding = new Set<Promise<void>>();
  #draining: Promise<void> | undefined;

  constructor(dependencies: SendQueueDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Appends a transaction.
   * @param raw the bytes once they are durable, or undefined when there is nothing to send. Never rejects
   */
  add(queued: QueuedTransaction, raw: Promise<string | undefined>): void {
    queued.state = beginSend(queued.state);
    const position: Position = {
      queued,
      isReady: false,
      raw: undefined,
      ready: raw.then((bytes) => {
        position.raw = bytes;
        position.isReady = true;
      }),
    };
    this.#positions.push(position);
    this.#draining ??= this.#drain().finally(() => {
      this.#draining = undefined;
    });
  }

  /** Resolves when nothing is under way. */
  async settled(): Promise<void> {
    while (this.#draining !== undefined || this.#concluding.size > 0)
      await Promise.all([this.#draining, ...this.#concluding]);
  }

  async #drain(): Promise<void> {
    for (let [first] = this.#positions; first !== undefined; [first] = this.#positions) {
      await first.ready;
      const signed = this.#takeReady();
      if (signed.length === 0) continue;
      const results = await this.#dependencies.send(signed);
      for (const [at, one] of signed.entries()) this.#conclude(one, results[at] ?? { outcome: "unknown" });
    }
  }

  /** Takes what is ready at the head, of one network. */
  #takeReady(): SignedBytes[] {
    const signed: SignedBytes[] = [];
    for (
      let [position] = this.#positions;
      position?.isReady === true && signed.length < SENT_AT_ONCE;
      [position] = this.#positions
    ) {
      const { queued, raw } = position;
      const [first] = signed;
      if (first !== undefined && !isOfOneNetwork(first.queued, queued)) break;
      this.#positions.shift();
      if (raw === undefined || this.#dependencies.isStopped()) queued.state = endSend(queued.state);
      else signed.push({ queued, raw });
    }
    return signed;
  }

  /** Acts on one result while the next bytes are sent. */
  #conclude(signed: SignedBytes, result: SendResult): void {
    const concluding = this.#dependencies.conclude(signed, result).finally(() => {
      signed.queued.state = endSend(signed.queued.state);
      this.#concluding.delete(concluding);
    });
    this.#concluding.add(concluding);
  }
}

function isOfOneNetwork(one: QueuedTransaction, other: QueuedTransaction): boolean {
  return one.networkId === other.networkId && one.owner.id === other.owner.id;
}
