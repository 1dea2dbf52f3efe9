/**
 * Text of a socket's peer. Most requests come from peers that were just there: their texts are kept, because making one
 * costs more than finding it.
 */
import type { RawResponse } from "../http/uws.js";

const KNOWN_MAX = 4096;
/** An IPv4 address that came through an IPv6 socket (RFC 4291, 2.5.5.2): twelve bytes, then the address. */
const MAPPED_BYTES = 12;
const MAPPED_MARK = 0xffff;

export class PeerAddresses {
  /** By the four bytes of an IPv4 address as a number. */
  readonly #known = new Map<number, string>();

  /** IPv4 in dotted form, also where it came through an IPv6 socket; IPv6 as the library writes it. */
  addressOf(response: Pick<RawResponse, "getRemoteAddress" | "getRemoteAddressAsText">): string {
    const bytes = new DataView(response.getRemoteAddress());
    if (bytes.byteLength !== 4 && !isMapped(bytes))
      return Buffer.from(response.getRemoteAddressAsText()).toString("latin1");
    const number = bytes.getUint32(bytes.byteLength - 4);
    let text = this.#known.get(number);
    if (text === undefined) {
      text = [number >>> 24, (number >>> 16) & 0xff, (number >>> 8) & 0xff, number & 0xff].join(".");
      if (this.#known.size >= KNOWN_MAX) this.#known.clear();
      this.#known.set(number, text);
    }
    return text;
  }
}

function isMapped(bytes: DataView): boolean {
  return (
    bytes.byteLength === MAPPED_BYTES + 4 &&
    bytes.getUint32(0) === 0 &&
    bytes.getUint32(4) === 0 &&
    bytes.getUint32(8) === MAPPED_MARK
  );
}
