/** Archives of source: what programs write is read, and what could mean two things, or lead out, is refused. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CollectedFiles } from "../../../src/platform/archive/collected-files.js";
import { readTarGz } from "../../../src/platform/archive/read-tar.js";
import { writeTarGz } from "../../../src/platform/archive/write-tar.js";
import { AppError } from "../../../src/platform/errors.js";
import { paxHeader, TAR_END, tarEntry, tarGz, type TarEntry } from "../../support/tar.js";
import { folderOfTest } from "../../support/temporary-folder.js";

const LIMITS = { bytesMax: 4096, filesMax: 5 };
const ARCHIVE = { bytesMax: 1024 * 1024, entriesMax: 20 };

async function read(
  packed: Uint8Array,
  { limits = LIMITS, archive = ARCHIVE, reserve = (_bytes: number): void => undefined } = {},
): Promise<Record<string, string>> {
  const files = new CollectedFiles({ ...limits, extension: ".circom", reserve });
  await readTarGz(packed, files, archive);
  return Object.fromEntries(files.texts);
}

async function refusal(packed: Uint8Array, options?: Parameters<typeof read>[1]): Promise<string> {
  const failure: unknown = await read(packed, options).then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(failure).toBeInstanceOf(AppError);
  const { code, message } = failure as AppError;
  return `${code}: ${message}`;
}

/** As long as a path may be, and longer than the fields of a header take. */
const LONG_PATH = `${"folder/".repeat(10)}${"n".repeat(123)}.circom`;
const PROJECT = {
  "circuits/main.circom": 'include "../lib/gates.circom"; // ä€😀\n',
  "lib/gates.circom": "template T() {}\n",
  [LONG_PATH]: "template Long() {}\n",
};

describe("an archive", () => {
  it.each(["gnu", "posix", "pax"])("of the program tar is read in the format %s", async (format) => {
    const folder = folderOfTest("tar");
    const others = { "README.md": "# Circuits", ".git/config": "[core]", "._main.circom": "\0\0" };
    for (const [path, text] of Object.entries({ ...PROJECT, ...others })) {
      mkdirSync(dirname(join(folder, "in", path)), { recursive: true });
      writeFileSync(join(folder, "in", path), text);
    }
    const file = join(folder, "x.tar.gz");
    execFileSync("tar", ["-czf", file, `--format=${format}`, "-C", join(folder, "in"), "."]);
    expect(await read(readFileSync(file), { archive: { ...ARCHIVE, entriesMax: 100 } })).toEqual(PROJECT);
  });

  it.each(["v7", "ustar"])("with short names is read in the format %s", async (format) => {
    const folder = folderOfTest("tar");
    writeFileSync(join(folder, "main.circom"), "template T() {}");
    const file = join(folder, "x.tar.gz");
    execFileSync("tar", ["-czf", file, `--format=${format}`, "-C", folder, "main.circom"]);
    expect(await read(readFileSync(file))).toEqual({ "main.circom": "template T() {}" });
  });

  it("that is written is read again, by the program tar too", async () => {
    const packed = await writeTarGz(PROJECT);
    expect(await read(packed)).toEqual(PROJECT);
    const listed = execFileSync("tar", ["-tzf", "-"], { input: packed, encoding: "utf8" });
    expect(listed.trim().split("\n").sort()).toEqual(Object.keys(PROJECT).sort());
  });

  it("is the same, byte for byte, in whatever order the files were named", async () => {
    const reversed = Object.fromEntries(Object.entries(PROJECT).reverse());
    expect(await writeTarGz(reversed)).toEqual(await writeTarGz(PROJECT));
  });

  it("keeps any text and any path", async () => {
    const part = fc.stringMatching(/^[A-Za-z0-9_@][A-Za-z0-9_.@+-]{0,60}$/);
    const path = fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => `${parts.join("/")}.circom`);
    const text = fc.string({ minLength: 1, maxLength: 700, unit: "binary" }).map((chars) => chars.toWellFormed());
    await fc.assert(
      fc.asyncProperty(fc.dictionary(path, text, { minKeys: 1, maxKeys: 5, noNullPrototype: true }), async (files) => {
        const limits = { bytesMax: 20_000, filesMax: 5 };
        expect(await read(await writeTarGz(files), { limits })).toEqual(files);
      }),
      { numRuns: 20 },
    );
  });

  it("of several gzip members is read whole", async () => {
    const tar = Buffer.concat([tarEntry({ content: "a" }), TAR_END]);
    expect(await read(Buffer.concat([gzipSync(tar.subarray(0, 700)), gzipSync(tar.subarray(700))]))).toEqual({
      "main.circom": "a",
    });
  });

  it("may have global pax headers and attributes of any bytes", async () => {
    const attributes = paxHeader({ "SCHILY.xattr.user.x": Buffer.from([0xff, 0, 0x0a]), mtime: "1.5" });
    expect(await read(tarGz(paxHeader({ comment: "a3f1" }, "g"), attributes, { content: "a" }))).toEqual({
      "main.circom": "a",
    });
  });
});

