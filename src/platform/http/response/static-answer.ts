/**
 * Answers with bytes that stay the same: ETag and If-None-Match (RFC 9110 section 13), and brotli or gzip for clients
 * that take it (section 12.5.3). Only bytes that everybody may read are compressed, so that their length tells nothing.
 */
import { CODINGS, type Coding, type StaticBytes } from "../../contract/static-bytes.js";
import type { RequestHead } from "../request/request-head.js";
import type { Answer } from "./answer.js";
import { matchesAny } from "./file-answer.js";

/** Returns 200 or 304. */
export async function staticAnswer(content: StaticBytes, contentType: string, head: RequestHead): Promise<Answer> {
  const coding = wantedCoding(content, head.headers["accept-encoding"]);
  // Each form of one content has a strong tag of its own (RFC 9110 section 8.8.3.3).
  const etag = `"${content.sha256}${coding === undefined ? "" : `-${coding}`}"`;
  const headers: [string, string][] = [
    ["ETag", etag],
    ["Vary", "Accept-Encoding"],
    ["Cache-Control", "no-cache"],
  ];
  if (matchesAny(head.headers["if-none-match"], etag)) return { status: 304, headers };
  if (coding === undefined) return { status: 200, contentType, headers, body: content.bytes };
  const body = await content.encoded(coding);
  return { status: 200, contentType, headers: [...headers, ["Content-Encoding", coding]], body };
}

/** Returns the coding with the greatest weight above 0; `*` stands for those that are not named. */
function wantedCoding(content: StaticBytes, header: string | undefined): Coding | undefined {
  const weights = new Map(
    (header ?? "").split(",").map((part): [string, number] => {
      const [coding = "", ...parameters] = part.split(";").map((text) => text.trim().toLowerCase());
      const weight = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2);
      return [coding, weight === undefined ? 1 : Number(weight)];
    }),
  );
  const weightOf = (coding: Coding): number => weights.get(coding) ?? weights.get("*") ?? 0;
  let best: Coding | undefined;
  for (const coding of CODINGS)
    if (content.has(coding) && weightOf(coding) > (best === undefined ? 0 : weightOf(best))) best = coding;
  return best;
}
