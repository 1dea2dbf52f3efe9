/**
 * The text of a socket's peer address. Most requests come from recent peers, and looking a text up costs less than
 * making it, so texts are cached.
 */
import { LRUCache } from "lru-cache";
import type { RawResponse } from "../http/drivers/driver.js";

const CACHED_MAX = 4096;
/** An IPv4 address of an IPv6 socket (RFC 4291, 2.5.5.2): zeros(10) || 0xffff(2) || address(4). */
const MAPPED_BYTES = 12;
const MAPPED_MARK = 0xffff;

export class PeerAddresses {
  /** By the four bytes of an IPv4 address as a number, big-endian. */
  readonly #texts = new LRUCache<number, string>({ max: CACHED_MAX });

  /** Returns IPv4 in dotted form, also from an IPv6 socket, and IPv6 as uWebSockets.js writes it. */
  addressOf(response: Pick<RawResponse, "getRemoteAddress" | "getRemoteAddressAsText">): string {
    const bytes = new DataView(response.getRemoteAddress());
    if (bytes.byteLength !== 4 && !isMapped(bytes))
      return Buffer.from(response.getRemoteAddressAsText()).toString("latin1");
    const number = bytes.getUint32(bytes.byteLength - 4);
    const cached = this.#texts.get(number);
    if (cached !== undefined) return cached;
    const text = [number >>> 24, (number >>> 16) & 0xff, (number >>> 8) & 0xff, number & 0xff].join(".");
    this.#texts.set(number, text);
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
