/**
 * Receipts over HTTP: what they say, that `jose` alone checks them with the published keys, and what becomes of them when
 * anything is changed, another key or algorithm is tried, or keys are rotated, revoked, disabled or deleted.
 */
import { createHash, createHmac, generateKeyPairSync, randomUUID, sign as signBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { compactVerify, createLocalJWKSet, decodeJwt, decodeProtectedHeader } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bindRoutes } from "../../../src/platform/contract/route.js";
import { PACKAGE_ROOT } from "../../../src/platform/files/package-root.js";
import { proverRoutes } from "../../../src/prover/routes.js";
import type { ReceiptClaims, ReceiptKey, ReceiptKeySet } from "../../../src/prover/receipts/receipt-schemas.js";
import { ReceiptKeys as ReceiptSigners } from "../../../src/prover/receipts/receipt-keys.js";
import { Receipts, type RequestAttestation } from "../../../src/prover/receipts/receipts.js";
import type { ProveResult, VerifyResult } from "../../../src/prover/schemas.js";
import { proverVault } from "../../../src/prover/vault-port.js";
import { KeyLifecycle } from "../../../src/vault/keys/key-lifecycle.js";
import { VaultRepository } from "../../../src/vault/repository.js";
import { verifyReceipt, type ReceiptError, type ReceiptKeys } from "../../../src/verify-receipt.js";
import { BEARER, JSON_HEADERS, startFront, type Front } from "../../platform/http/support.js";
import { subject } from "../../vault/support.js";
import { failureOf, never, openTestRegistry, principalOf, provision, type TestRegistry } from "../support.js";

const OWNER = { kind: "user", id: "7a4c1f2e-0000-4000-8000-00000000000a" } as const;
const INPUTS = { X: "3", Y: "35" };

let registry: TestRegistry;
let front: Front;
let id: string;

beforeAll(async () => {
  registry = await openTestRegistry();
  const { handlers, bodyLimits } = registry.registry;
  front = await startFront({ routes: bindRoutes(proverRoutes, handlers, bodyLimits) });
  ({ id } = await provision(registry.provers, OWNER, { name: "receipts", tags: ["v1"] }));
});
afterAll(async () => {
  await front.server.stop({ graceMs: 0 });
  await registry.close();
});

interface Answer<T> {
  readonly status: number;
  readonly body: T;
}

