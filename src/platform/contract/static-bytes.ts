/** Bytes that a route answers unchanged until the server stops: the API's document, a page, a script. */
import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { gzip } from "node:zlib";

/** They are sent often and compressed once. */
const LEVEL = 9;
const compress = promisify(gzip);

/** Content codings in which they can be sent (RFC 9110 section 8.4.1); who takes both alike gets the first. */
export const CODINGS = ["br", "gzip"] as const;
export type Coding = (typeof CODINGS)[number];

/** Bytes with what a cache asks for: their hash, and their compressed forms. */
export class StaticBytes {
  readonly bytes: Uint8Array;
  /** Lower-case hex. */
  readonly sha256: string;
  readonly #brotli: Uint8Array | undefined;
  #compressed: Promise<Uint8Array> | undefined;

  /** @param brotli their form in brotli, which the build makes; without it they are not sent in brotli */
  constructor(content: string | Uint8Array, brotli?: Uint8Array) {
    this.bytes = typeof content === "string" ? Buffer.from(content, "utf8") : content;
    this.sha256 = createHash("sha256").update(this.bytes).digest("hex");
    this.#brotli = brotli;
  }

  /** Returns whether they can be sent in this coding. */
  has(coding: Coding): boolean {
    return coding === "gzip" || this.#brotli !== undefined;
  }

  /** Returns them in a coding that they have; gzip is made once, off the event loop. */
  async encoded(coding: Coding): Promise<Uint8Array> {
    if (coding === "br" && this.#brotli !== undefined) return this.#brotli;
    this.#compressed ??= compress(this.bytes, { level: LEVEL });
    return await this.#compressed;
  }
}
