/**
 * Frames of a WebSocket as a client reads and writes them (RFC 6455, section 5). Pure.
 *
 *   FIN(1 bit) RSV(3) opcode(4) || MASK(1) length(7) [length(16 or 64)] || [mask(4)] || payload
 */
import { randomBytes } from "node:crypto";

export type FrameKind = "continuation" | "text" | "binary" | "close" | "ping" | "pong";

export interface Frame {
  readonly kind: FrameKind;
  /** The last one of its message. */
  readonly isFinal: boolean;
  readonly payload: Buffer;
  /** Where the next frame begins. */
  readonly end: number;
}

const OPCODES: Readonly<Record<FrameKind, number>> = { continuation: 0x0, text: 0x1, binary: 0x2, close: 0x8, ping: 0x9, pong: 0xa };
const KINDS: ReadonlyMap<number, FrameKind> = new Map(Object.entries(OPCODES).map(([kind, opcode]) => [opcode, kind as FrameKind]));
const FINAL = 0x80;
const RESERVED = 0x70;
const MASKED = 0x80;
/** Of frames about the connection itself (section 5.5). */
const CONTROL_BYTES_MAX = 125;

/** The frame at the start of the bytes: undefined while not all of it is there, `unsound` for one that no server may send, or that is longer than `payloadBytesMax`. */
export function readFrame(bytes: Buffer, payloadBytesMax: number): Frame | "unsound" | undefined {
  if (bytes.length < 2) return undefined;
  const [first = 0, second = 0] = bytes;
  const kind = KINDS.get(first & 0x0f);
  const isFinal = (first & FINAL) !== 0;
  const short = second & 0x7f;
  const isControl = (first & 0x08) !== 0;
  if (kind === undefined || (first & RESERVED) !== 0 || (second & MASKED) !== 0 || (isControl && (!isFinal || short > CONTROL_BYTES_MAX))) return "unsound";
  const start = short === 127 ? 10 : short === 126 ? 4 : 2;
  if (bytes.length < start) return undefined;
  const length = short === 127 ? Number(bytes.readBigUInt64BE(2)) : short === 126 ? bytes.readUInt16BE(2) : short;
  if (length > payloadBytesMax) return "unsound";
  if (bytes.length < start + length) return undefined;
  return { kind, isFinal, payload: bytes.subarray(start, start + length), end: start + length };
}

export function textFrame(text: string): Buffer {
  return writeFrame("text", Buffer.from(text, "utf8"));
}

export function pingFrame(): Buffer {
  return writeFrame("ping", Buffer.alloc(0));
}

/** @param payload the ping's, at most 125 bytes */
export function pongFrame(payload: Buffer): Buffer {
  return writeFrame("pong", payload);
}

export function closeFrame(code: number): Buffer {
  const payload = Buffer.alloc(2);
  payload.writeUInt16BE(code);
  return writeFrame("close", payload);
}

/** A whole message; masked by random bytes, as all that a client sends (section 5.3). */
function writeFrame(kind: FrameKind, payload: Buffer): Buffer {
  const long = payload.length > CONTROL_BYTES_MAX;
  if (payload.length > 0xffff) throw new RangeError("messages of more than 64 KiB are not sent");
  const head = Buffer.alloc(long ? 4 : 2);
  head[0] = FINAL | OPCODES[kind];
  head[1] = MASKED | (long ? 126 : payload.length);
  if (long) head.writeUInt16BE(payload.length, 2);
  const mask = randomBytes(4);
  return Buffer.concat([head, mask, payload.map((byte, at) => byte ^ (mask[at % 4] ?? 0))]);
}
