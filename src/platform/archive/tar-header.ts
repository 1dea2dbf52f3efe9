/**
 * The headers of tar archives: ustar with pax records (POSIX.1-2017, pax, "ustar Interchange Format" and "pax Extended
 * Header"), and GNU's forms of long names and numbers. Stricter than the programs that unpack to a disk: what two of
 * them could read in two ways is refused.
 *
 *   name(100) || mode(8) || uid(8) || gid(8) || size(12) || mtime(12) || checksum(8) || type(1) || link(100)
 *   || magic(6) || version(2) || owner(32) || group(32) || devices(16) || prefix(155) || 0(12)
 */
import { isUtf8 } from "node:buffer";
import { filesInvalid, shownName } from "./collected-files.js";

/** Length of a header, and what every content is filled up to. */
export const TAR_BLOCK_BYTES = 512;

/** A header as it stands, before the records that may come before it. */
export interface TarHeader {
  readonly type: string;
  readonly name: string;
  /** Bytes of the content. */
  readonly size: number;
}

/** The records of a pax header that count here. */
export interface PaxRecords {
  readonly path?: string;
  readonly size?: number;
}

const NAME = [0, 100] as const;
const SIZE = [124, 12] as const;
const CHECKSUM = [148, 8] as const;
const TYPE_AT = 156;
const MAGIC = [257, 8] as const;
const PREFIX = [345, 155] as const;
/** `ustar` of POSIX, that of GNU, and the form before both, which has no magic. */
const POSIX_MAGIC = "ustar\u000000";
const MAGICS: ReadonlySet<string> = new Set([POSIX_MAGIC, "ustar  \0", "\0".repeat(8)]);
const OCTAL = /^ *([0-7]*)[ \0]*$/;
const PAX_RECORD = /^([1-9][0-9]{0,4}) ([\x21-\x3c\x3e-\x7e]{1,200})=/;
/** Of one header: a path, a length, times, owners and a file's attributes. */
const PAX_RECORDS_MAX = 64;
/** Length and keyword of a record are within its first bytes. */
const PAX_START_BYTES_MAX = 256;
/** Of the records that say how texts are encoded. */
const UTF8_NAME = "ISO-IR 10646 2000 UTF-8";
const CHARSETS: ReadonlySet<string> = new Set(["hdrcharset", "charset"]);

/**
 * Reads a header.
 * @param block 512 bytes that are not all zero
 * @throws AppError `files_invalid` for a wrong checksum, another form, or a name that is not UTF-8
 */
export function readTarHeader(block: Uint8Array): TarHeader {
  const field = ([start, length]: readonly [number, number]): Uint8Array => block.subarray(start, start + length);
  const magic = Buffer.from(field(MAGIC)).toString("latin1");
  if (numberOf(field(CHECKSUM)) !== checksumOf(block) || !MAGICS.has(magic))
    throw filesInvalid("the archive is no tar archive, or a header of it is damaged: its checksum is wrong");
  const name = textOf(field(NAME));
  const prefix = magic === POSIX_MAGIC ? textOf(field(PREFIX)) : "";
  const size = numberOf(field(SIZE));
  const whole = prefix === "" ? name : `${prefix}/${name}`;
  if (size === undefined) throw filesInvalid(`the length of ${shownName(whole)} is malformed`);
  return { type: String.fromCharCode(block[TYPE_AT] ?? 0), name: whole, size };
}

/**
 * Reads the records `<length> <keyword>=<value>\n` of a pax header.
 * @throws AppError `files_invalid` for records that are malformed, given twice, more than 64, in another encoding than
 *   UTF-8, or that describe a sparse file
 */
export function readPaxRecords(content: Uint8Array): PaxRecords {
  const records = new Map<string, string>();
  for (let at = 0; at < content.length;) {
    const [length, keyword, value] = paxRecordAt(content, at);
    if (keyword.startsWith("GNU.sparse.")) throw filesInvalid("the archive has a sparse file");
    if (CHARSETS.has(keyword) && Buffer.from(value).toString("latin1") !== UTF8_NAME)
      throw filesInvalid("a name in the archive is not UTF-8");
    if (records.size >= PAX_RECORDS_MAX) throw filesInvalid("a pax header of the archive has too many records");
    if (records.has(keyword)) throw filesInvalid("a pax header of the archive says one thing twice");
    records.set(keyword, keyword === "path" ? textOf(value) : Buffer.from(value).toString("latin1"));
    at += length;
  }
  const [path, size] = [records.get("path"), records.get("size")];
  if (size !== undefined && !/^(0|[1-9][0-9]{0,14})$/.test(size)) throw malformedPax();
  if (path === "") throw malformedPax();
  return { ...(path === undefined ? {} : { path }), ...(size === undefined ? {} : { size: Number(size) }) };
}

/**
 * Returns the text of a field that ends at its first zero byte, or is filled to its end.
 * @throws AppError `files_invalid` when it is not UTF-8, or something follows the zero byte
 */
export function textOf(field: Uint8Array): string {
  const end = field.indexOf(0);
  const text = end === -1 ? field : field.subarray(0, end);
  if (!isUtf8(text)) throw filesInvalid("a name in the archive is not UTF-8");
  if (end !== -1 && field.subarray(end).some((byte) => byte !== 0))
    throw filesInvalid(`the name ${shownName(Buffer.from(text).toString("utf8"))} goes on behind its end`);
  return Buffer.from(text).toString("utf8");
}

/** Returns the sum of a header's bytes, its checksum counted as blanks. */
export function checksumOf(block: Uint8Array): number {
  const [start, length] = CHECKSUM;
  return block.reduce((sum, byte, i) => sum + (i >= start && i < start + length ? 0x20 : byte), 0);
}

/** Values of other keywords than the path may be of any bytes: macOS puts a file's attributes there. */
function paxRecordAt(content: Uint8Array, at: number): [length: number, keyword: string, value: Uint8Array] {
  const start = Buffer.from(content.subarray(at, at + PAX_START_BYTES_MAX)).toString("latin1");
  const [before = "", digits = "", keyword = ""] = PAX_RECORD.exec(start) ?? [];
  const length = Number(digits);
  if (before === "" || length <= before.length || content[at + length - 1] !== 0x0a) throw malformedPax();
  return [length, keyword, content.subarray(at + before.length, at + length - 1)];
}

/** Octal digits, or GNU's binary form: a set first bit, then the number. Undefined for anything else. */
function numberOf(field: Uint8Array): number | undefined {
  const [first = 0] = field;
  if ((first & 0x80) !== 0) {
    if (first !== 0x80) return undefined;
    const value = field.subarray(1).reduce((sum, byte) => sum * 256 + byte, 0);
    return Number.isSafeInteger(value) ? value : undefined;
  }
  const [, digits] = OCTAL.exec(Buffer.from(field).toString("latin1")) ?? [];
  return digits === undefined ? undefined : Number.parseInt(digits === "" ? "0" : digits, 8);
}

function malformedPax(): Error {
  return filesInvalid("a pax header of the archive is malformed");
}