async function post<T>(path: string, body: unknown = {}): Promise<Answer<T>> {
  const response = await fetch(`${front.url}/api/v1/provers/${path}`, {
    method: "POST",
    headers: JSON_HEADERS,
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as T };
}

/** As a stranger reads it: without a token. */
async function keySet(prover = id): Promise<ReceiptKeySet> {
  const response = await fetch(`${front.url}/api/v1/provers/${prover}/jwks.json`);
  expect(response.status).toBe(200);
  return (await response.json()) as ReceiptKeySet;
}

async function prove(prover = id): Promise<ProveResult & { readonly receipt: string }> {
  const { status, body } = await post<ProveResult>(`${prover}/prove`, { witness: INPUTS, receipt: true });
  expect(status).toBe(201);
  return { ...body, receipt: receiptIn(body) };
}

async function verify(body: object, prover = id): Promise<VerifyResult> {
  const answered = await post<VerifyResult>(`${prover}/verify`, body);
  expect(answered.status).toBe(200);
  return answered.body;
}

function receiptIn({ receipt }: { readonly receipt?: string }): string {
  if (receipt === undefined) throw new Error("the answer has no receipt");
  return receipt;
}

/** What jose says of it, with nothing of ours. */
async function checkedByJose(receipt: string, keys: ReceiptKeySet): Promise<ReceiptClaims> {
  const set = createLocalJWKSet(keys);
  const { payload, protectedHeader } = await compactVerify(receipt, set, { algorithms: ["EdDSA"] });
  expect(protectedHeader).toMatchObject({ alg: "EdDSA", typ: "proofwright-receipt+jwt" });
  return JSON.parse(new TextDecoder().decode(payload)) as ReceiptClaims;
}

/** The code with which a receipt is refused. */
async function refusalOf(
  receipt: string,
  keys: ReceiptKeys,
  expected?: Parameters<typeof verifyReceipt>[2],
): Promise<string> {
  try {
    await verifyReceipt(receipt, keys, expected);
    return "accepted";
  } catch (error) {
    return (error as ReceiptError).code;
  }
}

const sha256 = (hex: string): string => createHash("sha256").update(Buffer.from(hex, "hex")).digest("hex");

describe("a receipt of prove", () => {
  it("says what was proven, and by what; jose alone checks it", async () => {
    const made = await prove();
    const claims = await checkedByJose(made.receipt, await keySet());
    const prover = registry.provers.get(OWNER, id);
    const files = Object.fromEntries(
      (await registry.provers.artifacts(OWNER, id)).map(({ name, sha256: hash }) => [name, hash]),
    );
    expect(claims).toMatchObject({
      sub: id,
      version: 1,
      action: "prove",
      result: true,
      prover: { id, name: "receipts", tag: null },
      circuit: { identifier: "cubic", r1cs_sha256: files["circuit.r1cs"], source_sha256: prover.source_hash },
      scheme: "groth16",
      curve: "BN254",
      setup: { kind: "single_party", transcript_sha256: null, reference_string: null },
      keys: { verifying_sha256: files["verifying_key.json"], proving_sha256: files["proving_key.zkey"] },
      public_signals: ["35"],
      public_signals_count: 1,
      public_signals_sha256: sha256("23".padStart(64, "0")),
      proof_sha256: made.hash,
      statement_sha256: made.statement_hash,
      spent: [],
      checked_by: ["proofwright"],
      server: { name: "Proofwright" },
    });
    const { size } = await registry.provers.note(OWNER, id, made.note_index);
    expect(claims.note).toMatchObject({ store_id: prover.note_store_id, index: made.note_index, size });
  });

  it("names the tag by which the prover was asked for", async () => {
    const made = await prove("receipts:v1");
    expect(decodeJwt(made.receipt)).toMatchObject({ sub: id, prover: { id, tag: "receipts:v1" } });
  });

  it("is not there unless it is asked for", async () => {
    const { body } = await post<ProveResult>(`${id}/prove`, { witness: INPUTS });
    expect(body).not.toHaveProperty("receipt");
    expect(body).not.toHaveProperty("checked_by");
    expect(await verify({ proof: body.proof, witness: INPUTS })).toEqual({ result: true });
  });

  it("fits the schema that the server serves and the tree keeps", async () => {
    const served = await (await fetch(`${front.url}/schemas/receipt.json`)).text();
    const kept = readFileSync(join(PACKAGE_ROOT, "src/prover/receipts/receipt.schema.json"), "utf8");
    expect(served).toBe(kept);
    const ajv = new Ajv2020({ strict: true });
    (addFormats as unknown as { default: (ajv: Ajv2020) => void }).default(ajv);
    const fits = ajv.compile(JSON.parse(served) as object);
    const made = await prove();
    const claims = decodeJwt(made.receipt);
    expect([fits(claims), fits.errors]).toEqual([true, null]);
    for (const name of Object.keys(claims)) {
      const { [name]: _left, ...rest } = claims;
      expect(fits(rest), name).toBe(false);
    }
    expect(fits({ ...claims, more: 1 })).toBe(false);
  });
});

describe("a receipt of verify", () => {
  it("says that a proof is valid, and of a stored one where its note is", async () => {
    const made = await prove();
    const { receipt, result } = await verify({ proof: made.proof, public_signals: ["35"], receipt: true, store: true });
    expect(result).toBe(true);
    const claims = await checkedByJose(receiptIn({ ...(receipt === undefined ? {} : { receipt }) }), await keySet());
    expect(claims).toMatchObject({ action: "verify", result: true, keys: { proving_sha256: null } });
    expect(claims.note?.index).toBeGreaterThan(made.note_index);
  });

  it("says that a proof is not valid", async () => {
    const made = await prove();
    const answer = await verify({ proof: made.proof, public_signals: ["36"], receipt: true });
    expect(answer.result).toBe(false);
    const receipt = receiptIn(answer);
    expect(await checkedByJose(receipt, await keySet())).toMatchObject({
      result: false,
      public_signals: ["36"],
      note: null,
    });
    const keys = await keySet();
    expect(await refusalOf(receipt, keys)).toBe("result_unexpected");
    expect(await refusalOf(receipt, keys, { result: false })).toBe("accepted");
    expect(await refusalOf(made.receipt, keys, { result: false })).toBe("result_unexpected");
    expect(await refusalOf(receipt, keys, { result: "any", publicSignals: ["36"] })).toBe("accepted");
  });

  it("comes with each decided item of a batch", async () => {
    const { proof } = await prove();
    const items = [
      { proof, public_signals: ["35"] },
      { proof: "00", public_signals: ["35"] },
      { proof, public_signals: ["34"] },
    ];
    const { batch = [], receipt } = await verify({ batch: items, receipt: true });
    expect(receipt).toBeUndefined();
    const [first, second, third] = batch as ({ receipt?: string } | undefined)[];
    expect(second).not.toHaveProperty("receipt");
    const keys = await keySet();
    const claims = [
      await checkedByJose(receiptIn(first ?? {}), keys),
      await checkedByJose(receiptIn(third ?? {}), keys),
    ];
    expect(claims.map(({ result, public_signals }) => [result, public_signals])).toEqual([
      [true, ["35"]],
      [false, ["34"]],
    ]);
    expect(new Set(claims.map(({ jti }) => jti)).size).toBe(2);
    const plain = await verify({ batch: items });
    expect(JSON.stringify(plain)).not.toContain("receipt");
  });

  it("takes the answer of prove with its receipt as it stands", async () => {
    const made = await prove();
    expect(await verify(made)).toEqual({ result: true });
    expect(await verify({ batch: [made] })).toEqual({ result: true, batch: [{ result: true }] });
  });

  it("of many public signals names them by their hash", async () => {
    const source =
      "pragma circom 2.1.6; template M() { signal input a[257]; signal input b; b * b === a[0]; } component main {public [a]} = M();";
    const { id: wide } = await provision(registry.provers, OWNER, { source });
    const a = Array.from({ length: 257 }, (_, i) => String(i + 4));
    const { body } = await post<ProveResult>(`${wide}/prove`, { witness: { a, b: "2" }, receipt: true });
    const claims = await checkedByJose(receiptIn(body), await keySet(wide));
    expect([claims.public_signals, claims.public_signals_count]).toEqual([null, 257]);
    expect(await refusalOf(receiptIn(body), await keySet(wide), { publicSignals: a })).toBe("accepted");
    expect(await refusalOf(receiptIn(body), await keySet(wide), { publicSignals: [...a.slice(1), "4"] })).toBe(
      "receipt_mismatch",
    );
  });
});

describe("a receipt offline", () => {
  it("is of the proof, the signals and the prover at hand, or refused", async () => {
    const made = await prove();
    const keys = await keySet();
    const own = { proof: made.proof, publicSignals: made.public_signals, proverId: id, action: "prove" } as const;
    await expect(verifyReceipt(made.receipt, keys, own)).resolves.toMatchObject({ sub: id });
    expect(await refusalOf(made.receipt, keys, { proof: `0x${made.proof.toUpperCase()}` })).toBe("accepted");
    const { iss, keys: hashes } = decodeJwt<ReceiptClaims>(made.receipt);
    expect(await refusalOf(made.receipt, keys, { issuer: iss, verifyingKeySha256: hashes.verifying_sha256 })).toBe(
      "accepted",
    );
    const others = [
      { proof: (await prove()).proof },
      { proof: "no hex" },
      { publicSignals: ["36"] },
      { publicSignals: [] },
      { publicSignals: ["035"] },
      { proverId: randomUUID() },
      { issuer: "https://elsewhere.example" },
      { verifyingKeySha256: sha256("00") },
      { action: "verify" },
    ] as const;
    for (const other of others)
      expect(await refusalOf(made.receipt, keys, other), JSON.stringify(other)).toBe("receipt_mismatch");
  });

  it("is refused when any member or part of it is changed", async () => {
    const { receipt } = await prove();
    const keys = await keySet();
    const [header = "", payload = "", signature = ""] = receipt.split(".");
    const claims = decodeJwt(receipt) as Record<string, unknown>;
    for (const name of Object.keys(claims)) {
      const changed = { ...claims, [name]: name === "result" ? false : name === "iat" ? 1 : "changed" };
      const forged = [header, base64url(JSON.stringify(changed)), signature].join(".");
      expect(await refusalOf(forged, keys, { result: "any" }), name).toBe("signature_invalid");
      await expect(checkedByJose(forged, keys), name).rejects.toThrow();
    }
    const flipped = Buffer.from(signature, "base64url");
    flipped[10] = (flipped[10] ?? 0) ^ 1;
    expect(await refusalOf(`${header}.${payload}.${flipped.toString("base64url")}`, keys)).toBe("signature_invalid");
    for (const broken of ["", "a.b", `${header}.${payload}`, `.${payload}.${signature}`, "x".repeat(200_000)])
      expect(await refusalOf(broken, keys)).toBe("receipt_malformed");
  });

  it("is refused under another key, algorithm or type", async () => {
    const { receipt } = await prove();
    const keys = await keySet();
    const [, payload = ""] = receipt.split(".");
    const { kid, typ } = decodeProtectedHeader(receipt);
    const [key] = keys.keys;
    const publicBytes = Buffer.from(key?.x ?? "", "base64url");
    const signed = (header: object, signer: (input: Buffer) => Buffer): string => {
      const input = `${base64url(JSON.stringify(header))}.${payload}`;
      return `${input}.${signer(Buffer.from(input)).toString("base64url")}`;
    };
    const none = (): Buffer => Buffer.alloc(0);
    const stranger = generateKeyPairSync("ed25519").privateKey;
    const byStranger = (input: Buffer): Buffer => signBytes(null, input, stranger);
    const hmac = (secret: Buffer) => (input: Buffer) => createHmac("sha256", secret).update(input).digest();
    expect(await refusalOf(signed({ alg: "none", kid, typ }, none), keys)).toBe("receipt_malformed");
    for (const secret of [publicBytes, Buffer.from(key?.x ?? ""), Buffer.from(JSON.stringify(key))])
      expect(await refusalOf(signed({ alg: "HS256", kid, typ }, hmac(secret)), keys)).toBe("receipt_malformed");
    expect(await refusalOf(signed({ alg: "EdDSA", kid, typ }, byStranger), keys)).toBe("signature_invalid");
    expect(await refusalOf(signed({ alg: "EdDSA", kid: randomUUID(), typ }, byStranger), keys)).toBe("key_unknown");
    expect(await refusalOf(signed({ alg: "EdDSA", typ }, byStranger), keys)).toBe("receipt_malformed");
    expect(await refusalOf(signed({ alg: "EdDSA", kid, typ: "JWT" }, byStranger), keys)).toBe("receipt_malformed");
    expect(await refusalOf(signed({ alg: "EdDSA", kid, typ, crit: ["x"], x: 1 }, byStranger), keys)).toBe(
      "signature_invalid",
    );
    const embedded = generateKeyPairSync("ed25519");
    const jwk = embedded.publicKey.export({ format: "jwk" });
    const own = (input: Buffer): Buffer => signBytes(null, input, embedded.privateKey);
    expect(await refusalOf(signed({ alg: "EdDSA", kid, typ, jwk }, own), keys)).toBe("signature_invalid");
    const other = { ...jwk, kid } as unknown as ReceiptKeys["keys"][number];
    expect(await refusalOf(receipt, { keys: [other] })).toBe("signature_invalid");
    expect(await refusalOf(receipt, { keys: [] })).toBe("key_unknown");
  });

  it("is refused where its signer contradicts himself", async () => {
    const { privateKey, publicKey } = generateKeyPairSync("ed25519");
    const kid = randomUUID();
    const keys = { keys: [{ ...publicKey.export({ format: "jwk" }), kid }] } as unknown as ReceiptKeys;
    const claims = decodeJwt((await prove()).receipt);
    const signed = (payload: object): string => {
      const head = base64url(JSON.stringify({ alg: "EdDSA", kid, typ: "proofwright-receipt+jwt" }));
      const input = `${head}.${base64url(JSON.stringify(payload))}`;
      return `${input}.${signBytes(null, Buffer.from(input), privateKey).toString("base64url")}`;
    };
    expect(await refusalOf(signed(claims), keys)).toBe("accepted");
    const faulty = [
      { ...claims, public_signals: ["36"] },
      { ...claims, sub: randomUUID() },
      { ...claims, iat: 5 },
      { ...claims, version: 2 },
      { ...claims, more: true },
      [],
    ];
    for (const payload of faulty) expect(await refusalOf(signed(payload), keys)).toBe("claims_invalid");
  });
});

describe("the keys of receipts", () => {
  async function fresh(): Promise<string> {
    return (await provision(registry.provers, OWNER, {})).id;
  }
  /** As the owner, whose token may change provers. */
  async function call(
    name: "rotateReceiptKey" | "revokeReceiptKey",
    params: object,
    body: object = {},
  ): Promise<ReceiptKey> {
    const request = { principal: principalOf(OWNER), params, query: {}, body, signal: never, requestId: "r" };
    const { rotateReceiptKey, revokeReceiptKey } = registry.registry.handlers;
    const answered =
      name === "rotateReceiptKey" ? rotateReceiptKey(request as never) : revokeReceiptKey(request as never);
    return (await answered).body;
  }
  async function listed(prover: string): Promise<ReceiptKey[]> {
    const response = await fetch(`${front.url}/api/v1/provers/${prover}/receipt_keys`, { headers: BEARER });
    return (await response.json()) as ReceiptKey[];
  }

  it("are made with the first receipt, once for many at the same time", async () => {
    const prover = await fresh();
    const absent = await fetch(`${front.url}/api/v1/provers/${prover}/jwks.json`);
    expect(absent.status).toBe(404);
    const made = await Promise.all(Array.from({ length: 6 }, async () => await prove(prover)));
    expect(await listed(prover)).toMatchObject([{ state: "current" }]);
    const keys = await keySet(prover);
    for (const { receipt } of made) await expect(checkedByJose(receipt, keys)).resolves.toMatchObject({ sub: prover });
  });

  it("stay published after a rotation, and after the prover's deletion", async () => {
    const prover = await fresh();
    const before = await prove(prover);
    const { status } = await post(`${prover}/receipt_keys`);
    expect(status).toBe(403);
    const rotated = await call("rotateReceiptKey", { id: prover });
    expect(rotated.state).toBe("current");
    const after = await prove(prover);
    expect(decodeProtectedHeader(after.receipt).kid).toBe(rotated.kid);
    expect(decodeProtectedHeader(before.receipt).kid).not.toBe(rotated.kid);
    expect((await listed(prover)).map(({ state }) => state)).toEqual(["retired", "current"]);
    const { vault_id } = registry.provers.get(OWNER, prover);
    const inVault = registry.vault.vault.listKeys(OWNER, vault_id, { page: 1, rpp: 25 }).body.map((key) => key.id);
    expect(inVault).toContain(rotated.kid);
    expect(inVault).not.toContain(decodeProtectedHeader(before.receipt).kid);
    await registry.provers.delete(OWNER, prover);
    const keys = await keySet(prover);
    for (const { receipt } of [before, after])
      await expect(verifyReceipt(receipt, keys)).resolves.toMatchObject({ sub: prover });
  });

  it("are worth nothing when they are revoked, also of a deleted prover", async () => {
    const prover = await fresh();
    const before = await prove(prover);
    const { kid = "" } = decodeProtectedHeader(before.receipt);
    const revoked = await call("revokeReceiptKey", { id: prover, kid }, { reason: "stolen" });
    expect(revoked).toMatchObject({ kid, state: "revoked", reason: "stolen" });
    expect(await call("revokeReceiptKey", { id: prover, kid })).toEqual(revoked);
    const after = await prove(prover);
    const keys = await keySet(prover);
    expect(keys.revoked_keys).toMatchObject([{ kid, reason: "stolen", revoked_at: revoked.revoked_at }]);
    expect(await refusalOf(before.receipt, keys)).toBe("key_revoked");
    await expect(checkedByJose(before.receipt, keys)).rejects.toThrow();
    expect(await refusalOf(after.receipt, keys)).toBe("accepted");
    await registry.provers.delete(OWNER, prover);
    const late = decodeProtectedHeader(after.receipt).kid ?? "";
    expect(await call("revokeReceiptKey", { id: prover, kid: late })).toMatchObject({ state: "revoked" });
    expect(await refusalOf(after.receipt, await keySet(prover))).toBe("key_revoked");
    const unknown = await failureOf(async () => await call("revokeReceiptKey", { id: prover, kid: randomUUID() }));
    expect(unknown.code).toBe("not_found");
  });

  it("are replaced when they are deleted from the vault, and not when they are disabled", async () => {
    const prover = await fresh();
    const before = await prove(prover);
    const { vault_id } = registry.provers.get(OWNER, prover);
    await registry.vault.vault.deleteKey(OWNER, vault_id, decodeProtectedHeader(before.receipt).kid ?? "");
    const after = await prove(prover);
    const keys = await keySet(prover);
    expect([await refusalOf(before.receipt, keys), await refusalOf(after.receipt, keys)]).toEqual([
      "accepted",
      "accepted",
    ]);
    expect((await listed(prover)).map(({ state }) => state)).toEqual(["retired", "current"]);
    const key = [OWNER, vault_id, decodeProtectedHeader(after.receipt).kid ?? ""] as const;
    const { store, seal, clock } = registry.vault;
    const lifecycle = new KeyLifecycle({ repository: new VaultRepository({ store }), seal, clock });
    await lifecycle.disable(...key);
    const { total } = registry.provers.listProofs(OWNER, prover, { page: 1, rpp: 1 });
    const refused = await post<{ errors: object[] }>(`${prover}/prove`, { witness: INPUTS, receipt: true });
    expect(refused).toMatchObject({ status: 409, body: { errors: [{ code: "key_disabled" }] } });
    expect(registry.provers.listProofs(OWNER, prover, { page: 1, rpp: 1 }).total).toBe(total);
    await lifecycle.enable(...key);
    await expect(prove(prover)).resolves.toMatchObject({ prover_id: prover });
  });

  it("leave what is stored and spent to its answer when they cannot sign it any more", async () => {
    const prover = await fresh();
    const made = await prove(prover);
    const { vault_id } = registry.provers.get(OWNER, prover);
    const { vault, seal, clock } = registry.vault;
    const { store } = registry;
    const lifecycle = new KeyLifecycle({ repository: new VaultRepository({ store }), seal, clock });
    const keys = new ReceiptSigners({ store, vault: proverVault(vault), clock });
    const checks = { require: async () => await Promise.resolve([]), requireOffered: () => undefined };
    const receipts = new Receipts({ issuer: "test", version: "0" }, { keys, checks, clock });
    const key = [OWNER, vault_id, decodeProtectedHeader(made.receipt).kid ?? ""] as const;
    /** The key is disabled after the last step that can still be refused. */
    const attesting = (): RequestAttestation => {
      const attest = receipts.begin({
        ...{ caller: OWNER, wantsReceipt: true, assurance: "single", requestId: randomUUID(), reference: prover },
        signal: never,
      });
      const sign = attest.sign.bind(attest);
      attest.sign = async (...all) => {
        await lifecycle.disable(...key);
        await sign(...all);
        await lifecycle.enable(...key);
      };
      return attest;
    };
    const proving = attesting();
    const { id: proof } = await registry.provers.prove(OWNER, prover, {
      ...{ inputs: INPUTS, format: undefined, signal: never, attest: proving },
    });
    const receipt_error = { code: "key_disabled", message: "the key is disabled, or its deletion is planned" };
    expect(proving.answer()).toEqual({ receipt_error });
    expect(registry.provers.getProof(OWNER, prover, proof)).toMatchObject({ id: proof });
    const item = { proof: made.proof, public_signals: made.public_signals };
    const spending = { ...item, nullifier: true };
    const answer = await registry.provers.verifyBatch(OWNER, prover, {
      body: { batch: [item, spending] },
      ...{ permissions: principalOf(OWNER).permissions, signal: never, attest: attesting() },
    });
    expect(answer).toMatchObject({
      result: true,
      batch: [
        { result: true, receipt_error },
        { result: true, spent: [{ index: 0 }], receipt_error },
      ],
    });
    // Where nothing is kept, a request without its receipt has failed, and can be made again.
    const request = { body: { batch: [item] }, signal: never, attest: attesting() };
    const refused = await failureOf(async () => await registry.provers.verifyBatch(OWNER, prover, request));
    expect(refused.code).toBe("key_disabled");
    await lifecycle.enable(...key);
  });

  it("sign nothing else, whoever asks, and are listed, disabled and deleted as other keys", async () => {
    const prover = await fresh();
    const { receipt } = await prove(prover);
    const { vault_id: vaultId } = registry.provers.get(OWNER, prover);
    const { vault, seal, clock } = registry.vault;
    const keyId = decodeProtectedHeader(receipt).kid ?? "";
    const call = { owner: OWNER, vaultId, keyId };
    const options = { format: "jws", encoding: "utf8", header: { typ: "proofwright-receipt+jwt" } } as const;
    const [, payload = ""] = receipt.split(".");
    const message = Buffer.from(payload, "base64url").toString("utf8");
    for (const use of [
      () => vault.operations.sign(call, { message, options }),
      () => vault.operations.sign(call, { batch: [{ message, options }] }),
      () => vault.operations.sign(call, { message: "00ff" }),
      () => vault.operations.agree(call, { public_key: "0x00" }),
      () => vault.operations.provePossession(call),
      () => vault.derivation.derive(call, { name: "child", context: "any" }),
      async () => {
        await Promise.resolve();
        vault.handed.require(OWNER, { kind: "signature", vaultId, id: keyId, message: "00" });
      },
    ])
      expect((await failureOf(async () => await use())).code).toBe("key_server_only");
    expect(vault.listKeys(OWNER, vaultId, { page: 1, rpp: 10, spec: "Ed25519" }).body).toMatchObject([
      { id: keyId, name: "receipts", server_only: true },
    ]);
    const lifecycle = new KeyLifecycle({ repository: new VaultRepository({ store: registry.store }), seal, clock });
    await lifecycle.disable(OWNER, vaultId, keyId);
    await lifecycle.enable(OWNER, vaultId, keyId);
    // The mark outlives both.
    expect((await failureOf(async () => await vault.operations.sign(call, { message: "00ff" }))).code).toBe(
      "key_server_only",
    );
    await expect(prove(prover)).resolves.toMatchObject({ prover_id: prover });
    await vault.deleteKey(OWNER, vaultId, keyId);
    expect((await failureOf(() => vault.getKey(OWNER, vaultId, keyId))).code).toBe("not_found");
  });

  it("are asked for with true or false", async () => {
    const { errors } = (await post<{ errors: { message: string }[] }>(`${id}/verify`, { receipt: "yes" })).body;
    expect(errors[0]?.message).toContain("true or false");
  });

  it("are not made in a vault that was deleted", async () => {
    const prover = await fresh();
    const { vault_id } = registry.provers.get(OWNER, prover);
    await registry.vault.vault.deleteVault(OWNER, vault_id);
    const refused = await post<{ errors: object[] }>(`${prover}/prove`, { witness: INPUTS, receipt: true });
    expect(refused).toMatchObject({ status: 409, body: { errors: [{ code: "prover_keys_missing" }] } });
  });
});

describe("receipts of a shared prover", () => {
  it("are signed by the key of its owner, and tell nothing of the source", async () => {
    const guest = subject("application");
    const { sharing, handlers } = registry.registry;
    await sharing.grant(OWNER, id, { application_id: guest.id });
    const request = { principal: principalOf(guest), params: { id }, query: {}, signal: never, requestId: "r" };
    const made = await handlers.prove({ ...request, body: { witness: INPUTS, receipt: true } } as never);
    const receipt = receiptIn(made.body as ProveResult);
    const claims = await checkedByJose(receipt, await keySet());
    expect(claims).toMatchObject({ circuit: { source_sha256: null }, prover: { id }, request_id: "r" });
    expect(claims.note?.store_id).not.toBe(registry.provers.get(OWNER, id).note_store_id);
    const stranger = { ...request, principal: principalOf(subject()), body: { witness: INPUTS, receipt: true } };
    expect((await failureOf(async () => await handlers.prove(stranger as never))).code).toBe("not_found");
    const rotation = { ...request, principal: principalOf(guest) };
    expect((await failureOf(async () => await handlers.rotateReceiptKey(rotation as never))).code).toBe("not_found");
  });
});

function base64url(text: string): string {
  return Buffer.from(text).toString("base64url");
}
