/**
 * Inputs that the main thread never reads: tokens as `jose` alone makes them, secrets and signatures of vaults, who may
 * use them, what is recorded, and what no error says.
 */
import { createCipheriv, randomBytes, randomUUID, webcrypto } from "node:crypto";
import { CompactEncrypt, importJWK, type CompactJWEHeaderParameters } from "jose";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { permissionBits, type PermissionName } from "../../../src/platform/auth/permissions.js";
import type { Principal, Subject } from "../../../src/platform/auth/principal.js";
import type { AnyHandler } from "../../../src/platform/contract/route.js";
import type { AppError } from "../../../src/platform/errors.js";
import { newId } from "../../../src/platform/ids.js";
import type { InputKey } from "../../../src/prover/closed-inputs/input-key-schemas.js";
import type { ProveResult } from "../../../src/prover/schemas.js";
import { PHRASE, subject } from "../../vault/support.js";
import { failureOf, never, openTestRegistry, principalOf, provision, type TestRegistry } from "../support.js";
import { WatchedCompute } from "./watched-compute.js";

const FIELD_ORDER = 21888242871839275222246405745257275088548364400416034343698204186575808495617n;
const X = BigInt(`0x${randomBytes(31).toString("hex")}`);
const Y = String((X ** 3n + X + 5n) % FIELD_ORDER);
const TOKEN_HEADER = { alg: "ECDH-ES+A256KW", enc: "A256GCM" } as const;
/** Shows a signature's parts in its output, to be compared. */
const PARTS =
  "pragma circom 2.1.6; template P() { signal input key[2]; signal input r[2]; signal input s; signal input m; signal output o; signal t; t <== key[0] * r[0] + m; o <== key[1] * r[1] + s; } component main {public [m]} = P();";

const compute = new WatchedCompute();
const owner = subject();
const grantee = subject("application");

let test: TestRegistry;
let id: string;
let vaultId: string;
let otherId: string;
let key: InputKey;
let p256Key: InputKey;

beforeAll(async () => {
  test = await openTestRegistry({ compute });
  ({ id, vault_id: vaultId } = await provision(test.provers, owner));
  ({ id: otherId } = await provision(test.provers, owner));
  await test.registry.sharing.grant(owner, id, { application_id: grantee.id });
  key = (await call("createProverInputKey", owner, id)).body as InputKey;
  p256Key = (await call("createProverInputKey", owner, id, { crv: "P-256" })).body as InputKey;
});
afterAll(async () => {
  await test.close();
});

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

async function call(route: string, caller: Subject | Principal, prover: string, body?: unknown): Promise<Answer> {
  const handlers: Readonly<Record<string, AnyHandler>> = test.registry.handlers;
  const handler = handlers[route] as (request: object) => Promise<Answer>;
  const principal = "subject" in caller ? caller : principalOf(caller);
  return await handler({
    ...{ principal, params: { id: prover }, query: {}, body, signal: never },
    ...{ requestId: "request", address: "127.0.0.1" },
  });
}

async function prove(body: unknown, caller: Subject | Principal = owner, prover = id): Promise<ProveResult> {
  return (await call("prove", caller, prover, body)).body as ProveResult;
}

const refusal = async (body: unknown, caller?: Subject | Principal, prover?: string): Promise<AppError> =>
  await failureOf(async () => await prove(body, caller, prover));

/** All that an error says, which must not be a value. */
function said(error: AppError): string {
  const text = JSON.stringify([error.message, error.code, error.details, (error.cause as Error | undefined)?.message]);
  expect(text).not.toContain(String(X));
  expect(text).not.toContain("canary");
  return text;
}

async function token(
  content: string | Uint8Array,
  header: Partial<CompactJWEHeaderParameters> = {},
  jwk: InputKey = key,
): Promise<string> {
  const all = { ...TOKEN_HEADER, kid: jwk.kid, aud: id, ...header } as CompactJWEHeaderParameters;
  const text = typeof content === "string" ? Buffer.from(content) : content;
  return await new CompactEncrypt(text).setProtectedHeader(all).encrypt(await importJWK({ ...jwk }, all.alg));
}

