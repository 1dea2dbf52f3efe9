/** Identifiers: random UUIDs (version 4) from the system's generator. An id names a thing; it is never a secret. */
import { randomUUID } from "node:crypto";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export function newId(): string {
  return randomUUID();
}

/** True for a UUID in its lower-case canonical spelling, the only one that keys of the store use. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/** The 16 bytes of a canonical UUID, as the vault's key derivation and associated data take them. */
export function uuidBytes(id: string): Uint8Array {
  if (!isUuid(id)) throw new TypeError("not a canonical UUID");
  return Uint8Array.from(Buffer.from(id.replaceAll("-", ""), "hex"));
}
