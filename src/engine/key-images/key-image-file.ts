/**
 * The image of an open key as a file: a line of JSON with its sizes and the form of its content, then the parts. The
 * hash of the whole file is the reader's way to know it again.
 */
import { createHash, type Hash } from "node:crypto";
import { closeSync, fstatSync, openSync, readSync, writeSync } from "node:fs";
import type { SharedKey } from "../kernels/threads/shared-key.js";
import { checkedSizes, emptyKey, keyImage, keyImageBytes, KeyImageError, type KeyImageSizes } from "./key-image.js";

export interface WrittenImage {
  /** Lower-case hex. */
  readonly sha256: string;
  readonly bytes: number;
}

interface Front extends KeyImageSizes {
  /** What the content means: version, and the places that the key was opened with. */
  readonly form: string;
}

/** A line with the sizes of some sections has a few hundred. */
const FRONT_BYTES_MAX = 8192;
/** Read at a time, so that what was read is hashed while it is in the processor's cache. */
const PIECE_BYTES = 1024 ** 2;
const LINE_END = 10;

/**
 * Writes the image of an open key to a new file.
 * @throws what the file system throws; the caller deletes what is left of the file
 */
export function writeKeyImage(path: string, key: SharedKey, form: string): WrittenImage {
  const { sizes, parts } = keyImage(key);
  const front: Front = { form, ...sizes };
  const hash = createHash("sha256");
  let bytes = 0;
  const file = openSync(path, "wx", 0o600);
  try {
    for (const part of [Buffer.from(`${JSON.stringify(front)}\n`), ...parts]) {
      hash.update(part);
      for (let at = 0; at < part.length;) at += writeSync(file, part, at);
      bytes += part.length;
    }
  } finally {
    closeSync(file);
  }
  return { sha256: hash.digest("hex"), bytes };
}

/**
 * Reads the image of an open key, in about a third of the time in which the key is made from its file.
 * @param sha256 of the file, from where nobody but this server writes
 * @throws KeyImageError for any other content, another form, or kernels of another kind; what the file system throws;
 *   RangeError when there is no memory
 */
export function readKeyImage(
  path: string,
  { sha256, form }: { readonly sha256: string; readonly form: string },
): SharedKey {
  const file = openSync(path, "r");
  try {
    const hash = createHash("sha256");
    const { front, length } = readFront(file);
    if (front.form !== form) throw new KeyImageError("the image is of another form");
    const sizes = checkedSizes(front);
    if (fstatSync(file).size !== length + keyImageBytes(sizes)) throw new KeyImageError("the image has another length");
    const empty = emptyKey(sizes);
    readThrough(file, new Uint8Array(length), hash, 0);
    let at = length;
    for (const part of empty.parts) at = readThrough(file, part, hash, at);
    if (hash.digest("hex") !== sha256) throw new KeyImageError("the image is not the one that was written");
    return empty.finish();
  } finally {
    closeSync(file);
  }
}

function readFront(file: number): { readonly front: Front; readonly length: number } {
  const bytes = Buffer.alloc(FRONT_BYTES_MAX);
  const read = readSync(file, bytes, 0, bytes.length, 0);
  const end = bytes.subarray(0, read).indexOf(LINE_END);
  if (end < 0) throw new KeyImageError("the image has no front");
  try {
    return { front: JSON.parse(bytes.toString("utf8", 0, end)) as Front, length: end + 1 };
  } catch {
    throw new KeyImageError("the image's front is no JSON");
  }
}

/** Fills the bytes from the file; returns where they end in it. */
function readThrough(file: number, bytes: Uint8Array, hash: Hash, from: number): number {
  for (let at = 0; at < bytes.length;) {
    const piece = bytes.subarray(at, at + PIECE_BYTES);
    const count = readSync(file, piece, 0, piece.length, from + at);
    if (count === 0) throw new KeyImageError("the image ends early");
    hash.update(piece.subarray(0, count));
    at += count;
  }
  return from + bytes.length;
}