const inputs = (members: object = {}): string => JSON.stringify({ X: String(X), Y, ...members });
const changed = (jwe: string, part: number, replacement: string): string =>
  jwe
    .split(".")
    .map((text, i) => (i === part ? replacement : text))
    .join(".");
const base64url = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
const headerOf = (jwe: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(jwe.split(".")[0] ?? "", "base64url").toString()) as Record<string, unknown>;

/** Keys of one moment have no order among them. */
async function published(caller: Subject): Promise<InputKey[]> {
  const { keys } = (await call("listProverInputKeys", caller, id)).body as { keys: InputKey[] };
  return keys.toSorted((a, b) => a.crv.localeCompare(b.crv));
}

async function secret(value: string, where = vaultId): Promise<string> {
  return (await test.vault.vault.createSecret(owner, where, { name: "s", type: "t", value })).id;
}

describe("a token", () => {
  it("of jose is proved with both algorithms and both curves, again and by those who may prove", async () => {
    expect(key).toMatchObject({ kty: "OKP", crv: "X25519", alg: "ECDH-ES+A256KW" });
    expect(p256Key).toMatchObject({ kty: "EC", crv: "P-256", alg: "ECDH-ES+A256KW" });
    for (const [alg, jwk] of [
      ["ECDH-ES", key],
      ["ECDH-ES+A256KW", key],
      ["ECDH-ES", p256Key],
      ["ECDH-ES+A256KW", p256Key],
    ] as const) {
      const before = test.uses.length;
      const made = await prove({ witness_jwe: await token(inputs(), { alg }, jwk) });
      expect(made.public_signals).toEqual([Y]);
      expect(test.uses.slice(before).map(({ detail }) => detail)).toEqual([{ uses: [`key/${vaultId}/${jwk.kid}`] }]);
      expect(await test.provers.verify(principalOf(owner), id, { item: made, store: false, signal: never })).toBe(true);
    }
    const named = await new CompactEncrypt(Buffer.from(inputs()))
      .setProtectedHeader({ ...TOKEN_HEADER, kid: key.kid, aud: id, typ: "JWE" })
      .setKeyManagementParameters({ apu: Buffer.from("sender"), apv: Buffer.from(id) })
      .encrypt(await importJWK({ ...key }, TOKEN_HEADER.alg));
    const [first, second] = [await prove({ witness_jwe: named }), await prove({ witness_jwe: named }, grantee)];
    expect(first.statement_hash).toBe(second.statement_hash);
    for (const message of compute.messages) expect(message).not.toContain(String(X));
  });

  it("is read with the keys that are published to whoever may prove", async () => {
    expect(await published(grantee)).toEqual([p256Key, key]);
    expect((await call("listProverInputKeys", owner, otherId)).body).toEqual({ keys: [] });
    expect((await failureOf(async () => await call("listProverInputKeys", subject(), id))).code).toBe("not_found");
    expect((await failureOf(async () => await call("createProverInputKey", grantee, id))).code).toBe("not_found");
  });

  it("is not read with another key of the vault, which is not published", async () => {
    const part = (bytes: Buffer): string => bytes.toString("base64url");
    for (const spec of ["C25519", "P-256-ECDH", "P-256"]) {
      const other = await test.vault.vault.createKey(owner, vaultId, { spec, name: "inputs" });
      const raw = Buffer.from(other.public_key!.slice(2), "hex");
      const [x, y] = [part(raw.subarray(1, 33)), part(raw.subarray(33))];
      const jwk = (
        spec === "C25519" ? { ...key, kid: other.id, x: part(raw) } : { ...p256Key, kid: other.id, x, y }
      ) as InputKey;
      expect(await published(grantee)).toEqual([p256Key, key]);
      expect(said(await refusal({ witness_jwe: await token(inputs(), {}, jwk) })), spec).toContain(
        "names no input key of this prover",
      );
      await test.vault.vault.deleteKey(owner, vaultId, other.id);
    }
  });

  it("of WebCrypto alone is proved: ECDH, Concat KDF and A256GCM as RFC 7518 has them", async () => {
    const { subtle } = webcrypto;
    const curve = { name: "ECDH", namedCurve: "P-256" };
    const sender = await subtle.generateKey(curve, true, ["deriveBits"]);
    const { kty, crv, x, y } = await subtle.exportKey("jwk", sender.publicKey);
    const { alg: _alg, use: _use, ...recipientKey } = p256Key;
    const header = { alg: "ECDH-ES", enc: "A256GCM", kid: p256Key.kid, aud: id, epk: { kty, crv, x, y } };
    const recipient = await subtle.importKey("jwk", recipientKey, curve, true, []);
    const secret = await subtle.deriveBits({ name: "ECDH", public: recipient }, sender.privateKey, 256);
    const u32 = (value: number): Buffer => Buffer.from([0, 0, value >> 8, value & 255]);
    const algorithm = Buffer.from("A256GCM");
    const info = [u32(1), Buffer.from(secret), u32(algorithm.length), algorithm, u32(0), u32(0), u32(256)];
    const contentKey = await subtle.digest("SHA-256", Buffer.concat(info));
    const [protectedHeader, nonce] = [base64url(header), randomBytes(12)];
    const cipher = createCipheriv("aes-256-gcm", Buffer.from(contentKey), nonce).setAAD(Buffer.from(protectedHeader));
    const ciphertext = Buffer.concat([cipher.update(inputs()), cipher.final()]);
    const parts = [nonce, ciphertext, cipher.getAuthTag()].map((bytes) => bytes.toString("base64url"));
    const made = await prove({ witness_jwe: [protectedHeader, "", ...parts].join(".") });
    expect(made.public_signals).toEqual([Y]);
  });

  it("with a sender's key of another curve than its own, or none of its curve, is not opened", async () => {
    const [onP256, onX25519] = [await token(inputs(), {}, p256Key), await token(inputs())];
    for (const [jwe, kid] of [
      [onP256, key.kid],
      [onX25519, p256Key.kid],
    ] as const) {
      const error = await refusal({ witness_jwe: changed(jwe, 0, base64url({ ...headerOf(jwe), kid })) });
      expect(error.code).toBe("invalid_request");
      expect(said(error)).toContain("`epk` of its header is not on the curve of its `kid`");
    }
    const epk = headerOf(onP256)["epk"] as { readonly x: string; readonly y: string };
    const part = (value: bigint): string =>
      Buffer.from(value.toString(16).padStart(64, "0"), "hex").toString("base64url");
    const offCurve = [
      { ...epk, y: epk.x },
      { ...epk, x: part(0n), y: part(0n) },
      { ...epk, x: part((1n << 256n) - 1n) },
      // The base point of secp256k1.
      {
        ...epk,
        x: part(0x79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798n),
        y: part(0x483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8n),
      },
    ];
    for (const one of offCurve) {
      const error = await refusal({ witness_jwe: changed(onP256, 0, base64url({ ...headerOf(onP256), epk: one })) });
      expect(error.code, JSON.stringify(one)).toBe("decryption_failed");
      said(error);
    }
    const { y: _y, ...halved } = epk;
    for (const one of [
      halved,
      { ...epk, y: epk.y.slice(0, -2) },
      { ...epk, x: `AA${epk.x}` },
      { ...epk, crv: "P-384" },
      { ...epk, kty: "OKP" },
      { ...epk, crv: "X25519" },
      { ...epk, crv: "secp256k1" },
      { ...epk, d: epk.x },
      null,
      "epk",
    ]) {
      const error = await refusal({ witness_jwe: changed(onP256, 0, base64url({ ...headerOf(onP256), epk: one })) });
      expect(error.code, JSON.stringify(one)).toBe("invalid_request");
      expect(said(error)).toContain("`epk`");
    }
  });

  it("to another P-256 key of the prover, and one of another prover, is not opened by this one", async () => {
    const second = (await call("createProverInputKey", owner, id, { crv: "P-256" })).body as InputKey;
    const jwe = await token(inputs(), {}, second);
    const moved = changed(jwe, 0, base64url({ ...headerOf(jwe), kid: p256Key.kid }));
    expect((await refusal({ witness_jwe: moved })).code).toBe("decryption_failed");
    await test.vault.vault.deleteKey(owner, vaultId, second.kid);
    expect(said(await refusal({ witness_jwe: jwe }))).toContain("names no input key of this prover");
  });

  it.each(["ECDH-ES", "ECDH-ES+A256KW"])(
    "of %s that was cut in any part is refused without what is in it",
    async (alg) => {
      for (const jwk of [key, p256Key]) {
        const jwe = await token(inputs(), { alg }, jwk);
        for (const [part, text] of jwe.split(".").entries())
          for (const length of [0, 4, text.length - 4].filter((at) => at >= 0 && at < text.length)) {
            const error = await refusal({ witness_jwe: changed(jwe, part, text.slice(0, length)) });
            expect(["invalid_request", "decryption_failed"], `${String(part)} ${String(length)}`).toContain(error.code);
            said(error);
          }
        for (const count of [1, 2, 3, 4])
          expect((await refusal({ witness_jwe: jwe.split(".").slice(0, count).join(".") })).code).toBe(
            "invalid_request",
          );
      }
    },
  );

  it("to a key that was disabled or deleted is not opened, and one to another key of the prover is", async () => {
    const second = (await call("createProverInputKey", owner, id)).body as InputKey;
    const jwe = await token(inputs(), {}, second);
    expect((await prove({ witness_jwe: jwe })).public_signals).toEqual([Y]);
    await test.vault.vault.deleteKey(owner, vaultId, second.kid);
    expect(said(await refusal({ witness_jwe: jwe }))).toContain("names no input key of this prover");
  });

  it("of another prover is refused, with its header changed as well", async () => {
    const other = (await call("createProverInputKey", owner, otherId)).body as InputKey;
    const jwe = await token(inputs());
    expect(said(await refusal({ witness_jwe: jwe }, owner, otherId))).toContain("`aud`");
    const header = { ...headerOf(jwe), aud: otherId };
    expect(said(await refusal({ witness_jwe: changed(jwe, 0, base64url(header)) }, owner, otherId))).toContain("`kid`");
    const forged = changed(jwe, 0, base64url({ ...header, kid: other.kid }));
    expect((await refusal({ witness_jwe: forged }, owner, otherId)).code).toBe("decryption_failed");
  });

  it.each([
    ["ECDH-ES", "X25519"],
    ["ECDH-ES+A256KW", "X25519"],
    ["ECDH-ES", "P-256"],
    ["ECDH-ES+A256KW", "P-256"],
  ])("of %s with %s that was changed in any part is refused in one way", async (alg, crv) => {
    const jwe = await token(inputs(), { alg }, crv === "P-256" ? p256Key : key);
    const parts = jwe.split(".");
    const flipped = (part: number): string => {
      const bytes = Buffer.from(parts[part] ?? "", "base64url");
      bytes[0] = (bytes[0] ?? 0) ^ 1;
      return changed(jwe, part, bytes.toString("base64url"));
    };
    const cases = [2, 3, 4, ...(alg === "ECDH-ES" ? [] : [1])].map(flipped);
    cases.push(changed(jwe, 0, base64url({ ...headerOf(jwe), iat: 1 })));
    cases.push(changed(jwe, 3, `${parts[3] ?? ""}=`));
    for (const one of cases) {
      const error = await refusal({ witness_jwe: one });
      expect(error).toMatchObject({
        code: "decryption_failed",
        message: "the token was not encrypted to this key, or was changed since",
      });
      said(error);
    }
  });

  it("of another form is refused by what is wrong with its header", async () => {
    const jwe = await token(inputs());
    const header = headerOf(jwe);
    const epk = header["epk"] as object;
    const cases: readonly [object, string][] = [
      [{ ...header, alg: "dir" }, "`alg`"],
      [{ ...header, alg: "PBES2-HS256+A128KW", p2c: 2 ** 31, p2s: "AAAA" }, "`p2s`"],
      [{ ...header, alg: "PBES2-HS256+A128KW" }, "`alg`"],
      [{ ...header, alg: "ECDH-ES+A128KW" }, "`alg`"],
      [{ ...header, alg: "RSA-OAEP" }, "`alg`"],
      [{ ...header, enc: "A128CBC-HS256" }, "`enc`"],
      [{ ...header, zip: "DEF" }, "`zip`"],
      [{ ...header, crit: ["exp"] }, "`crit`"],
      [{ ...header, jwk: key }, "`jwk`"],
      [{ ...header, aud: [id] }, "`aud`"],
      [{ ...header, aud: undefined }, "`aud`"],
      [{ ...header, kid: "canary" }, "`kid`"],
      [{ ...header, kid: randomUUID() }, "names no input key"],
      [{ ...header, epk: { ...epk, crv: "P-256" } }, "`epk`"],
      [{ ...header, epk: { ...epk, x: "AAAA" } }, "`epk`"],
      [{ ...header, epk: { ...epk, d: "AAAA" } }, "`epk`"],
      [{ ...header, apu: "not base64url" }, "`apu`"],
      [{ ...header, apv: "A".repeat(2000) }, "`apv`"],
      [{ ...header, typ: "x".repeat(4000) }, "longer than"],
    ];
    for (const [one, reason] of cases) {
      const error = await refusal({ witness_jwe: changed(jwe, 0, base64url(one)) });
      expect(said(error), JSON.stringify(one)).toContain(reason);
      expect(error.code).toBe("invalid_request");
    }
    // A key of low order would give a secret that everybody knows.
    const lowOrder = { ...header, epk: { ...epk, x: Buffer.alloc(32).toString("base64url") } };
    expect((await refusal({ witness_jwe: changed(jwe, 0, base64url(lowOrder)) })).code).toBe("decryption_failed");
    const twice = Buffer.from(`{"alg":"dir",${JSON.stringify(header).slice(1)}`).toString("base64url");
    for (const one of [changed(jwe, 0, twice), changed(jwe, 0, "!"), `${jwe}.AA`, "a.b", changed(jwe, 1, "AAAA")])
      expect((await refusal({ witness_jwe: one })).code).toBe("invalid_request");
  });

  it("with a content that is no inputs of the circuit is refused without what is in it", async () => {
    const contents: readonly (string | Uint8Array)[] = [
      `canary ${String(X)}`,
      `{"X": "${String(X)}", "canary`,
      Buffer.from([0xff, 0xfe, 0x00]),
      "[]",
      JSON.stringify(String(X)),
      inputs({ canary: "1" }),
      inputs({ [`X.canary${String(X)}`]: "1" }),
      inputs({ X: `${String(X)}canary` }),
      inputs({ X: { canary: "1" } }),
      inputs({ X: { $secret: newId() } }),
      JSON.stringify({ Y }),
      "[".repeat(100_000),
      `[${"1,".repeat(500_000)}1]`,
    ];
    for (const content of contents) {
      const error = await refusal({ witness_jwe: await token(content) });
      expect(error.code, String(content).slice(0, 30)).toBe("witness_invalid");
      said(error);
    }
    const wrong = await refusal({ witness_jwe: await token(inputs({ Y: "1" })) });
    expect(wrong.code).toBe("constraints_unsatisfied");
    said(wrong);
  });

  it("that names values of vaults is refused by what it does, and nothing of it is used", async () => {
    const secretId = await secret(String(X));
    const signer = await test.vault.vault.createKey(owner, vaultId, { spec: "babyJubJub", name: "k" });
    const sign = { $sign: signer.id, message: 1 };
    const contents = [
      { X: { $secret: secretId }, Y },
      { X: { ...sign, part: "S" }, Y },
      { X: { $secret: secretId, vault_id: vaultId, reveal: true }, Y: { $sign: signer.id, canary: String(X) } },
      { X: { $secret: `canary${String(X)}` }, Y },
      { a: [[{ deep: sign }]] },
      sign,
    ];
    for (const content of contents) {
      const before = test.uses.length;
      const error = await refusal({ witness_jwe: await token(JSON.stringify(content)) });
      expect(error).toMatchObject({ code: "witness_invalid", details: [{ path: "witness_jwe" }] });
      expect(error.message).toContain("($secret, $sign), which is refused");
      for (const id of [secretId, signer.id]) expect(said(error)).not.toContain(id);
      expect(test.uses.slice(before).map(({ detail }) => detail)).toEqual([{ uses: [`key/${vaultId}/${key.kid}`] }]);
    }
  });

  it("comes beside other inputs, which may name values of the sender's vaults", async () => {
    const [secretId, signer] = [
      await secret(String(X)),
      await test.vault.vault.createKey(owner, vaultId, { spec: "babyJubJub", name: "k" }),
    ];
    const onlyY = await token(JSON.stringify({ Y }), {}, p256Key);
    const before = test.uses.length;
    const made = await prove({ witness_jwe: onlyY, witness: { X: { $secret: secretId } } });
    expect(made.public_signals).toEqual([Y]);
    // Both uses are one entry, from before either leaves the vault.
    expect(test.uses.slice(before).map(({ detail, outcome }) => [outcome, detail])).toEqual([
      ["ok", { uses: [`key/${vaultId}/${p256Key.kid}`, `secret/${vaultId}/${secretId}`] }],
    ]);
    const onlyX = await token(JSON.stringify({ X: String(X) }));
    expect((await prove({ witness_jwe: onlyX, witness: { Y } })).public_signals).toEqual([Y]);
    const { id: prover, vault_id: place } = await provision(test.provers, owner, { source: PARTS });
    const jwk = (await call("createProverInputKey", owner, prover)).body as InputKey;
    const part = (name: string): object => ({ $sign: signer.id, vault_id: vaultId, message: 7, part: name });
    const witness = { key: part("PublicKey"), r: part("R8"), s: part("S") };
    const message = await token(JSON.stringify({ m: "7" }), { aud: prover }, jwk);
    const signed = await prove({ witness_jwe: message, witness }, owner, prover);
    expect(signed.public_signals[1]).toBe("7");
    expect(test.uses.at(-1)?.detail).toEqual({ uses: [`key/${place}/${jwk.kid}`, `key/${vaultId}/${signer.id}`] });
    for (const sent of compute.messages) expect(sent).not.toContain(String(X));
  });

  it("beside other inputs asks for the same rights, and is changed by none of them", async () => {
    const secretId = await secret(String(X));
    const onlyY = await token(JSON.stringify({ Y }));
    const body = { witness_jwe: onlyY, witness: { X: { $secret: secretId } } };
    const before = test.uses.length;
    expect((await refusal(body, principalOf(owner, permissionBits(["create", "read"])))).code).toBe("forbidden");
    // Another's token beside a reference does not open the prover owner's vault to its sender.
    expect((await refusal(body, grantee)).code).toBe("invalid_request");
    const named = { ...body, witness: { X: { $secret: secretId, vault_id: vaultId } } };
    expect((await refusal(named, grantee)).code).toBe("not_found");
    expect(test.uses.slice(before).every(({ outcome }) => outcome === "refused")).toBe(true);
    const open = { witness_jwe: await token(JSON.stringify({ X: String(X) })), witness: { Y: { $secret: secretId } } };
    expect(await refusal(open)).toMatchObject({ code: "witness_invalid", details: [{ path: "Y" }] });
    for (const witness of [{ X: "3" }, { Y }, { X: "3", Y: "35" }, { canary: "1" }, [], { __proto__: null, X: [] }]) {
      const error = await refusal({ witness_jwe: await token(inputs()), witness });
      expect(error.code, JSON.stringify(witness)).toBe("witness_invalid");
      said(error);
    }
    // Nor under another name of the same values.
    const list = await provision(test.provers, owner, {
      source:
        "pragma circom 2.1.6; template L() { signal input a[2]; signal output b; b <== a[0] * a[1]; } component main = L();",
    });
    const jwk = (await call("createProverInputKey", owner, list.id)).body as InputKey;
    const whole = await token(JSON.stringify({ a: ["2", "3"] }), { aud: list.id }, jwk);
    for (const witness of [{ "a[0]": "5" }, { "a[0]": "5", "a[1]": "5" }, { a: ["5", "5"] }])
      expect((await refusal({ witness_jwe: whole, witness }, owner, list.id)).code).toBe("witness_invalid");
    for (const content of ["[]", "null", JSON.stringify(String(X))]) {
      const error = await refusal({ witness_jwe: await token(content), witness: { Y } });
      expect(error.code, content).toBe("witness_invalid");
      said(error);
    }
    expect((await refusal({ witness_jwe: await token(inputs()), witness_file: "AAAA" })).code).toBe("invalid_request");
  });
});

