/** Sends the body of an answer piece by piece, as its reader takes them. */
import type { Clock } from "../../clock.js";
import { nextTurn } from "../../concurrency/next-turn.js";
import { STREAM_CHUNK_BYTES } from "../limits/limits.js";
import type { Exchange } from "../request/exchange.js";
import { writeHead, type Answer, type BodySource } from "./answer.js";

/**
 * Sends an answer with a body of at least one byte. Resolves when the last piece is out, or the client is gone. Where
 * the answer is the last one of its connection, closes the connection; see `sendAnswer`.
 * @throws data_corrupt or the source's other failures, with the connection closed
 */
export async function sendPieces(exchange: Exchange, answer: Answer, source: BodySource, clock: Clock): Promise<void> {
  if (exchange.endsConnection && source.bytes === 1) {
    await sendOnlyByte(exchange, answer, source);
    return;
  }
  const pieces = exchange.endsConnection ? withLastByteApart(source) : source;
  let piece: Uint8Array | undefined = await pieces.read(0, STREAM_CHUNK_BYTES);
  if (!exchange.isOpen) return;
  exchange.startSending(answer.status, clock.monotonicMs());
  const writer = new PieceWriter(exchange, source.bytes, clock);
  for (let offset = 0; piece !== undefined;) {
    await writer.write(piece, offset, offset === 0 ? answer : undefined);
    offset += piece.length;
    piece = await nextPiece(exchange, pieces, offset);
  }
  if (exchange.endsConnection) exchange.finishAndClose();
}

/**
 * Sends the last answer of a connection where its body is one byte, which cannot be held back. The library has parsed
 * what it read before the turn is over: a request that came behind is refused by closing the connection.
 */
async function sendOnlyByte(exchange: Exchange, answer: Answer, source: BodySource): Promise<void> {
  await nextTurn();
  const byte = await source.read(0, 1);
  if (!exchange.isOpen) return;
  const { response } = exchange;
  response.cork(() => {
    // The library says that it closes, unless the client did.
    writeHead(exchange, answer, exchange.head.saysClose);
    response.end(byte, true);
  });
  exchange.finish(answer.status);
}

/**
 * Holds the last byte back for a turn. Within a cork the library takes every short piece; whether the socket took it
 * all shows when the next piece is offered.
 */
function withLastByteApart(source: BodySource): Pick<BodySource, "bytes" | "read"> {
  const last = source.bytes - 1;
  return {
    bytes: source.bytes,
    read: async (offset, bytesMax) => {
      if (offset < last) return await source.read(offset, Math.min(bytesMax, last - offset));
      await nextTurn();
      return await source.read(offset, 1);
    },
  };
}

/** Reads the piece at `offset`; undefined at the end of the body, and when the client is gone. */
async function nextPiece(
  exchange: Exchange,
  source: Pick<BodySource, "bytes" | "read">,
  offset: number,
): Promise<Uint8Array | undefined> {
  if (!exchange.isSending || offset >= source.bytes) return undefined;
  try {
    return await source.read(offset, STREAM_CHUNK_BYTES);
  } catch (error) {
    // The head is out: the connection can only be closed short of the promised length.
    exchange.closeUnlessDone();
    throw error;
  }
}

/**
 * Writes pieces to the socket, one at a time, each until the socket has taken all of it. There is one writable handler
 * for the whole body: when a handler sets another one while it runs, the library restores the old one afterwards.
 */
class PieceWriter {
  readonly #exchange: Exchange;
  readonly #totalBytes: number;
  readonly #clock: Clock;
  /** Continues with the piece that the socket took only in part. */
  #resume: ((offset: number) => boolean) | undefined;

  constructor(exchange: Exchange, totalBytes: number, clock: Clock) {
    this.#exchange = exchange;
    this.#totalBytes = totalBytes;
    this.#clock = clock;
    exchange.response.onWritable((offset) => this.#resume?.(offset) ?? true);
  }

  /**
   * Resolves when the socket has taken the piece, or the client is gone.
   * @param start offset of the piece in the body
   * @param head written before the first piece
   */
  write(piece: Uint8Array, start: number, head: Answer | undefined): Promise<void> {
    return new Promise((resolve) => {
      this.#exchange.whenClosed(resolve);
      let unsentHead = head;
      const resume = (offset: number): boolean => {
        const taken = this.#tryWrite(piece.subarray(offset - start), unsentHead);
        unsentHead = undefined;
        this.#resume = taken ? undefined : resume;
        if (taken) resolve();
        return taken;
      };
      resume(start);
    });
  }

  #tryWrite(bytes: Uint8Array, head: Answer | undefined): boolean {
    const exchange = this.#exchange;
    if (!exchange.isSending) return true;
    let taken = false;
    exchange.response.cork(() => {
      if (head !== undefined) writeHead(exchange, head);
      const [ok, hasResponded] = exchange.response.tryEnd(bytes, this.#offeredBytes(head !== undefined));
      taken = ok || hasResponded;
      if (hasResponded) exchange.finish(exchange.status);
    });
    exchange.progressAtMs = this.#clock.monotonicMs();
    return taken;
  }

  /**
   * The first call makes Content-Length of the total that it is given, later ones only compare with it: one more than
   * there are, where the answer must not be finished by its last byte. The first piece of such an answer is never the
   * whole of it.
   */
  #offeredBytes(isFirst: boolean): number {
    return this.#exchange.endsConnection && !isFirst ? this.#totalBytes + 1 : this.#totalBytes;
  }
}
