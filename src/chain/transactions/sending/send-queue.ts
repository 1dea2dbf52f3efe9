/**
 * The line of one lane towards its node: signed bytes leave in the order of their nonces, as many in one request as are
 * ready, and one request at a time, so that a node never sees a nonce before the one below it.
 */
import type { QueuedTransaction } from "./queued-transaction.js";
import type { SendOutcome } from "./refusals.js";
import type { RpcRefusal } from "../../rpc/rpc.js";

/** What came of sending; `unknown` when the node gave no sound answer. */
export interface SendResult {
  readonly outcome: SendOutcome | "unknown";
  /** Also with `accepted`, when the node said that it has the bytes already. */
  readonly refusal?: RpcRefusal;
}

/** Signed bytes, 0x-hex, and whose they are. */
export interface SignedBytes {
  readonly entry: QueuedTransaction;
  readonly raw: string;
}

export interface SendQueueDependencies {
  /** Sends to the node of the entries, which all are of one network; outcomes in the same order. Never rejects. */
  readonly send: (signed: readonly SignedBytes[]) => Promise<readonly SendResult[]>;
  /** Records what came of one. Never rejects. */
  readonly conclude: (signed: SignedBytes, sent: SendResult) => Promise<void>;
  readonly isStopped: () => boolean;
}

/** Of one request: what a node has worked off within some tenths of a second. */
const SENT_AT_ONCE = 64;

interface Place {
  readonly entry: QueuedTransaction;
  readonly ready: Promise<void>;
  isReady: boolean;
  raw: string | undefined;
}

export class SendQueue {
  readonly #dependencies: SendQueueDependencies;
  readonly #places: Place[] = [];
  readonly #concluding = new Set<Promise<void>>();
  #draining: Promise<void> | undefined;

  constructor(dependencies: SendQueueDependencies) {
    this.#dependencies = dependencies;
  }

  /** @param raw the bytes once they are durable, or undefined when there is nothing to send. Never rejects */
  add(entry: QueuedTransaction, raw: Promise<string | undefined>): void {
    const place: Place = {
      entry,
      isReady: false,
      raw: undefined,
      ready: raw.then((bytes) => {
        Object.assign(place, { isReady: true, raw: bytes } satisfies Partial<Place>);
      }),
    };
    this.#places.push(place);
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
    for (let [first] = this.#places; first !== undefined; [first] = this.#places) {
      await first.ready;
      const signed = this.#takeReady();
      if (signed.length === 0) continue;
      const sent = await this.#dependencies.send(signed);
      for (const [at, one] of signed.entries()) this.#conclude(one, sent[at] ?? { outcome: "unknown" });
    }
  }

  /** What is ready at the head of the line, of one network. */
  #takeReady(): SignedBytes[] {
    const signed: SignedBytes[] = [];
    for (let [place] = this.#places; place?.isReady === true && signed.length < SENT_AT_ONCE; [place] = this.#places) {
      const { entry, raw } = place;
      const [first] = signed;
      if (first !== undefined && (first.entry.networkId !== entry.networkId || first.entry.owner.id !== entry.owner.id))
        break;
      this.#places.shift();
      if (raw === undefined || this.#dependencies.isStopped()) entry.isSending = false;
      else signed.push({ entry, raw });
    }
    return signed;
  }

  /** While the next ones are sent. */
  #conclude(signed: SignedBytes, sent: SendResult): void {
    const concluding = this.#dependencies.conclude(signed, sent).finally(() => {
      signed.entry.isSending = false;
      this.#concluding.delete(concluding);
    });
    this.#concluding.add(concluding);
  }
}
