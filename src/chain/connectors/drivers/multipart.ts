/**
 * Encodes files as multipart/form-data (RFC 7578) in pieces, without copying their content into one body. Directories
 * have the form that IPFS takes: a part of type application/x-directory, and files whose names start with its name.
 */
import { randomBytes } from "node:crypto";

export interface FilePart {
  /** Name with `/` between directories. */
  readonly path: string;
  /** Absent for a directory. */
  readonly bytes?: Uint8Array;
}

interface Multipart {
  readonly contentType: string;
  /** Of the whole body. */
  readonly byteLength: number;
  readonly chunks: () => Generator<Uint8Array>;
}

/** Largest piece of content that is sent at once. */
const CHUNK_BYTES = 64 * 1024;

/** Returns the body that has the files in this order, as pieces with their total length. */
export function multipartOf(parts: readonly FilePart[]): Multipart {
  const boundary = `proofwright-${randomBytes(18).toString("hex")}`;
  const encoded = parts.map(({ path, bytes }) => ({
    head: Buffer.from(
      headOf(boundary, path, bytes === undefined ? "application/x-directory" : "application/octet-stream"),
    ),
    bytes: bytes ?? new Uint8Array(),
  }));
  const end = Buffer.from(`--${boundary}--\r\n`);
  const lineBreak = Buffer.from("\r\n");
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    byteLength: encoded.reduce(
      (sum, { head, bytes }) => sum + head.length + bytes.length + lineBreak.length,
      end.length,
    ),
    *chunks() {
      for (const { head, bytes } of encoded) {
        yield head;
        for (let from = 0; from < bytes.length; from += CHUNK_BYTES) yield bytes.subarray(from, from + CHUNK_BYTES);
        yield lineBreak;
      }
      yield end;
    },
  };
}

function headOf(boundary: string, path: string, contentType: string): string {
  return `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${encodeURIComponent(path)}"\r\nContent-Type: ${contentType}\r\n\r\n`;
}
