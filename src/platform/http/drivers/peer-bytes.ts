/** An IP address as bytes, and as the text that uWebSockets.js writes. */

/**
 * Returns the 4 bytes of an IPv4 address or the 16 of an IPv6 one (RFC 4291 section 2.2); none for any other text.
 * @param text as Node writes it; a zone behind `%` is dropped
 */
export function addressBytes(text: string): Uint8Array<ArrayBuffer> {
  const [plain = ""] = text.split("%");
  if (!plain.includes(":")) return plain === "" ? new Uint8Array(0) : dottedBytes(plain);
  const [left = [], right] = plain.split("::").map((part) => (part === "" ? [] : part.split(":").flatMap(groupBytes)));
  const bytes = new Uint8Array(16);
  bytes.set(left.slice(0, 16));
  if (right !== undefined) bytes.set(right.slice(-16), 16 - Math.min(right.length, 16));
  return bytes;
}

/** Returns an address in dotted form, or as eight groups of four digits. */
export function addressText(bytes: Uint8Array): string {
  if (bytes.length <= 4) return bytes.join(".");
  const digits = Buffer.from(bytes).toString("hex");
  return digits.match(/.{4}/g)?.join(":") ?? "";
}

function groupBytes(group: string): number[] {
  if (group.includes(".")) return [...dottedBytes(group)];
  const value = Number.parseInt(group, 16);
  return [value >>> 8, value & 0xff];
}

function dottedBytes(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(text.split(".").map(Number));
}
