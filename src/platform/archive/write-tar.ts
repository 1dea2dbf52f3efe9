/**
 * Writes text files as a `.tar.gz`: the same files make the same bytes. Format as tar-header.ts says; times and owners
 * are zero, and the files stand in the order of their names.
 */
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { checksumOf, TAR_BLOCK_BYTES } from "./tar-header.js";

const NAME_BYTES_MAX = 100;
const PREFIX_BYTES_MAX = 155;
const END_BYTES = 2 * TAR_BLOCK_BYTES;
const FILE_TYPE = "0";
const PAX_TYPE = "x";
const packed = promisify(gzip);

/**
 * Packs files.
 * @param files relative path with `/` between its parts -> text
 */
export async function writeTarGz(files: Readonly<Record<string, string>>): Promise<Buffer> {
  const entries = Object.entries(files).sort(([a], [b]) => (a < b ? -1 : 1));
  const blocks = entries.flatMap(([path, text]) => fileBlocks(path, Buffer.from(text, "utf8")));
  return await packed(Buffer.concat([...blocks, Buffer.alloc(END_BYTES)]), { level: 9 });
}

function fileBlocks(path: string, content: Buffer): Buffer[] {
  const place = placeOf(path);
  const file = [header(place ?? { prefix: "", name: "long-name" }, FILE_TYPE, content.length), filled(content)];
  if (place !== undefined) return file;
  const record = paxRecord("path", path);
  return [header({ prefix: "", name: "pax-header" }, PAX_TYPE, record.length), filled(record), ...file];
}

/** A path as prefix and name; undefined for one that fits no header. */
function placeOf(path: string): { readonly prefix: string; readonly name: string } | undefined {
  if (Buffer.byteLength(path) <= NAME_BYTES_MAX) return { prefix: "", name: path };
  const slashes = [...path.matchAll(/\//g)].map(({ index }) => index);
  const places = slashes.map((at) => ({ prefix: path.slice(0, at), name: path.slice(at + 1) }));
  return places.find(
    ({ prefix, name }) =>
      Buffer.byteLength(prefix) <= PREFIX_BYTES_MAX && Buffer.byteLength(name) <= NAME_BYTES_MAX && name !== "",
  );
}

function header({ prefix, name }: { prefix: string; name: string }, type: string, size: number): Buffer {
  const block = Buffer.alloc(TAR_BLOCK_BYTES);
  block.write(name, 0, "utf8");
  block.write("0000644\0", 100);
  block.write("0000000\0", 108);
  block.write("0000000\0", 116);
  block.write(`${octal(size, 11)}\0`, 124);
  block.write(`${octal(0, 11)}\0`, 136);
  block.write(type, TYPE_AT);
  block.write("ustar\u000000", 257);
  block.write(prefix, 345, "utf8");
  block.write(`${octal(checksumOf(block), 6)}\0 `, 148);
  return block;
}

const TYPE_AT = 156;

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, "0");
}

/** The length in front counts itself. */
function paxRecord(keyword: string, value: string): Buffer {
  const rest = ` ${keyword}=${value}\n`;
  const bytes = Buffer.byteLength(rest);
  const length = bytes + String(bytes + String(bytes).length).length;
  return Buffer.from(`${String(length)}${rest}`, "utf8");
}

function filled(content: Buffer): Buffer {
  const rest = content.length % TAR_BLOCK_BYTES;
  return rest === 0 ? content : Buffer.concat([content, Buffer.alloc(TAR_BLOCK_BYTES - rest)]);
}
