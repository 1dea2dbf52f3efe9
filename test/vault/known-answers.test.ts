// SOURCE: known answers of the vault's own formats, fixed before the code was written. They must never change, because
// stored records of every installation depend on them.
import { createSecretKey } from "node:crypto";
import { describe, expect, it } from "vitest";
import { unwrapRecord, wrapRecord, type EnvelopePlace } from "../../src/vault/worker/record-wrapping.js";
import {
  deriveApiKey,
  deriveChildKey,
  deriveKek,
  deriveRecordKey,
  deriveSentinel,
} from "../../src/vault/worker/key-hierarchy.js";

const uuid = (digit: number): string =>
  `${String(digit).repeat(8)}-${String(digit).repeat(4)}-4${String(digit).repeat(3)}-8${String(digit).repeat(3)}-${String(digit).repeat(12)}`;
const STORE = uuid(1);
const VAULT = uuid(2);
const KEY = uuid(3);
const MASTER = uuid(4);
const ENTROPY = Buffer.alloc(32, 0x7f);
const MASTER_KEY = Buffer.alloc(32, 0xa5);
const NONCE = Uint8Array.from({ length: 24 }, (_, i) => i);
const hexOfBase64 = (text: string): string => Buffer.from(text, "base64").toString("hex");

const MASTER_ENVELOPE =
  "010100000001000102030405060708090a0b0c0d0e0f10111213141516171a5fa252bbc4780427b9760590bdce99d9a797fd0b381ba4a227ec650089ff46ea1c3bc744bcc65104106250e3922b90";
const KEY_ENVELOPE =
  "010100000001000102030405060708090a0b0c0d0e0f1011121314151617482ea27d664629cddeb7970d6c609cb9bd8b9244db5e91ac5e28f3b77916ae64390ffba266a3b3dbc6d6cb7faf3436c3eb";

const masterPlace: EnvelopePlace = {
  purpose: "mk",
  vaultId: VAULT,
  recordId: MASTER,
  metadata: { usage: "encrypt/decrypt", type: "symmetric", spec: "AES-256-GCM", owner: `user:${uuid(5)}` },
};
const keyPlace: EnvelopePlace = {
  purpose: "key",
  vaultId: VAULT,
  recordId: KEY,
  metadata: { spec: "secp256k1", type: "asymmetric", usage: "sign/verify" },
};

describe("the key hierarchy", () => {
  it("derives the fixed KEK and sentinel", () => {
    expect(deriveKek(ENTROPY, STORE).export().toString("hex")).toBe(
      "67fcfd23e2b8274f38874f1cbb2f1d9cf35b18213f4db08f460539698da5f05b",
    );
    expect(Buffer.from(deriveSentinel(ENTROPY, STORE)).toString("hex")).toBe(
      "720febcb52a2f9fc45e0bb99e6af1cc0025ecd87ddc5bca095d8923f2805394c",
    );
  });

  it("derives the fixed record key and API key of a vault", () => {
    expect(deriveRecordKey(MASTER_KEY, VAULT, 1).export().toString("hex")).toBe(
      "fa321cf963b6d8ffbff7787d099dd9c155c175fa460c3d4688d762187696e7a3",
    );
    expect(deriveApiKey(MASTER_KEY, VAULT, MASTER).export().toString("hex")).toBe(
      "7051eb3e3656b8ce37fd08dcb50dad6dae1172a2317e1b391a26062a2d3e53a5",
    );
  });

  it("derives the fixed child key", () => {
    const child = deriveChildKey(Buffer.alloc(32, 0x5c), {
      vaultId: VAULT,
      parentKeyId: KEY,
      nonce: 7,
      context: Buffer.from("payments/2026"),
    });
    expect(child.use((bytes) => Buffer.from(bytes).toString("hex"))).toBe(
      "6860c2286e6354c0397fd624a2be4cdc64823b6afcd60605ee808051378d2f43",
    );
  });

  it("gives different children for another nonce, context or parent, and does not confuse their borders", () => {
    const base = { vaultId: VAULT, parentKeyId: KEY, nonce: 7, context: Buffer.from("a") };
    const inputs = [
      base,
      { ...base, nonce: 8 },
      { ...base, context: Buffer.from("b") },
      { ...base, context: Buffer.from("aa") },
      { ...base, parentKeyId: MASTER },
      { ...base, vaultId: STORE },
      { ...base, nonce: 2 ** 32 - 1 },
    ];
    const children = inputs.map((input) =>
      deriveChildKey(Buffer.alloc(32, 0x5c), input).use((bytes) => Buffer.from(bytes).toString("hex")),
    );
    expect(new Set(children).size).toBe(inputs.length);
  });
});

describe("the envelope", () => {
  it("wraps a master key as fixed", () => {
    const kek = deriveKek(ENTROPY, STORE);
    const envelope = wrapRecord({ key: kek, generation: 1 }, masterPlace, MASTER_KEY, NONCE);
    expect(hexOfBase64(envelope)).toBe(MASTER_ENVELOPE);
    expect(Buffer.from(unwrapRecord(envelope, () => kek, masterPlace))).toEqual(MASTER_KEY);
  });

  it("wraps a key as fixed", () => {
    const recordKey = deriveRecordKey(createSecretKey(MASTER_KEY), VAULT, 1);
    const plaintext = Buffer.concat([Buffer.of(1), Buffer.alloc(32, 0x11)]);
    const envelope = wrapRecord({ key: recordKey, generation: 1 }, keyPlace, plaintext, NONCE);
    expect(hexOfBase64(envelope)).toBe(KEY_ENVELOPE);
    expect(Buffer.from(unwrapRecord(envelope, () => recordKey, keyPlace))).toEqual(plaintext);
  });
});
