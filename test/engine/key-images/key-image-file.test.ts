/**
 * Open keys as files: what is read proves as what was written, and anything else is refused. The keys in test/vectors
 * are of X^3 + X + 5 = Y (support/groth16-fixtures.ts), made once by this server; their secrets are unknown.
 */
import { createHash } from "node:crypto";
import { appendFileSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { keyImage, KeyImageError, KEY_IMAGE_VERSION } from "../../../src/engine/key-images/key-image.js";
import { readKeyImage, writeKeyImage } from "../../../src/engine/key-images/key-image-file.js";
import type { SharedKey } from "../../../src/engine/kernels/threads/shared-key.js";
import { takeWorkspace } from "../../../src/engine/kernels/threads/workspaces.js";
import { wasmHost } from "../../../src/engine/kernels/wasm/wasm-host.js";
import type { ProofSystemName } from "../../../src/engine/proof-systems/names.js";
import { proofSystem } from "../../../src/engine/proof-systems/table.js";
import type { OpenKeyRoom } from "../../../src/engine/protocol.js";
import { cubicFixture } from "../../support/groth16-fixtures.js";
import { KERNEL_KINDS } from "../../support/kernels.js";
import { folderOfTest } from "../../support/temporary-folder.js";
import { seededRandom } from "../../support/groth16-fixtures.js";

const FORM = "a form";
/**
 * SHA-256 of what each key is in memory with two workspaces, by the kind of kernels. A change of these numbers means
 * that images of an earlier version are read wrongly: KEY_IMAGE_VERSION must then grow.
 */
const CONTENT: Readonly<Record<string, Readonly<Record<"fma" | "integer", string>>>> = {
  "groth16/BN254": {
    fma: "a638b3e9b03a2d58e7a28066a89711684da56c38e4e1ac9fccb44f77994800c1",
    integer: "4ca04369836a734f40a725b0d267c76706c7c4e8ec76effca1fcd3b49d30746b",
  },
  "groth16/BLS12_381": {
    fma: "b7554d56cc83442de74f82d71fcfcb84216a1b584c57934b0747d6a324f31522",
    integer: "4d52cc17baf3fb206d12f46d4a9c4f3ae6f294e3986730ae8be4f5d64cc3671a",
  },
  "plonk/BN254": {
    fma: "d0c572a7d09e07201277240809dd9607462a06d786005cb801247ce898c055e8",
    integer: "23ba7eefe3c2cb4336c0875834eaad960fb78c70f8385bfabebe3c589bd49f2d",
  },
  "fflonk/BN254": {
    fma: "0ad8b7249a7c25e348008d49865271edc8bea4914cc1ded565b3b1f6dff0de71",
    integer: "3744dbde0e07f954196bea88bad53f0d9b644357f2817546ad559bfb0ee1d979",
  },
};
const SYSTEMS = Object.keys(CONTENT) as ProofSystemName[];

function vector(name: ProofSystemName, extension: "key" | "json"): Buffer {
  const file = `${name.toLowerCase().replaceAll(/[/_]/g, "-")}.${extension}`;
  return readFileSync(new URL(`../../vectors/open-keys/${file}`, import.meta.url));
}

function open(name: ProofSystemName, places: OpenKeyRoom = { workspaces: 2 }): SharedKey {
  const system = proofSystem(name);
  return system.openKey(system.readProvingKey(vector(name, "key")), places);
}

/** Proves with an open key, and verifies the proof by the key that belongs to it. */
async function proves(name: ProofSystemName, key: SharedKey): Promise<boolean> {
  const system = proofSystem(name);
  const { witness } = cubicFixture(3n, system.curve);
  const proof = system.openProver(key).prove(witness);
  const verifyingKey: unknown = JSON.parse(vector(name, "json").toString("utf8"));
  return system.verify(system.prepareKey(verifyingKey, await system.loadPairing("wasm")), proof, [35n]);
}

/** A file with the image of a Groth16 key, and its hash. */
function written(): { readonly path: string; readonly sha256: string; readonly bytes: number } {
  const path = join(folderOfTest("key-image"), "image");
  return { path, ...writeKeyImage(path, open("groth16/BN254"), FORM) };
}

describe("an open key that was written and read", () => {
  it.each(SYSTEMS)("proves as before (%s)", async (name) => {
    const path = join(folderOfTest("key-image"), "image");
    const key = open(name);
    const { sha256, bytes } = writeKeyImage(path, key, FORM);
    const content = readFileSync(path);
    expect([sha256, bytes]).toEqual([createHash("sha256").update(content).digest("hex"), content.length]);
    const read = readKeyImage(path, { sha256, form: FORM });
    const { memory: _own, ...places } = key;
    const { memory, ...same } = read;
    expect([same, memory.buffer.byteLength]).toEqual([places, key.memory.buffer.byteLength]);
    expect(await proves(name, read)).toBe(true);
  });

  it.each(SYSTEMS)("has room for each thread, though all of it was taken when it was written (%s)", async (name) => {
    const path = join(folderOfTest("key-image"), "image");
    const key = open(name, { workspaces: 1, helpers: 2 });
    expect(takeWorkspace(key)).toBeDefined();
    const { sha256 } = writeKeyImage(path, key, FORM);
    expect(await proves(name, readKeyImage(path, { sha256, form: FORM }))).toBe(true);
  });

  it("has its parts outside of the memory again, wherever they are named", () => {
    const path = join(folderOfTest("key-image"), "image");
    const section = (byte: number, length: number): SharedArrayBuffer => {
      const buffer = new SharedArrayBuffer(length);
      new Uint8Array(buffer).fill(byte);
      return buffer;
    };
    const key = {
      ...open("plonk/BN254"),
      verifyingKey: { point: { x: 2n ** 253n, none: undefined } },
      cosets: [{ scale: section(7, 3_000_001) }, { scale: 64, fixed: { s1: section(9, 64) } }],
    };
    const { sha256 } = writeKeyImage(path, key, FORM);
    const read = readKeyImage(path, { sha256, form: FORM }) as unknown as typeof key;
    expect(read.verifyingKey).toStrictEqual(key.verifyingKey);
    expect(Buffer.from(read.cosets[0]!.scale as SharedArrayBuffer).equals(Buffer.alloc(3_000_001, 7))).toBe(true);
    expect(Buffer.from(read.cosets[1]!.fixed!.s1).equals(Buffer.alloc(64, 9))).toBe(true);
    expect(read.cosets[1]!.scale).toBe(64);
  });

  it("leaves out what proofs have written: nothing of a witness is in it", async () => {
    const key = open("groth16/BN254");
    const before = keyImage(key);
    const hashes = [Buffer.concat([...before.parts]), undefined] as [Buffer, Buffer | undefined];
    expect(await proves("groth16/BN254", key)).toBe(true);
    hashes[1] = Buffer.concat([...keyImage(key).parts]);
    expect(hashes[0].equals(hashes[1])).toBe(true);
    expect(before.sizes.memory).toBe(key.keyBytes);
  });
});

describe("a file that is not the one that was written", () => {
  const random = seededRandom("key images");

  it(`is refused when a bit of it is another, seed ${String(random.seed)}`, () => {
    const { path, sha256, bytes } = written();
    const sound = readFileSync(path);
    const front = sound.indexOf(10) + 1;
    const places = [0, front - 1, front, bytes - 1, ...Array.from({ length: 60 }, () => random.integer(bytes))];
    for (const place of places) {
      const spoilt = Uint8Array.from(sound);
      spoilt[place] = (spoilt[place] ?? 0) ^ (1 << random.integer(8));
      writeFileSync(path, spoilt);
      expect(() => readKeyImage(path, { sha256, form: FORM })).toThrow(KeyImageError);
    }
  });

  it("is refused when it is shorter, longer, empty or without a front", () => {
    const { path, sha256, bytes } = written();
    const refused = (): void => {
      expect(() => readKeyImage(path, { sha256, form: FORM })).toThrow(KeyImageError);
    };
    appendFileSync(path, "\0");
    refused();
    truncateSync(path, bytes - 1);
    refused();
    truncateSync(path, 20);
    refused();
    truncateSync(path, 0);
    refused();
    writeFileSync(path, Buffer.alloc(100_000, 0x20));
    refused();
  });

  it.each([
    { pages: 65_537 },
    { pages: -1 },
    { pages: 1.5 },
    { pages: "10" },
    { memory: 2 ** 40 },
    { names: 2 ** 30 },
    { sections: [-1] },
    { sections: Array.from({ length: 65 }, () => 0) },
    { sections: {} },
    { memory: undefined },
  ])("is refused for sizes that no key has, before memory is taken: %j", (wrong) => {
    const { path } = written();
    const content = readFileSync(path);
    const end = content.indexOf(10);
    const front = { ...(JSON.parse(content.toString("utf8", 0, end)) as object), ...wrong };
    const spoilt = Buffer.concat([Buffer.from(JSON.stringify(front)), content.subarray(end)]);
    writeFileSync(path, spoilt);
    const sha256 = createHash("sha256").update(spoilt).digest("hex");
    expect(() => readKeyImage(path, { sha256, form: FORM })).toThrow(KeyImageError);
  });

  it("is refused in another form", () => {
    const { path, sha256 } = written();
    expect(() => readKeyImage(path, { sha256, form: "another" })).toThrow("another form");
  });

  it("is refused when its names cannot be read, as those of a newer V8", () => {
    const { path } = written();
    const content = readFileSync(path);
    const end = content.indexOf(10) + 1;
    const { memory } = JSON.parse(content.toString("utf8", 0, end)) as { memory: number };
    content[end + memory + 1] = 0x7f;
    writeFileSync(path, content);
    const sha256 = createHash("sha256").update(content).digest("hex");
    expect(() => readKeyImage(path, { sha256, form: FORM })).toThrow("names");
  });

  it("is refused when another kind of processor has written it", () => {
    const path = join(folderOfTest("key-image"), "image");
    const key = open("groth16/BN254");
    const { sha256 } = writeKeyImage(path, { ...key, kind: key.kind === "fma" ? "integer" : "fma" }, FORM);
    expect(() => readKeyImage(path, { sha256, form: FORM })).toThrow("kind of processor");
  });

  it("is not written over another file", () => {
    const { path } = written();
    expect(() => writeKeyImage(path, open("groth16/BN254"), FORM)).toThrow("EEXIST");
  });
});

describe("what an open key is in memory", () => {
  it.each(SYSTEMS.flatMap((name) => KERNEL_KINDS.map((kind) => [name, kind] as const)))(
    `is what images of version ${String(KEY_IMAGE_VERSION)} have (%s, %s)`,
    (name, kind) => {
      const key = open(name, { workspaces: 2, ...{ preferred: kind } });
      const hash = createHash("sha256").update(new Uint8Array(key.memory.buffer, 0, key.keyBytes).slice());
      const { memory: _memory, ...places } = key;
      hash.update(
        JSON.stringify(places, (_name, value: unknown) => (typeof value === "bigint" ? String(value) : value)),
      );
      expect([key.kind, hash.digest("hex")]).toEqual([kind, CONTENT[name]?.[kind]]);
    },
  );
});

it("takes a memory of the size that the key had, and no more", () => {
  const key = open("groth16/BN254");
  const memory = new wasmHost.Memory({ initial: 1, maximum: 1, shared: true });
  expect(keyImage(key).sizes.pages * memory.buffer.byteLength).toBe(key.memory.buffer.byteLength);
});
