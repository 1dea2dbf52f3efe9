/**
 * The first question of MongoDB's wire protocol: `hello`, as an OP_MSG with a BSON document (mongodb.com, wire
 * protocol; bsonspec.org 1.1). It needs no login, so that it shows what the peer is and not whether credentials are
 * right.
 */
import type { Socket } from "node:net";
import type { Peer } from "./driver.js";
import { answerInvalid } from "./peer-failures.js";
import { nextChunk, secured, withPeerSocket } from "./peer-socket.js";

const SERVER = "a MongoDB server";
const OP_MSG = 2013;
/** messageLength(4) || requestID(4) || responseTo(4) || opCode(4), all int32 little-endian. */
const HEADER_BYTES = 16;
/** flagBits(4) || kind(1) of the only section. */
const PREFIX_BYTES = 5;
/** The answer of a large replica set takes a few KiB. */
const ANSWER_BYTES_MAX = 64 * 1024;
const REQUEST_ID = 1;

/** Bytes of BSON values by type, where every value of the type has as many. */
const FIXED_BYTES: Readonly<Record<number, number>> = {
  0x01: 8,
  0x07: 12,
  0x08: 1,
  0x09: 8,
  0x0a: 0,
  0x10: 4,
  0x11: 8,
  0x12: 8,
  0x13: 16,
};
const STRING = 0x02;
const DOCUMENTS: ReadonlySet<number> = new Set([0x03, 0x04]);
const BINARY = 0x05;
const INT32 = 0x10;
const DOUBLE = 0x01;

/**
 * Asks a peer what it is.
 * @returns such as `mongod, wire version 21 (not logged in)`
 * @throws connector_answer_invalid for anything but MongoDB's answer
 */
export async function probeMongodb(peer: Peer): Promise<string> {
  return await withPeerSocket(peer, async ({ address, plain }) => {
    const socket = address.tls ? await secured(plain, address.host, peer.config.tls) : plain;
    socket.write(helloMessage());
    const members = helloMembers(await readMessage(socket));
    const version = members.get("maxWireVersion");
    if (members.get("ok") !== 1 || typeof version !== "number") throw answerInvalid(SERVER);
    const isRouter = members.get("msg") === "isdbgrid";
    return `${isRouter ? "mongos" : "mongod"}, wire version ${String(version)} (not logged in)`;
  });
}

/** `{hello: 1, $db: "admin"}` as one OP_MSG. */
function helloMessage(): Buffer {
  const elements = Buffer.concat([
    Buffer.from([INT32]),
    Buffer.from("hello\0"),
    int32(1),
    Buffer.from([STRING]),
    Buffer.from("$db\0"),
    int32("admin\0".length),
    Buffer.from("admin\0"),
  ]);
  const document = Buffer.concat([int32(elements.length + 5), elements, Buffer.from([0])]);
  const length = HEADER_BYTES + PREFIX_BYTES + document.length;
  const header = [length, REQUEST_ID, 0, OP_MSG, 0].map(int32);
  return Buffer.concat([...header, Buffer.from([0]), document]);
}

async function readMessage(socket: Socket): Promise<Buffer> {
  let bytes: Buffer = Buffer.alloc(0);
  for (;;) {
    const length = bytes.length < HEADER_BYTES ? undefined : bytes.readInt32LE(0);
    if (length !== undefined) {
      const isAnswer = bytes.readInt32LE(8) === REQUEST_ID && bytes.readInt32LE(12) === OP_MSG;
      if (!isAnswer || length <= HEADER_BYTES + PREFIX_BYTES || length > ANSWER_BYTES_MAX) throw answerInvalid(SERVER);
      if (bytes.length >= length) return bytes.subarray(HEADER_BYTES + PREFIX_BYTES, length);
    }
    bytes = Buffer.concat([bytes, await nextChunk(socket)]);
  }
}

/** Returns the numbers and texts at the top level of a BSON document. Throws `connector_answer_invalid`. */
function helloMembers(document: Buffer): ReadonlyMap<string, number | string> {
  const members = new Map<string, number | string>();
  try {
    for (let at = 4; document.readUInt8(at) !== 0;) {
      const type = document.readUInt8(at);
      const nameEnd = document.indexOf(0, at + 1);
      if (nameEnd < 0) throw answerInvalid(SERVER);
      const name = document.toString("utf8", at + 1, nameEnd);
      const start = nameEnd + 1;
      if (type === INT32) members.set(name, document.readInt32LE(start));
      else if (type === DOUBLE) members.set(name, document.readDoubleLE(start));
      else if (type === STRING)
        members.set(name, document.toString("utf8", start + 4, start + 3 + document.readInt32LE(start)));
      at = start + valueBytes(document, type, start);
    }
  } catch (error) {
    throw answerInvalid(SERVER, error);
  }
  return members;
}

function valueBytes(document: Buffer, type: number, start: number): number {
  const fixed = FIXED_BYTES[type];
  if (fixed !== undefined) return fixed;
  const length = document.readInt32LE(start);
  if (length < 0) throw answerInvalid(SERVER);
  if (type === STRING) return 4 + length;
  if (DOCUMENTS.has(type)) return Math.max(length, 5);
  if (type === BINARY) return 5 + length;
  throw answerInvalid(SERVER);
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  return bytes;
}
