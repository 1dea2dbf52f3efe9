/** Writes tar archives header by header, so that a test can spoil any field of them. */
import { gzipSync } from "node:zlib";

export interface TarEntry {
  readonly name?: string | Buffer;
  /** `0` by default. */
  readonly type?: string;
  readonly content?: string | Buffer;
  /** In place of the content's length. */
  readonly size?: number | string | Buffer;
  readonly prefix?: string;
  readonly link?: string;
  /** `ustar` of POSIX by default. */
  readonly magic?: string;
  /** In place of the right one. */
  readonly checksum?: string;
}

const BLOCK = 512;
export const TAR_END = Buffer.alloc(2 * BLOCK);

export function tarEntry(entry: TarEntry): Buffer {
  const content = Buffer.from(entry.content ?? "");
  const header = Buffer.alloc(BLOCK);
  const size = entry.size ?? content.length;
  Buffer.from(entry.name ?? "main.circom").copy(header, 0, 0, 100);
  header.write("0000644\0", 100);
  Buffer.from(typeof size === "number" ? `${size.toString(8).padStart(11, "0")}\0` : size).copy(header, 124);
  header.write("00000000000\0", 136);
  header.write(entry.type ?? "0", 156, "latin1");
  header.write(entry.link ?? "", 157);
  header.write(entry.magic ?? "ustar\u000000", 257, "latin1");
  header.write(entry.prefix ?? "", 345);
  header.fill(0x20, 148, 156);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(entry.checksum ?? `${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return Buffer.concat([header, content, Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK)]);
}

export function paxHeader(records: Readonly<Record<string, string | Buffer>>, type = "x"): Buffer {
  const content = Object.entries(records).map(([keyword, value]) => {
    const rest = Buffer.concat([Buffer.from(` ${keyword}=`), Buffer.from(value), Buffer.from("\n")]);
    const length = rest.length + String(rest.length + String(rest.length).length).length;
    return Buffer.concat([Buffer.from(String(length)), rest]);
  });
  return tarEntry({ name: "pax", type, content: Buffer.concat(content) });
}

/** A `.tar.gz` of entries and of raw blocks, with its end. */
export function tarGz(...entries: readonly (TarEntry | Buffer)[]): Buffer {
  return gzipSync(
    Buffer.concat([...entries.map((entry) => (Buffer.isBuffer(entry) ? entry : tarEntry(entry))), TAR_END]),
  );
}