describe("names in an archive", () => {
  it.each([
    ["/etc/x.circom", "is absolute"],
    ["C:/x.circom", "is absolute"],
    ["../x.circom", "has a part '.' or '..'"],
    ["a/../../x.circom", "has a part '.' or '..'"],
    ["./../x.circom", "has a part '.' or '..'"],
    ["a/./x.circom", "has a part '.' or '..'"],
    ["..", "has a part '.' or '..'"],
    ["a//x.circom", "has an empty part"],
    ["a\\..\\x.circom", "has a backslash"],
    ["a\nb.circom", "has a control character"],
    ["", "is empty"],
  ])("are refused that lead elsewhere: %j", async (name, fault) => {
    const expected = `files_invalid: the name "${name.replace("\n", "?")}" ${fault}`;
    expect(await refusal(tarGz({ name, content: "a" }))).toBe(expected);
    if (name !== "") expect(await refusal(tarGz(paxHeader({ path: name }), { content: "a" }))).toBe(expected);
    // Whether a file would be kept does not matter.
    expect(await refusal(tarGz({ name, type: "5" }))).toBe(expected);
  });

  it.each([
    [{ name: Buffer.from("a\xe9.circom", "latin1"), content: "a" }],
    [paxHeader({ path: Buffer.from("a\xe9.circom", "latin1") })],
    [paxHeader({ hdrcharset: "BINARY", path: "a.circom" })],
    [tarEntry({ type: "L", content: Buffer.from("a\xe9.circom\0", "latin1") })],
  ])("are refused that are not UTF-8 (%#)", async (entry) => {
    expect(await refusal(tarGz(entry, { content: "a" }))).toBe("files_invalid: a name in the archive is not UTF-8");
  });

  it("are refused that are there twice, kept or not, and by either spelling", async () => {
    for (const name of ["main.circom", "README.md"])
      expect(await refusal(tarGz({ name, content: "a" }, { name: `./${name}`, content: "b" }))).toBe(
        `files_invalid: the file "${name}" is there twice`,
      );
  });

  it("are those of pax and of GNU where they are given, and never two", async () => {
    const pax = paxHeader({ path: LONG_PATH });
    const gnu = tarEntry({ name: "././@LongLink", type: "L", content: `${LONG_PATH}\0` });
    for (const named of [pax, gnu]) expect(await read(tarGz(named, { content: "a" }))).toEqual({ [LONG_PATH]: "a" });
    for (const both of [
      [pax, gnu],
      [gnu, pax],
      [pax, pax],
      [gnu, gnu],
    ])
      expect(await refusal(tarGz(...both, { content: "a" }))).toContain("has two names");
    expect(await refusal(tarGz(pax))).toContain("ends behind a header");
  });

  it("do not go on behind a zero byte", async () => {
    expect(await refusal(tarGz({ name: "a.circom\0../../b.circom", content: "a" }))).toContain(
      "goes on behind its end",
    );
    expect(await refusal(tarGz(paxHeader({ path: "a.circom\0b" }), { content: "a" }))).toContain(
      "goes on behind its end",
    );
  });
});

