/**
 * Answers with bytes that stay the same: ETag and If-None-Match (RFC 9110 section 13), and gzip for clients that take
 * it (section 12.5.3). Only bytes that everybody may read are compressed, so that their length tells nothing.
 */
import type { StaticBytes } from "../../contract/static-bytes.js";
import type { RequestHead } from "../request/request-head.js";
import type { Answer } from "./answer.js";
import { matchesAny } from "./file-answer.js";

/** Returns 200 or 304. */
export async function staticAnswer(content: StaticBytes, contentType: string, head: RequestHead): Promise<Answer> {
  const isCompressed = takesGzip(head.headers["accept-encoding"]);
  // Two forms of one content have two strong tags (RFC 9110 section 8.8.3.3).
  const etag = `"${content.sha256}${isCompressed ? "-gzip" : ""}"`;
  const headers: [string, string][] = [
    ["ETag", etag],
    ["Vary", "Accept-Encoding"],
    ["Cache-Control", "no-cache"],
  ];
  if (matchesAny(head.headers["if-none-match"], etag)) return { status: 304, headers };
  if (!isCompressed) return { status: 200, contentType, headers, body: content.bytes };
  const body = await content.gzipped();
  return { status: 200, contentType, headers: [...headers, ["Content-Encoding", "gzip"]], body };
}

/** Returns whether Accept-Encoding names gzip, or everything, with a weight above 0. */
function takesGzip(header: string | undefined): boolean {
  const weights = new Map(
    (header ?? "").split(",").map((part): [string, number] => {
      const [coding = "", ...parameters] = part.split(";").map((text) => text.trim().toLowerCase());
      const weight = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2);
      return [coding, weight === undefined ? 1 : Number(weight)];
    }),
  );
  return (weights.get("gzip") ?? weights.get("*") ?? 0) > 0;
}