describe("a secret", () => {
  it("is proved as text, as hex and as a list, and crosses to the thread as its id", async () => {
    const values = [String(X), `0x${X.toString(16)}`, ` ${String(X)}\n`];
    for (const value of values) {
      const made = await prove({ witness: { X: { $secret: await secret(value) }, Y } });
      expect(made.public_signals).toEqual([Y]);
    }
    const source =
      "pragma circom 2.1.6; template L() { signal input a[2][2]; signal output b; b <== a[0][1] * a[1][0]; } component main = L();";
    const list = await provision(test.provers, owner, { source });
    const a = { $secret: await secret('[["1", "2"], [3, "0x4"]]', vaultId), vault_id: vaultId };
    expect((await prove({ witness: { a } }, owner, list.id)).public_signals).toEqual(["6"]);
    for (const message of compute.messages) expect(message).not.toContain(String(X));
  });

  it("needs the right to read it, and is recorded by its ids before it is used", async () => {
    const secretId = await secret(String(X));
    const body = { witness: { X: { $secret: secretId }, Y } };
    const holding = (...names: PermissionName[]): Principal => principalOf(owner, permissionBits(names));
    expect((await refusal(body, holding("create", "read", "vault_use"))).code).toBe("forbidden");
    const before = test.uses.length;
    await prove(body, holding("create", "secret_read"));
    expect(test.uses.slice(before)).toEqual([
      expect.objectContaining({
        ...{ action: "prove", outcome: "ok", subject: `user:${owner.id}`, target: { id }, request_id: "request" },
        detail: { uses: [`secret/${vaultId}/${secretId}`] },
      }),
    ]);
    await prove({ witness: { X: String(X), Y } });
    expect(test.uses).toHaveLength(before + 1);
  });

  it("of another, one that is gone, and one whose deletion is planned are refused and recorded", async () => {
    const theirs = subject();
    const vault = await test.vault.vault.createVault(theirs, { name: "theirs" });
    const other = await test.vault.vault.createSecret(theirs, vault.id, { name: "s", type: "t", value: "canary" });
    const before = test.uses.length;
    for (const reference of [
      { $secret: other.id, vault_id: vault.id },
      { $secret: other.id },
      { $secret: newId() },
      { $secret: newId(), vault_id: newId() },
    ]) {
      const error = await refusal({ witness: { X: reference, Y } });
      expect(error.code).toBe("not_found");
      said(error);
    }
    expect(test.uses.slice(before).map(({ outcome, code }) => [outcome, code])).toEqual(
      Array.from({ length: 4 }, () => ["refused", "not_found"]),
    );
    // The owner's vault is not that of those to whom the prover is shared.
    const own = await secret(String(X));
    expect((await refusal({ witness: { X: { $secret: own }, Y } }, grantee)).code).toBe("invalid_request");
    const named = { $secret: own, vault_id: vaultId };
    expect((await refusal({ witness: { X: named, Y } }, grantee)).code).toBe("not_found");
  });

  it("that is no value is refused without what it is", async () => {
    for (const value of ["canary", "[canary", '[{"canary": 1}]', '["canary"]', "-5", String(X + FIELD_ORDER), "[]"]) {
      const error = await refusal({ witness: { X: { $secret: await secret(value) }, Y } });
      expect(error.code, value).toBe("witness_invalid");
      expect(said(error)).not.toContain(String(X + FIELD_ORDER));
    }
    const wrong = await refusal({ witness: { X: { $secret: await secret(String(X)) }, Y: "1" } });
    expect(wrong.code).toBe("constraints_unsatisfied");
    said(wrong);
  });

  it("is not made public by mistake, and nothing is asked of the vault for it", async () => {
    const before = test.uses.length;
    const open = { $secret: await secret(Y) };
    const error = await refusal({ witness: { X: String(X), Y: open } });
    expect(error).toMatchObject({ code: "witness_invalid", details: [{ path: "Y" }] });
    expect(test.uses).toHaveLength(before);
    const made = await prove({ witness: { X: String(X), Y: { ...open, reveal: true } } });
    expect(made.public_signals).toEqual([Y]);
  });

  it("that goes while the proof waits for a thread is not used", async () => {
    const secretId = await secret(String(X));
    compute.before = async () => {
      await test.vault.vault.deleteSecret(owner, vaultId, secretId);
    };
    expect((await refusal({ witness: { X: { $secret: secretId }, Y } })).code).toBe("not_found");
    const again = await secret(String(X));
    compute.before = async () => {
      await test.vault.seal.seal(Buffer.from(PHRASE));
    };
    onTestFinished(async () => {
      await test.vault.seal.unseal(Buffer.from(PHRASE));
    });
    expect((await refusal({ witness: { X: { $secret: again }, Y } })).code).toBe("vault_sealed");
  });
});

