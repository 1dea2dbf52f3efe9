/** `proofwright receipt`: exit statuses, what it compares, and what it prints, with receipts of a key of the test's own. */
import { execFile } from "node:child_process";
import { createHash, generateKeyPairSync, randomUUID, sign } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { PACKAGE_ROOT } from "../../src/platform/files/package-root.js";
import type { ReceiptClaims } from "../../src/prover/receipts/receipt-schemas.js";
import { hashProof, hashStatement, signalBytes } from "../../src/prover/proofs/public-inputs.js";
import { newFolder } from "../support/temporary-folder.js";

const PROOF = "0a".repeat(128);
const SIGNALS = ["35"];
const PROVER = randomUUID();
const KEY_HASH = "ab".repeat(32);
const KID = randomUUID();
const { privateKey, publicKey } = generateKeyPairSync("ed25519");

let folder: string;

/** Writes a file and returns its path. */
function file(name: string, content: unknown): string {
  const path = join(folder, name);
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}

function receipt(change: Partial<ReceiptClaims> = {}): string {
  const nowMs = Date.now();
  const claims: ReceiptClaims = {
    ...{ iss: "https://prover.example", sub: PROVER, jti: randomUUID(), iat: Math.floor(nowMs / 1000) },
    ...{ time: new Date(nowMs).toISOString(), version: 1, action: "verify", result: true },
    prover: { id: PROVER, name: "cube", tag: null },
    circuit: { identifier: "cubic", r1cs_sha256: null, source_sha256: null },
    ...{ scheme: "groth16", curve: "BN254" },
    setup: { kind: "single_party", transcript_sha256: null, reference_string: null },
    keys: { verifying_sha256: KEY_HASH, proving_sha256: null },
    public_signals: SIGNALS,
    public_signals_count: SIGNALS.length,
    public_signals_sha256: createHash("sha256").update(signalBytes(SIGNALS)).digest("hex"),
    proof_sha256: hashProof(PROOF),
    statement_sha256: hashStatement(PROVER, KEY_HASH, SIGNALS),
    spent: [{ key: "01".repeat(32), index: 0, size: 1, root: "02".repeat(32) }],
    ...{ note: null, checked_by: ["proofwright", "noble", "evm"] },
    ...{ request_id: "request", server: { name: "Proofwright", version: "1.0.0" } },
    ...change,
  };
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const input = `${part({ alg: "EdDSA", kid: KID, typ: "proofwright-receipt+jwt" })}.${part(claims)}`;
  return `${input}.${sign(null, Buffer.from(input), privateKey).toString("base64url")}`;
}

async function run(...args: string[]): Promise<{ status: number; stdout: string; stderr: string }> {
  return await new Promise((resolve) => {
    execFile(process.execPath, [join(PACKAGE_ROOT, "dist/src/cli.js"), "receipt", ...args], (error, stdout, stderr) => {
      resolve({ status: typeof error?.code === "number" ? error.code : 0, stdout, stderr });
    });
  });
}

beforeAll(() => {
  folder = newFolder("receipt");
  file("keys.json", { keys: [{ ...publicKey.export({ format: "jwk" }), kid: KID }], revoked_keys: [] });
  file("receipt", `${receipt()}\n`);
});

describe("proofwright receipt verify", () => {
  it("says what a genuine receipt says, and takes the answer of prove", async () => {
    const answer = file("made.json", { proof: PROOF, public_signals: SIGNALS, receipt: receipt() });
    const keys = `--jwks=${join(folder, "keys.json")}`;
    const told = await run("verify", answer, keys, `--proof=${answer}`, `--prover=${PROVER}`);
    expect(told).toMatchObject({ status: 0, stderr: "" });
    expect(told.stdout).toContain("The receipt is genuine: the proof is valid.");
    expect(told.stdout).toContain("checked by      proofwright, noble, evm");
  });

  it("refuses what is of something else, or not genuine", async () => {
    const keys = `--jwks=${join(folder, "keys.json")}`;
    const plain = join(folder, "receipt");
    const other = await run("verify", plain, keys, `--proof=${file("other.hex", "0b".repeat(128))}`, "--json");
    expect(other.status).toBe(1);
    expect(JSON.parse(other.stdout)).toMatchObject({ ok: false, code: "receipt_mismatch" });
    const signals = file("signals.json", ["36"]);
    expect(await run("verify", plain, keys, `--public-signals=${signals}`)).toMatchObject({ status: 1 });
    const revoked = file("revoked.json", {
      keys: [],
      revoked_keys: [{ kid: KID, revoked_at: "2026-11-22T00:00:00Z" }],
    });
    const late = await run("verify", plain, `--jwks=${revoked}`);
    expect([late.status, late.stdout]).toEqual([1, expect.stringContaining("key_revoked")]);
  });

  it("has a status of its own for a genuine receipt of a proof that is not valid", async () => {
    const path = file("false", receipt({ result: false }));
    const told = await run("verify", path, `--jwks=${join(folder, "keys.json")}`, "--json");
    expect(told.status).toBe(3);
    expect(JSON.parse(told.stdout)).toMatchObject({ ok: false, code: "result_unexpected", claims: { result: false } });
  });

  it("says how it is used, and which file it cannot read", async () => {
    const missing = await run("verify", join(folder, "receipt"));
    expect(missing).toMatchObject({ status: 2, stdout: "" });
    expect(missing.stderr).toContain("--jwks=FILE is missing");
    const keys = `--jwks=${join(folder, "absent.json")}`;
    const absent = await run("verify", join(folder, "receipt"), keys);
    expect([absent.status, absent.stderr]).toEqual([2, expect.stringContaining("absent.json cannot be read")]);
    const nothing = await run("verify", join(folder, "receipt"), "--jwks=");
    expect([nothing.status, nothing.stderr]).toEqual([2, expect.stringContaining("--jwks=FILE is missing")]);
    const unnamed = await run("verify", join(folder, "receipt"), `--jwks=${join(folder, "keys.json")}`, "--proof=");
    expect([unnamed.status, unnamed.stderr]).toEqual([2, expect.stringContaining("the name of a file is empty")]);
    expect((await run("--help")).stdout).toContain("Usage: proofwright receipt verify FILE --jwks=FILE");
  });
});
