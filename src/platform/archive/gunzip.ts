/**
 * Unpacks gzip (RFC 1952) piece by piece, off this thread, and stops when it becomes more than was allowed: a few
 * kilobytes can stand for gigabytes.
 */
import { createGunzip } from "node:zlib";
import { filesInvalid, filesTooLarge } from "./collected-files.js";

/** Source text becomes a twentieth at best, hexadecimal constants a half; deflate can reach a thousandth. */
const RATIO_MAX = 200;
/** Below it the ratio says nothing: a single file of blanks is no attack. */
const RATIO_FREE_BYTES = 1024 * 1024;

/**
 * Yields what the bytes unpack to.
 * @param packed whole; of several gzip members, all
 * @throws AppError `files_invalid` for bytes that are damaged, cut off, or followed by others; `files_too_large` for
 *   more than `bytesMax` bytes, or more than 200 times as many as came
 */
export async function* gunzip(
  packed: Uint8Array,
  { bytesMax }: { readonly bytesMax: number },
): AsyncGenerator<Buffer, void> {
  if (packed.length === 0) throw filesInvalid("the archive is empty");
  const unpacker = createGunzip();
  const limit = Math.min(bytesMax, Math.max(RATIO_FREE_BYTES, packed.length * RATIO_MAX));
  let bytes = 0;
  unpacker.end(packed);
  try {
    for await (const chunk of unpacker as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > limit) throw filesTooLarge(`the archive unpacks to more than ${String(limit)} bytes`);
      yield chunk;
    }
  } catch (error) {
    if (isZlibError(error)) throw filesInvalid("the archive is not gzip, or is damaged or cut off");
    throw error;
  } finally {
    unpacker.destroy();
  }
  if (unpacker.bytesWritten !== packed.length) throw filesInvalid("the archive has other bytes behind its gzip data");
}

function isZlibError(error: unknown): boolean {
  return error instanceof Error && "code" in error && typeof error.code === "string" && error.code.startsWith("Z_");
}