describe("entries of an archive", () => {
  it.each([
    ["1", "a hard link"],
    ["2", "a symbolic link"],
    ["3", "a character device"],
    ["4", "a block device"],
    ["6", "a named pipe"],
    ["S", "a sparse file"],
    ["K", "a link"],
    ["V", "of an unknown kind"],
    ["Z", "of an unknown kind"],
  ])("are refused of the type %s", async (type, kind) => {
    const message = `files_invalid: "lib.circom" in the archive is ${kind}`;
    expect(await refusal(tarGz({ name: "lib.circom", type, link: "/etc/passwd" }))).toBe(message);
  });

  it("are refused that are sparse by pax", async () => {
    expect(await refusal(tarGz(paxHeader({ "GNU.sparse.major": "1" }), { content: "a" }))).toContain("sparse");
  });

  it("have one length: an archive in which two programs see two trees is refused", async () => {
    // As in CVE-2025-62518, where one parser follows the pax size and another the header's.
    const hidden = Buffer.concat([tarEntry({ name: "hidden.circom", content: "b" })]);
    const entry = tarEntry({ name: "main.circom", size: 0 });
    const archive = tarGz(paxHeader({ size: String(hidden.length) }), entry, hidden);
    expect(await refusal(archive)).toBe('files_invalid: the archive states two lengths for "main.circom"');
    expect(await refusal(tarGz(paxHeader({ size: "1" }, "g"), { content: "a" }))).toContain("to all its entries");
    expect(await read(tarGz(paxHeader({ size: "1" }), { content: "a" }))).toEqual({ "main.circom": "a" });
  });

  it("have a length that is a number", async () => {
    const binary = Buffer.alloc(12);
    binary.writeUInt32BE(1, 8);
    binary[0] = 0x80;
    expect(await read(tarGz({ content: "a", size: binary }))).toEqual({ "main.circom": "a" });
    for (const size of [
      "-0000000001\0",
      "9\0",
      Buffer.alloc(12, 0xff),
      Buffer.concat([binary.subarray(0, 1), Buffer.alloc(11, 0xff)]),
    ])
      expect(await refusal(tarGz({ content: "a", size }))).toBe(
        'files_invalid: the length of "main.circom" is malformed',
      );
    for (const size of ["-1", "1e3", "00", "x"])
      expect(await refusal(tarGz(paxHeader({ size }), { content: "a" }))).toContain("pax header");
  });

  it("are text, and not empty", async () => {
    expect(await refusal(tarGz({ content: Buffer.from([0xff]) }))).toContain("is not UTF-8 text");
    expect(await refusal(tarGz({}))).toContain("is empty");
    expect(await refusal(tarGz({ type: "5", content: "a" }))).toContain("has a content");
  });
});

describe("a damaged archive", () => {
  const whole: readonly TarEntry[] = [{ content: "a".repeat(600) }, { name: "b.circom", content: "b" }];

  it("is refused with a wrong checksum, in the header or of gzip", async () => {
    expect(await refusal(tarGz({ content: "a", checksum: "000001\0 " }))).toContain("checksum is wrong");
    expect(await refusal(gzipSync(Buffer.from("no tar".padEnd(2048, "x"))))).toContain("no tar archive");
    const packed = tarGz(...whole);
    packed.writeUInt32LE((packed.readUInt32LE(packed.length - 8) ^ 1) >>> 0, packed.length - 8);
    expect(await refusal(packed)).toBe("files_invalid: the archive is not gzip, or is damaged or cut off");
  });

  it("is refused at every length but its own", async () => {
    const packed = tarGz(...whole);
    for (let length = 0; length < packed.length; length += 7)
      expect(await refusal(packed.subarray(0, length)), String(length)).toMatch(/^files_invalid: /);
    const tar = gunzipSync(packed);
    for (let length = 0; length < tar.length; length += 256)
      expect(await refusal(gzipSync(tar.subarray(0, length))), String(length)).toMatch(/^files_invalid: /);
  });

  it("is refused with bytes behind its end", async () => {
    const tar = gunzipSync(tarGz(...whole));
    const blocks = Buffer.alloc(8192);
    expect(Object.keys(await read(gzipSync(Buffer.concat([tar, blocks]))))).toHaveLength(2);
    blocks[8191] = 1;
    expect(await refusal(gzipSync(Buffer.concat([tar, blocks])))).toContain("goes on behind its end");
    for (const more of [Buffer.from("more"), Buffer.alloc(9)])
      expect(await refusal(Buffer.concat([gzipSync(tar), more]))).toMatch(/^files_invalid: the archive (?:is|has)/);
    const lone = Buffer.concat([tarEntry({ content: "a" }), Buffer.alloc(512), tarEntry({ content: "b" }), TAR_END]);
    expect(await refusal(gzipSync(lone))).toContain("goes on behind its end");
  });

  it("never fails otherwise, whichever bytes are changed", async () => {
    const tar = gunzipSync(tarGz(paxHeader({ path: LONG_PATH }), ...whole));
    await fc.assert(
      fc.asyncProperty(fc.nat(tar.length - 1), fc.nat(255), async (at, byte) => {
        const spoilt = Buffer.from(tar);
        spoilt[at] = byte;
        const outcome: unknown = await read(gzipSync(spoilt)).catch((error: unknown) => error);
        expect(outcome instanceof AppError || !(outcome instanceof Error)).toBe(true);
      }),
      { numRuns: 60 },
    );
  });
});

