/** `proofwright store verify`: proofs in files, without a server. */
import { generateKeyPairSync, sign } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { runStoreVerify } from "../../src/commands/store.js";
import { proveConsistency, proveInclusion } from "../../src/engine/merkle/dense-proofs.js";
import { consistencyJson, inclusionJson, sparseJson } from "../../src/engine/merkle/proof-json.js";
import { temporaryFolder } from "../platform/auth/support.js";
import { hex, MemoryDenseTree, MemorySparseTree } from "../support/trees.js";

const dense = new MemoryDenseTree(32);
dense.append([11, 12, 13].map(hex));
const sparse = new MemorySparseTree();
sparse.insert([{ key: hex(5), value: hex(6) }]);
let printed: string;
let file: string;

beforeEach(() => {
  file = join(temporaryFolder(), "proof.json");
  printed = "";
  vi.spyOn(process.stdout, "write").mockImplementation((text) => {
    printed += String(text);
    return true;
  });
});

afterEach(() => {
  vi.restoreAllMocks();
});

async function verify(json: unknown, root?: string): Promise<number> {
  writeFileSync(file, typeof json === "string" ? json : JSON.stringify(json));
  return await runStoreVerify({ file, root });
}

describe("store verify", () => {
  const inclusion = inclusionJson(proveInclusion(dense, { index: 1, size: 3 }));

  it("says what each kind of proof proves", async () => {
    expect(await verify(inclusion)).toBe(0);
    expect(printed).toContain(`note 1 of the tree of 3 notes with the root ${dense.state.root}`);
    expect(await verify(consistencyJson(proveConsistency(dense, { fromSize: 2, toSize: 3 })))).toBe(0);
    expect(printed).toContain("is the beginning of the tree of 3 notes");
    expect(await verify(sparseJson(sparse.prove(hex(5))))).toBe(0);
    expect(printed).toContain(`${hex(5)} has the value ${hex(6)}`);
    expect(await verify(sparseJson(sparse.prove(hex(4))))).toBe(0);
    expect(printed).toContain(`${hex(4)} is absent`);
  });

  it("ends with status 1 for a proof that does not hold, and for another root than the trusted one", async () => {
    expect(await verify({ ...inclusion, leaf: hex(1) })).toBe(1);
    expect(printed).toContain("does not hold");
    expect(await verify(inclusion, dense.roots[2])).toBe(1);
    expect(printed).toContain(`its root is another one: ${dense.state.root}`);
    expect(await verify(inclusion, dense.state.root)).toBe(0);
  });

  it("names what is wrong with a file that is no proof", async () => {
    await expect(verify("{")).rejects.toThrow("proof.json is no JSON");
    await expect(verify({ ...inclusion, index: "1" })).rejects.toThrow("index");
    await expect(verify(inclusion, "12")).rejects.toThrow("--root");
    await expect(verify(" ".repeat(1_048_577))).rejects.toThrow("longer");
    await expect(runStoreVerify({ file: `${file}.none`, root: undefined })).rejects.toThrow("cannot be read");
  });
});

