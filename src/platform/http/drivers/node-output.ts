/** Where an answer's bytes go: to Node's own response, or straight to a connection that has none. */
import type { Socket } from "node:net";

/** The part of http.ServerResponse that answers are written to. */
export interface AnswerOutput {
  /** @param fields names and values in turn */
  writeHead(status: number, reason: string, fields: string[]): unknown;
  /** Sends the head, where it was only kept. */
  flushHeaders(): unknown;
  /** @param onSent called when the bytes are handed to the system, or never will be */
  write(bytes: string | Uint8Array, onSent: () => void): unknown;
  end(bytes: string | Uint8Array): unknown;
}

/** The last answer of a connection that Node's parser has given up or handed over. */
export class LastOutput implements AnswerOutput {
  readonly #socket: Socket;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Writes the head as it is given. */
  writeHead(status: number, reason: string, fields: string[]): void {
    let head = `HTTP/1.1 ${String(status)} ${reason}\r\n`;
    for (let index = 0; index + 1 < fields.length; index += 2)
      head += `${fields[index] ?? ""}: ${fields[index + 1] ?? ""}\r\n`;
    const date = fields.includes("Date") ? "" : `Date: ${new Date().toUTCString()}\r\n`;
    this.#socket.write(`${head}${date}\r\n`, "latin1");
  }

  /** Does nothing: the head is out. */
  flushHeaders(): void {
    // See above.
  }

  /** Writes a piece of the body. */
  write(bytes: string | Uint8Array, onSent: () => void): void {
    this.#socket.write(bytes, onSent);
  }

  /** Writes the rest of the body; whoever holds the connection ends it. */
  end(bytes: string | Uint8Array): void {
    if (bytes.length > 0) this.#socket.write(bytes);
  }
}