describe("a signature", () => {
  it("has the parts that the key's own route answers", async () => {
    const { id: prover, vault_id: place } = await provision(test.provers, owner, { source: PARTS });
    const signer = await test.vault.vault.createKey(owner, place, {
      ...{ type: "asymmetric", usage: "sign/verify", spec: "babyJubJub", name: "k" },
    });
    const signed = (await test.vault.vault.operations.sign(
      { owner, vaultId: place, keyId: signer.id },
      { message: "04d2" },
    )) as unknown as { readonly inputs: { PublicKey: [string, string]; R8: [string, string]; S: string } };
    const { PublicKey, R8, S } = signed.inputs;
    const wanted = String((BigInt(PublicKey[1]) * BigInt(R8[1]) + BigInt(S)) % FIELD_ORDER);
    const part = (name: string): object => ({ $sign: signer.id, message: 1234, part: name });
    const before = test.uses.length;
    const witness = {
      ...{ key: part("PublicKey"), r: [part("R8x"), part("R8y")], s: part("S"), m: part("Message") },
    };
    const made = await prove({ witness }, principalOf(owner, permissionBits(["create", "vault_use"])), prover);
    expect(made.public_signals).toEqual([wanted, "1234"]);
    // Four parts of one signature: the key was used once.
    expect(test.uses.slice(before).map(({ detail }) => detail)).toEqual([{ uses: [`key/${place}/${signer.id}`] }]);
    const apart = { ...witness, key: [part("Ax"), part("Ay")], r: part("R8") };
    expect((await prove({ witness: apart }, owner, prover)).public_signals).toEqual([wanted, "1234"]);
    expect(
      (await refusal({ witness }, principalOf(owner, permissionBits(["create", "secret_read"])), prover)).code,
    ).toBe("forbidden");
    await test.vault.vault.deleteKey(owner, place, signer.id);
    expect((await refusal({ witness }, owner, prover)).code).toBe("not_found");
  });

  it("is not made by keys of other kinds, nor by those of others", async () => {
    const { vault } = test.vault;
    for (const spec of ["Ed25519", "C25519", "AES-256-GCM"]) {
      const { id: keyId } = await vault.createKey(owner, vaultId, { spec, name: "k" });
      const error = await refusal({ witness: { X: { $sign: keyId, message: 1, part: "S" }, Y } });
      expect(error.code, spec).toBe("spec_cannot_sign");
      await vault.deleteKey(owner, vaultId, keyId);
    }
    const theirs = subject();
    const place = await vault.createVault(theirs, { name: "theirs" });
    const other = await vault.createKey(theirs, place.id, { spec: "babyJubJub", name: "k" });
    const reference = { $sign: other.id, vault_id: place.id, message: 1, part: "S" };
    expect((await refusal({ witness: { X: reference, Y } })).code).toBe("not_found");
  });
});

it("asks for the vault and for inputs as it did where nothing is closed", async () => {
  expect((await refusal({})).code).toBe("witness_missing");
  expect((await prove({ witness: { X: String(X), Y } })).public_signals).toEqual([Y]);
});