describe("store verify with a tree head", () => {
  const STORE = "7a4c1f2e-0000-4000-8000-00000000000a";
  const KID = "7a4c1f2e-0000-4000-8000-00000000000b";
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const jwk = { ...publicKey.export({ format: "jwk" }), kid: KID };
  const claims = {
    ...{ store_id: STORE, kind: "notes", curve: "BN254", size: 3, root: dense.state.root },
    time: "2026-01-02T03:04:05.000Z",
  };
  const inclusion = inclusionJson(proveInclusion(dense, { index: 1, size: 3 }));

  function signed(content: object = claims, header: object = {}, key = privateKey): string {
    const head = { alg: "EdDSA", kid: KID, typ: "pv-tree-head", ...header };
    const text = [head, content].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
    return `${text}.${sign(null, Buffer.from(text), key).toString("base64url")}`;
  }

  interface Tried {
    readonly head?: unknown;
    readonly proof?: unknown;
    readonly keys?: unknown;
    readonly root?: string;
    readonly store?: string;
  }

  async function verifyWith({ head = { jws: signed() }, proof, keys = { keys: [jwk] }, root, store }: Tried = {}) {
    const paths = { head: `${file}.head`, jwks: `${file}.jwks` };
    writeFileSync(paths.head, typeof head === "string" ? head : JSON.stringify(head));
    writeFileSync(paths.jwks, JSON.stringify(keys));
    if (proof !== undefined) writeFileSync(file, JSON.stringify(proof));
    printed = "";
    return await runStoreVerify({ file: proof === undefined ? undefined : file, root, store, ...paths });
  }

  it("tells what a genuine head says, of an answer or a JWS alone, by a key set or a key", async () => {
    expect(await verifyWith()).toBe(0);
    expect(printed).toContain(`the store ${STORE} had 3 notes over BN254, with the root ${dense.state.root}`);
    expect(await verifyWith({ head: `${signed()}\n`, keys: jwk, store: STORE, root: dense.state.root })).toBe(0);
  });

  it("takes the head's root as the one that a proof must lead to", async () => {
    expect(await verifyWith({ proof: { ...inclusion, store_id: STORE } })).toBe(0);
    expect(printed).toContain("is note 1 of the tree of 3 notes");
    expect(printed).toContain("The tree head is genuine");
    expect(await verifyWith({ proof: consistencyJson(proveConsistency(dense, { fromSize: 2, toSize: 3 })) })).toBe(0);
    expect(await verifyWith({ proof: inclusionJson(proveInclusion(dense, { index: 1, size: 2 })) })).toBe(1);
    expect(printed).toContain("The head is of 3 entries");
    const spent = { ...claims, kind: "nullifiers", size: 1, root: sparse.prove(hex(5)).root };
    expect(await verifyWith({ head: signed(spent), proof: sparseJson(sparse.prove(hex(5))) })).toBe(0);
  });

  it("refuses a proof whose store, kind, curve or size is not the head's, although the root is", async () => {
    const other = "7a4c1f2e-0000-4000-8000-00000000000c";
    for (const [tried, told] of [
      [{ proof: { ...inclusion, store_id: other } }, `it is of the store ${other}`],
      [{ proof: inclusion, head: signed({ ...claims, kind: "nullifiers" }) }, "it is about a store of notes"],
      [{ proof: inclusion, head: signed({ ...claims, curve: "BLS12_381" }) }, "its curve is BN254"],
      [{ proof: inclusion, head: signed({ ...claims, size: 4 }) }, "its size is 3"],
    ] as const) {
      expect(await verifyWith(tried)).toBe(1);
      expect(printed).toContain(told);
    }
  });

  it("refuses heads that are forged, of another type, by another or a revoked key, or of something else", async () => {
    const forger = generateKeyPairSync("ed25519").privateKey;
    const [header = "", , signature = ""] = signed().split(".");
    const changed = Buffer.from(JSON.stringify({ ...claims, size: 2 })).toString("base64url");
    const ended = { keys: [jwk], revoked_keys: [{ ...jwk, revoked_at: "2026-02-03T00:00:00.000Z", reason: null }] };
    for (const [tried, code] of [
      [{ head: signed(claims, {}, forger) }, "signature_invalid"],
      [{ head: `${header}.${changed}.${signature}` }, "signature_invalid"],
      [{ head: signed(claims, { typ: "proofwright-receipt+jwt" }) }, "head_malformed"],
      [{ head: signed(claims, { alg: "none" }) }, "head_malformed"],
      [{ head: signed(claims, { kid: STORE }) }, "key_unknown"],
      [{ keys: { keys: [jwk, jwk] } }, "key_unknown"],
      [{ keys: ended }, "key_revoked"],
      [{ head: signed({ ...claims, size: -1 }) }, "claims_invalid"],
      [{ head: signed({ ...claims, time: "no time, and long enough" }) }, "claims_invalid"],
      [{ head: "no token" }, "head_malformed"],
      [{ head: `${signed()}${"A".repeat(4096)}` }, "head_malformed"],
      [{ store: KID }, "head_mismatch"],
      [{ root: hex(1) }, "head_mismatch"],
    ] as const) {
      expect(await verifyWith(tried), code).toBe(1);
      expect(printed).toContain(`The tree head is not accepted (${code})`);
    }
    expect(printed).not.toContain("genuine");
  });

  it("names the file that is no head or no key set", async () => {
    await expect(verifyWith({ head: { size: 3 } })).rejects.toThrow("has no `jws`");
    await expect(verifyWith({ keys: [jwk] })).rejects.toThrow("is no key set and no key");
  });
});
