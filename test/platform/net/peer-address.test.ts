/** The text of a peer's address, from the bytes that the library gives. */
import { expect, it } from "vitest";
import { PeerAddresses } from "../../../src/platform/net/peer-address.js";

const peer = (
  ...bytes: number[]
): { getRemoteAddress: () => ArrayBuffer; getRemoteAddressAsText: () => ArrayBuffer } => ({
  getRemoteAddress: () => Uint8Array.from(bytes).buffer,
  getRemoteAddressAsText: () => Uint8Array.from(Buffer.from("as the library writes it")).buffer,
});
const mapped = (...bytes: number[]): number[] => [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, ...bytes];

it("is IPv4 text for an IPv4 peer of any socket, and IPv6 text otherwise", () => {
  const peers = new PeerAddresses();
  expect(peers.addressOf(peer(127, 0, 0, 1))).toBe("127.0.0.1");
  expect(peers.addressOf(peer(...mapped(127, 0, 0, 1)))).toBe("127.0.0.1");
  expect(peers.addressOf(peer(255, 255, 255, 254))).toBe("255.255.255.254");
  expect(peers.addressOf(peer(...mapped(0, 0, 0, 0)))).toBe("0.0.0.0");
  for (const other of [
    [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 10, 0, 0, 1],
    [...mapped(10, 0, 0, 1).slice(0, 10), 0xff, 0xfe, 10, 0, 0, 1],
    [1, ...mapped(10, 0, 0, 1).slice(1)],
    [],
  ]) {
    expect(peers.addressOf(peer(...other))).toBe("as the library writes it");
  }
});

it("is right for more peers than are cached", () => {
  const peers = new PeerAddresses();
  for (let index = 0; index < 10_000; index += 1)
    expect(peers.addressOf(peer(10, 0, index >> 8, index & 0xff))).toBe(
      `10.0.${String(index >> 8)}.${String(index & 0xff)}`,
    );
  expect(peers.addressOf(peer(10, 0, 0, 0))).toBe("10.0.0.0");
});
