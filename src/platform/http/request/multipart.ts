/**
 * Reads the parts of a `multipart/form-data` body (RFC 7578, RFC 2046 section 5.1), which is whole in memory. Stricter
 * than browsers need: a part that two readers could see differently is refused.
 */
import { isUtf8 } from "node:buffer";
import { AppError } from "../../errors.js";

export interface FormPart {
  readonly name: string;
  /** Of a file. */
  readonly filename?: string;
  /** Without its parameters, in lower case; `text/plain` where the part has none. */
  readonly type: string;
  readonly content: Buffer;
}

const BOUNDARY = /^[0-9A-Za-z'()+_,./:=?-]{1,70}$/;
/** Of one part. */
const HEADERS_BYTES_MAX = 4096;
/** Of every part on average: a path of a file, its type, and what a client's library adds. */
const HEADERS_BYTES_MEAN_MAX = 512;
const LINE_END = Buffer.from("\r\n");
const HEADERS_END = Buffer.from("\r\n\r\n");
/** Blanks around the value are cut off afterwards: a pattern for them takes the square of their number. */
const HEADER = /^([A-Za-z-]{1,64}):(.*)$/;
/** Quoted texts have no escapes: browsers write `%22` for a quote, and a name with a backslash is refused anyway. */
const PARAMETER = /;[ \t]*([A-Za-z*-]{1,32})=(?:"([^"\\]*)"|([^\s;"\\]+))/y;
const PLAIN_CODINGS: ReadonlySet<string> = new Set(["7bit", "8bit", "binary"]);
const UTF8_CHARSETS: ReadonlySet<string> = new Set(["utf-8", "utf8", "us-ascii"]);

/**
 * Returns the parts in their order.
 * @param contentType of the request, with its boundary
 * @throws malformed_request, or unsupported_media_type for a part in another encoding than UTF-8
 */
export function readParts(bytes: Buffer, contentType: string, { partsMax }: { readonly partsMax: number }): FormPart[] {
  const delimiter = Buffer.from(`\r\n--${boundaryOf(contentType)}`, "latin1");
  const opening = delimiter.subarray(LINE_END.length);
  if (!bytes.subarray(0, opening.length).equals(opening)) throw malformed("does not begin with its boundary");
  const parts: FormPart[] = [];
  let headersLeft = HEADERS_BYTES_MAX + partsMax * HEADERS_BYTES_MEAN_MAX;
  for (let at = opening.length; !isClosed(bytes, at);) {
    if (parts.length >= partsMax) throw malformed(`has more than ${String(partsMax)} parts`);
    if (!startsAt(bytes, LINE_END, at)) throw malformed("has a boundary in the middle of a line");
    const end = bytes.indexOf(delimiter, at);
    if (end === -1) throw malformed("is cut off: its last boundary is missing");
    const part = readPart(bytes.subarray(at, end));
    headersLeft -= end - at - part.content.length;
    if (headersLeft < 0) throw malformed("has too many bytes of headers");
    parts.push(part);
    at = end + delimiter.length;
  }
  return parts;
}

/** True for the boundary that ends the body. */
function isClosed(bytes: Buffer, at: number): boolean {
  if (!startsAt(bytes, Buffer.from("--"), at)) return false;
  const rest = bytes.subarray(at + 2);
  if (rest.length > 0 && !rest.equals(LINE_END)) throw malformed("goes on behind its last boundary");
  return true;
}

/** @param bytes from the line end behind the boundary to the one before the next */
function readPart(bytes: Buffer): FormPart {
  const headersEnd = bytes.subarray(0, HEADERS_BYTES_MAX).indexOf(HEADERS_END);
  if (headersEnd === -1) throw malformed("has a part without headers, or with too long ones");
  const headers = readHeaders(bytes.subarray(LINE_END.length, headersEnd));
  const { value: disposition, parameters } = parametersOf(headers.get("content-disposition") ?? "");
  const name = parameters.get("name");
  if (disposition !== "form-data" || name === undefined)
    throw malformed("has a part whose Content-Disposition is not `form-data` with a name");
  if (parameters.has("filename*")) throw malformed("has a `filename*`, which forms may not have (RFC 7578)");
  const coding = headers.get("content-transfer-encoding")?.toLowerCase();
  if (coding !== undefined && !PLAIN_CODINGS.has(coding)) throw unsupported("sent as it is, without an encoding");
  const { value: type, parameters: ofType } = parametersOf(headers.get("content-type") ?? "text/plain");
  const charset = ofType.get("charset")?.toLowerCase();
  if (charset !== undefined && !UTF8_CHARSETS.has(charset)) throw unsupported("in UTF-8");
  const filename = parameters.get("filename");
  const content = bytes.subarray(headersEnd + HEADERS_END.length);
  return { name, ...(filename === undefined ? {} : { filename }), type, content };
}

function readHeaders(bytes: Buffer): Map<string, string> {
  if (!isUtf8(bytes)) throw malformed("has a header that is not UTF-8");
  const headers = new Map<string, string>();
  for (const line of bytes.toString("utf8").split("\r\n")) {
    const [, name = "", untrimmed = ""] = HEADER.exec(line) ?? [];
    const value = withoutBlanks(untrimmed);
    if (name === "" || /[\u0000-\u0008\u000a-\u001f\u007f]/.test(value) || headers.has(name.toLowerCase()))
      throw malformed("has a header that is malformed or given twice");
    headers.set(name.toLowerCase(), value);
  }
  return headers;
}

/** Cuts off the blanks and tabs at both ends. */
function withoutBlanks(text: string): string {
  let [start, end] = [0, text.length];
  while (start < end && isBlank(text, start)) start += 1;
  while (end > start && isBlank(text, end - 1)) end -= 1;
  return text.slice(start, end);
}

function isBlank(text: string, at: number): boolean {
  return text[at] === " " || text[at] === "\t";
}

/** Splits `value; name="text"; name=token`. */
function parametersOf(header: string): { readonly value: string; readonly parameters: ReadonlyMap<string, string> } {
  const [value = ""] = header.split(";", 1);
  const parameters = new Map<string, string>();
  PARAMETER.lastIndex = value.length;
  const end = header.trimEnd().length;
  for (let at = value.length; at < end; at = PARAMETER.lastIndex) {
    const [, name = "", quoted, token] = PARAMETER.exec(header) ?? [];
    if (name === "" || parameters.has(name.toLowerCase())) throw malformed("has a header with malformed parameters");
    parameters.set(name.toLowerCase(), quoted ?? token ?? "");
  }
  return { value: value.trim().toLowerCase(), parameters };
}

function boundaryOf(contentType: string): string {
  const boundary = parametersOf(contentType).parameters.get("boundary");
  if (boundary === undefined || !BOUNDARY.test(boundary)) throw malformed("has no boundary in its Content-Type");
  return boundary;
}

function startsAt(bytes: Buffer, text: Buffer, at: number): boolean {
  return bytes.subarray(at, at + text.length).equals(text);
}

function malformed(fault: string): AppError {
  return new AppError("malformed_request", { message: `the form ${fault}` });
}

function unsupported(wanted: string): AppError {
  return new AppError("unsupported_media_type", { message: `the parts of a form are expected ${wanted}` });
}
