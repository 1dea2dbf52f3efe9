/** What a request says, as Node's parser read it, and what the parser lets pass that this front refuses. */
import type { IncomingMessage } from "node:http";
import { HEAD_BYTES_MAX, HEAD_FIELDS_MAX } from "../../contract/head-limits.js";
import type { RawRequest, Refusal } from "./driver.js";

const REQUEST_LINE_REST = " " + " HTTP/1.1\r\n" + "\r\n";
const FIELD_REST = ": " + "\r\n";
/** RFC 6455 section 4.1: 16 bytes in base64. */
const WEBSOCKET_KEY = /^[+/0-9A-Za-z]{22}==$/;
/** A method and the blank behind it. */
const METHOD = /^[!#-'*+\-.0-9A-Z^-z|~]+ /;

const HEAD_TOO_LARGE: Refusal = {
  status: 431,
  reason: `a head has at most ${String(HEAD_BYTES_MAX)} bytes and ${String(HEAD_FIELDS_MAX)} fields`,
};
const VERSION: Refusal = { status: 505, reason: "only HTTP/1.1 is spoken" };
const BY_CODE: Readonly<Record<string, Refusal>> = {
  HPE_HEADER_OVERFLOW: HEAD_TOO_LARGE,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { status: 413, reason: "the chunk extensions are too long" },
  HPE_INVALID_VERSION: VERSION,
  HPE_PAUSED_H2_UPGRADE: VERSION,
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, reason: "the head came too slowly" },
};

/** Returns the request as the front reads it. */
export function rawRequest(request: IncomingMessage, fault?: Refusal): RawRequest {
  const { url = "", method = "", rawHeaders } = request;
  const mark = url.indexOf("?");
  return {
    fault,
    getUrl: () => (mark < 0 ? url : url.slice(0, mark)),
    getQuery: () => (mark < 0 ? undefined : url.slice(mark + 1)),
    getCaseSensitiveMethod: () => method,
    forEach: (callback) => {
      for (let index = 0; index + 1 < rawHeaders.length; index += 2)
        callback((rawHeaders[index] ?? "").toLowerCase(), rawHeaders[index + 1] ?? "");
    },
  };
}

/** Returns the request that stands for bytes which are none. */
export function noRequest(fault: Refusal): RawRequest {
  return {
    fault,
    getUrl: () => "",
    getQuery: () => undefined,
    getCaseSensitiveMethod: () => "",
    forEach: () => undefined,
  };
}

/** Finds what Node's parser accepts and this front does not; undefined for a sound head. */
export function headRefusal({ httpVersion, method = "", url = "", rawHeaders }: IncomingMessage): Refusal | undefined {
  if (httpVersion !== "1.1") return VERSION;
  let bytes = method.length + url.length + REQUEST_LINE_REST.length;
  let hosts = 0;
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? "";
    bytes += name.length + (rawHeaders[index + 1] ?? "").length + FIELD_REST.length;
    if (name.length === 4 && name.toLowerCase() === "host") hosts += 1;
  }
  if (bytes > HEAD_BYTES_MAX || rawHeaders.length > 2 * HEAD_FIELDS_MAX) return HEAD_TOO_LARGE;
  // RFC 9112 section 3.2.
  if (hosts !== 1) return { status: 400, reason: "Host: expected exactly one" };
  if (!url.startsWith("/")) return { status: 400, reason: "the request's target is not a path" };
  return undefined;
}

/** Returns how an error of the parser is answered; undefined for an error of the connection itself. */
export function refusalOf(
  error: NodeJS.ErrnoException & { readonly rawPacket?: Buffer; readonly bytesParsed?: number },
): Refusal | undefined {
  const { code = "" } = error;
  if (code === "HPE_INVALID_METHOD" && isUnknownMethod(error))
    return { status: 501, reason: "this method is not implemented" };
  // The client left in the middle of a request.
  if (code === "HPE_INVALID_EOF_STATE") return undefined;
  const known = BY_CODE[code];
  if (known !== undefined) return known;
  return code.startsWith("HPE_") ? { status: 400, reason: "the bytes are not a request of HTTP/1.1" } : undefined;
}

/** True for a handshake that npm ws will accept; its version is the front's to check. */
export function offersWebSocket({ method, url = "", headers }: IncomingMessage, paths: readonly string[]): boolean {
  return (
    method === "GET" &&
    headers.upgrade?.toLowerCase() === "websocket" &&
    WEBSOCKET_KEY.test(headers["sec-websocket-key"] ?? "") &&
    paths.includes(url.split("?")[0] ?? "")
  );
}

function isUnknownMethod({
  rawPacket,
  bytesParsed = 0,
}: {
  readonly rawPacket?: Buffer;
  readonly bytesParsed?: number;
}): boolean {
  if (rawPacket === undefined) return false;
  const start = bytesParsed === 0 ? 0 : rawPacket.lastIndexOf(0x0a, bytesParsed - 1) + 1;
  return METHOD.test(rawPacket.toString("latin1", start, start + 100));
}