describe("the limits of an archive", () => {
  it("hold for names, kept or not, by every way to give them", async () => {
    const fault = "has more than 200 characters";
    for (const name of [`a${LONG_PATH}`, "n".repeat(201), "n".repeat(60_000)])
      for (const named of [paxHeader({ path: name }), tarEntry({ type: "L", content: `${name}\0` })])
        for (const entry of [{ content: "a" }, { type: "5" }])
          expect(await refusal(tarGz(named, entry))).toBe(`files_invalid: the name "${name.slice(0, 64)}" ${fault}`);
    expect(await refusal(tarGz({ prefix: "p".repeat(110), name: "n".repeat(90), content: "a" }))).toContain(fault);
    expect(await read(tarGz(paxHeader({ path: `./${LONG_PATH}` }), { content: "a" }))).toEqual({ [LONG_PATH]: "a" });
  });

  it("hold for names before they are remembered", async () => {
    const names = Array.from({ length: 20 }, (_, i) => ({ name: `${"n".repeat(80)}${String(i)}`, content: "a" }));
    let left = 1000;
    const reserve = (bytes: number): void => {
      left -= bytes;
      if (left < 0) throw new AppError("overloaded", { message: "full" });
    };
    expect(await refusal(tarGz(...names), { reserve })).toBe("overloaded: full");
  });

  it("hold for the records of a pax header", async () => {
    const records = (count: number): Buffer =>
      paxHeader(Object.fromEntries(Array.from({ length: count }, (_, i) => [`SCHILY.xattr.${String(i)}`, "x"])));
    expect(await read(tarGz(records(64), { content: "a" }))).toEqual({ "main.circom": "a" });
    expect(await refusal(tarGz(records(65), { content: "a" }))).toContain("too many records");
  });

  it("hold for files that are kept, their bytes and all entries, to the last one", async () => {
    const files = Array.from({ length: 5 }, (_, i) => ({ name: `${String(i)}.circom`, content: "a".repeat(819) }));
    const [first, ...rest] = files;
    const full = [{ ...first, content: "a".repeat(820) }, ...rest];
    expect(Object.keys(await read(tarGz(...full)))).toHaveLength(5);
    const longer = [{ ...first, content: "a".repeat(821) }, ...rest];
    expect(await refusal(tarGz(...longer))).toBe("files_too_large: the files may have 4096 bytes in all");
    expect(await refusal(tarGz(...full, { name: "6.circom", content: "a" }))).toContain("at most 5 files");
    const others = Array.from({ length: 20 }, (_, i) => ({ name: String(i), content: "a" }));
    expect(await read(tarGz(...others))).toEqual({});
    expect(await refusal(tarGz(...others, { content: "a" }))).toBe("files_too_large: the archive may have 20 entries");
  });

  it("end a bomb before it is unpacked", async () => {
    const bomb = tarGz({ name: "zeros", content: Buffer.alloc(2 * 1024 * 1024) });
    expect(await refusal(bomb)).toBe("files_too_large: the archive unpacks to more than 1048576 bytes");
    const archive = { ...ARCHIVE, bytesMax: 64 * 1024 * 1024 };
    expect(await refusal(bomb, { archive })).toMatch(
      /^files_too_large: the archive unpacks to more than \d{6,7} bytes$/,
    );
    // The length in the header alone is enough.
    expect(await refusal(tarGz({ size: 2 ** 32, content: "a" }))).toContain("4096 bytes in all");
    expect(await refusal(tarGz(tarEntry({ type: "L", size: 2 ** 20 })))).toContain("too long");
  });

  it("are counted before a content is read", async () => {
    const reserved: number[] = [];
    await read(tarGz({ content: "abc" }, { name: "README.md", content: "x".repeat(3000) }), {
      reserve: (bytes) => void reserved.push(bytes),
    });
    const ofNames = ["main.circom", "README.md"].map((name) => 2 * name.length + 64);
    expect(reserved).toEqual([ofNames[0], 3, ofNames[1]]);
  });
});
