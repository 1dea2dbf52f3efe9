/** The length and hash of a file of any size. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";

/** Reads a file once. Returns its length, and its SHA-256 in lower-case hex. */
export async function hashFile(path: string): Promise<{ readonly bytes: number; readonly sha256: string }> {
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    hash.update(chunk);
  }
  return { bytes, sha256: hash.digest("hex") };
}
