/**
 * Answers with a stored file: ETag, If-None-Match, one Range (RFC 9110 sections 13 and 14). The file is read in pieces
 * while it is sent.
 */
import { open } from "node:fs/promises";
import type { FileAnswer } from "../../contract/route.js";
import { AppError } from "../../errors.js";
import type { Answer, BodySource } from "./answer.js";
import type { RequestHead } from "../request/request-head.js";

interface ByteRange {
  readonly start: number;
  /** Inclusive. */
  readonly end: number;
}

/**
 * Returns 200, 206, 304 or 416 with their headers. A 416 is no failure here, because it has headers of its own.
 * @param contentType used when the file has no type of its own
 * @throws data_corrupt when the file is missing or has another length than recorded
 */
export async function fileAnswer(file: FileAnswer, contentType: string, head: RequestHead): Promise<Answer> {
  const etag = `"${file.sha256}"`;
  const headers: [string, string][] = [
    ["ETag", etag],
    ["Accept-Ranges", "bytes"],
  ];
  const type = file.contentType ?? contentType;
  if (matchesAny(head.headers["if-none-match"], etag)) return { status: 304, headers };
  const range = requestedRange(head, etag, file.bytes);
  if (range === "unsatisfiable") {
    return { status: 416, headers: [...headers, ["Content-Range", `bytes */${String(file.bytes)}`]], body: "" };
  }
  const source = await openSource(file, range);
  if (range === undefined) return { status: 200, contentType: type, headers, body: source };
  const contentRange = `bytes ${String(range.start)}-${String(range.end)}/${String(file.bytes)}`;
  return { status: 206, contentType: type, headers: [...headers, ["Content-Range", contentRange]], body: source };
}

/** Returns whether a condition names the tag, by the weak comparison (RFC 9110 section 13.1.2). */
export function matchesAny(condition: string | undefined, etag: string): boolean {
  if (condition === undefined) return false;
  return condition.split(",").some((tag) => {
    const plain = tag.trim().replace(/^W\//, "");
    return plain === "*" || plain === etag;
  });
}

/** Returns the requested range. Undefined serves the whole file, also for several ranges and for a malformed one. */
function requestedRange(head: RequestHead, etag: string, bytes: number): ByteRange | "unsatisfiable" | undefined {
  const found = /^bytes=(\d{0,15})-(\d{0,15})$/i.exec(head.headers.range?.trim() ?? "");
  const condition = head.headers["if-range"];
  if (found === null || (condition !== undefined && condition.trim() !== etag)) return undefined;
  const [, first = "", last = ""] = found;
  if (first === "" && last === "") return undefined;
  if (first === "") {
    const length = Math.min(Number(last), bytes);
    return length === 0 ? "unsatisfiable" : { start: bytes - length, end: bytes - 1 };
  }
  const start = Number(first);
  const end = last === "" ? bytes - 1 : Math.min(Number(last), bytes - 1);
  if (last !== "" && Number(last) < start) return undefined;
  return start >= bytes ? "unsatisfiable" : { start, end };
}

async function openSource(file: FileAnswer, range: ByteRange | undefined): Promise<BodySource> {
  const start = range?.start ?? 0;
  const length = range === undefined ? file.bytes : range.end - range.start + 1;
  const handle = await open(file.path, "r").catch((cause: unknown) => {
    throw new AppError("data_corrupt", { message: "the stored file cannot be read", cause });
  });
  try {
    const { size } = await handle.stat();
    if (size !== file.bytes)
      throw new AppError("data_corrupt", { message: "the stored file does not have the length on record" });
  } catch (error) {
    await handle.close();
    throw error;
  }
  return {
    bytes: length,
    async read(offset, bytesMax) {
      const piece = Buffer.allocUnsafe(Math.min(bytesMax, length - offset));
      const { bytesRead } = await handle.read(piece, 0, piece.length, start + offset);
      if (bytesRead === 0) throw new AppError("data_corrupt", { message: "the stored file ended early" });
      return piece.subarray(0, bytesRead);
    },
    close: async () => {
      await handle.close();
    },
  };
}
