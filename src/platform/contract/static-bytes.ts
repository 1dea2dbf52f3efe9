/** Bytes that a route answers unchanged until the server stops: the API's document, a page, a script. */
import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { gzip } from "node:zlib";

/** They are sent often and compressed once. */
const LEVEL = 9;
const compress = promisify(gzip);

/** Bytes with what a cache asks for: their hash, and their compressed form. */
export class StaticBytes {
  readonly bytes: Uint8Array;
  /** Lower-case hex. */
  readonly sha256: string;
  #compressed: Promise<Uint8Array> | undefined;

  constructor(content: string | Uint8Array) {
    this.bytes = typeof content === "string" ? Buffer.from(content, "utf8") : content;
    this.sha256 = createHash("sha256").update(this.bytes).digest("hex");
  }

  /** Returns them compressed by gzip; the work is done off the event loop, and once. */
  async gzipped(): Promise<Uint8Array> {
    this.#compressed ??= compress(this.bytes, { level: LEVEL });
    return await this.#compressed;
  }
}
