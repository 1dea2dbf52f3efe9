/** Identifiers: random UUIDs of version 4 (RFC 9562) from the system's generator. An id is never a secret. */
import { randomUUID } from "node:crypto";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Returns a new random UUID in its canonical spelling. */
export function newId(): string {
  return randomUUID();
}

/** True for a UUID in its canonical lower-case spelling, the only one in keys of the store. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/** Returns the 16 bytes of a canonical UUID, the form that the vault's key derivation and associated data use. */
export function uuidBytes(id: string): Uint8Array {
  if (!isUuid(id)) throw new TypeError("not a canonical UUID");
  return Uint8Array.from(Buffer.from(id.replaceAll("-", ""), "hex"));
}
