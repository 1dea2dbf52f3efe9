// Operations of one key that run as one joint request: each gets its own answer or refusal, and none uses a key whose
// record was changed.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ed25519 } from "@noble/curves/ed25519.js";
import { hexToBytes } from "@noble/hashes/utils.js";
import type { Subject } from "../../../src/platform/auth/principal.js";
import { AppError } from "../../../src/platform/errors.js";
import { KeyLifecycle } from "../../../src/vault/keys/key-lifecycle.js";
import { VaultRepository } from "../../../src/vault/repository.js";
import { seededRandom } from "../../support/seeded.js";
import { decryptText, encryptText, openTestVault, PHRASE, subject, type TestVault } from "../support.js";

const TOGETHER = 12;
/** As many requests as one thread accepts at once. */
const WAVE = 200;

let test: TestVault;
let keys: KeyLifecycle;
let owner: Subject;
let vaultId: string;
beforeAll(async () => {
  test = await openTestVault();
  keys = new KeyLifecycle({
    repository: new VaultRepository({ store: test.store }),
    seal: test.seal,
    clock: test.clock,
  });
  owner = subject();
  vaultId = (await test.vault.createVault(owner, { name: "v" })).id;
});
afterAll(async () => {
  await test.close();
});

const newKey = async (spec: string): Promise<string> =>
  (await test.vault.createKey(owner, vaultId, { spec, name: "k" })).id;
const times = async <T>(run: (index: number) => Promise<T>): Promise<PromiseSettledResult<T>[]> =>
  await Promise.allSettled(Array.from({ length: TOGETHER }, async (_, index) => await run(index)));
const encryptAll = async (keyId: string): Promise<PromiseSettledResult<string>[]> =>
  await times(async (index) => await encryptText(test, owner, vaultId, keyId, { data: `text ${String(index)}` }));
const refusals = (outcomes: readonly PromiseSettledResult<unknown>[]): unknown[] =>
  outcomes.map((outcome) =>
    outcome.status === "fulfilled"
      ? "fulfilled"
      : outcome.reason instanceof AppError
        ? outcome.reason.code
        : String(outcome.reason),
  );
const faults = (outcomes: readonly PromiseSettledResult<unknown>[]): unknown[] =>
  outcomes.map((outcome) => {
    if (outcome.status === "fulfilled" || !(outcome.reason instanceof AppError)) return outcome;
    const { code, message, details } = outcome.reason;
    return { code, message, details };
  });
const all = (code: string): string[] => Array.from({ length: TOGETHER }, () => code);
const valuesOf = (outcomes: readonly PromiseSettledResult<string>[]): string[] =>
  outcomes.map((outcome) => {
    if (outcome.status === "rejected") throw outcome.reason;
    return outcome.value;
  });

describe("operations of one key that come together", () => {
  it("fail for what is wrong with themselves, with what they would fail with alone", async () => {
    const keyId = await newKey("AES-256-GCM");
    const bad = [
      { data: "0", encoding: "hex" },
      { data: "a", message: "b" },
      {},
      { data: "a\ud800" },
      { data: "x".repeat(70_000) },
      { data: "a", context: "c".repeat(2_000) },
    ] as const;
    const alone = [];
    for (const input of bad)
      alone.push(...(await Promise.allSettled([encryptText(test, owner, vaultId, keyId, input)])));
    const mixed = await Promise.allSettled(
      bad.flatMap((input, index) => [
        encryptText(test, owner, vaultId, keyId, { data: `good ${String(index)}` }),
        encryptText(test, owner, vaultId, keyId, input),
      ]),
    );
    expect(faults(mixed.filter((_, index) => index % 2 === 1))).toEqual(faults(alone));
    expect(new Set(refusals(alone))).not.toContain("fulfilled");
    const frames = valuesOf(mixed.filter((_, index) => index % 2 === 0));
    // The frames are decrypted together too, and a changed one among them is refused alone.
    const changed = `${(frames[0] ?? "").slice(0, -2)}${(frames[0] ?? "").endsWith("00") ? "01" : "00"}`;
    const opened = await Promise.allSettled(
      [...frames, changed, ...frames].map(async (data) => await decryptText(test, owner, vaultId, keyId, { data })),
    );
    const texts = frames.map((_, index) => `good ${String(index)}`);
    expect(valuesOf(opened.toSpliced(frames.length, 1))).toEqual([...texts, ...texts]);
    expect(refusals(opened)[frames.length]).toBe("decryption_failed");
  });

  it("get their answers when something nobody expected befalls one of them, which fails alone", async () => {
    const [aes, ed, ec] = [await newKey("AES-256-GCM"), await newKey("Ed25519"), await newKey("secp256k1")];
    // Validated requests never have this form. The thread fails on it, while it reads or while it works.
    const notText = { data: 5 } as unknown as { data: string };
    const notJson = { message: "00", options: { format: "jws", header: { typ: 1n } } } as unknown as {
      message: string;
    };
    const sign = async (keyId: string, index: number, input: { message: string }): Promise<unknown> =>
      await test.vault.operations.sign({ owner, vaultId, keyId }, index === 2 ? notJson : input);
    const works: ((index: number) => Promise<unknown>)[] = [
      async (index) =>
        await decryptText(test, owner, vaultId, aes, {
          data: await encryptText(test, owner, vaultId, aes, index === 2 ? notText : { data: `text ${String(index)}` }),
        }),
      async (index) => await sign(ed, index, { message: "0123" }),
      async (index) => await sign(ec, index, { message: "ab".repeat(32) }),
    ];
    for (const work of works) {
      const outcomes = await times(work);
      expect(refusals(outcomes)).toEqual(all("fulfilled").with(2, "internal_error"));
      if (work === works[0])
        expect(valuesOf(outcomes.toSpliced(2, 1) as PromiseSettledResult<string>[])).toEqual(
          Array.from({ length: TOGETHER }, (_, index) => `text ${String(index)}`).toSpliced(2, 1),
        );
    }
    expect(refusals(await encryptAll(aes))).toEqual(all("fulfilled"));
  });

  it("fail alike where the key lacks the operation or its record was changed", async () => {
    const [keyId, signer] = [await newKey("AES-256-GCM"), await newKey("Ed25519")];
    expect(refusals(await encryptAll(signer))).toEqual(all("spec_cannot_encrypt"));
    const record = test.store.get<Record<string, string>>(["key", vaultId, keyId])!;
    await test.store.commit({ puts: [{ key: record.key, value: { ...record.value, usage: "sign/verify" } }] });
    expect(refusals(await encryptAll(keyId))).toEqual(all("data_corrupt"));
    await test.store.commit({ puts: [{ key: record.key, value: record.value }] });
    expect(refusals(await encryptAll(keyId))).toEqual(all("fulfilled"));
  });

  it("meet the key as it is now: disabled, enabled, rotated, deleted", async () => {
    const keyId = await newKey("AES-256-GCM");
    const first = valuesOf(await encryptAll(keyId));
    await keys.disable(owner, vaultId, keyId);
    expect(refusals(await encryptAll(keyId))).toEqual(all("key_disabled"));
    await keys.enable(owner, vaultId, keyId);
    await keys.rotate(owner, vaultId, keyId);
    const second = valuesOf(await encryptAll(keyId));
    const generationOf = (frame: string): number => Number(`0x${frame.slice(6, 14)}`);
    expect([new Set(first.map(generationOf)), new Set(second.map(generationOf))]).toEqual([new Set([1]), new Set([2])]);
    const frames = first.flatMap((frame, index) => [frame, second[index] ?? ""]);
    const opened = await Promise.all(
      frames.map(async (data) => await decryptText(test, owner, vaultId, keyId, { data })),
    );
    expect(opened).toEqual(first.flatMap((_, index) => [`text ${String(index)}`, `text ${String(index)}`]));
    await test.vault.deleteKey(owner, vaultId, keyId);
    expect(refusals(await encryptAll(keyId))).toEqual(all("not_found"));
  });

  it("are refused while the vault is sealed, and served again once it is not", async () => {
    const keyId = await newKey("AES-256-GCM");
    const frames = valuesOf(await encryptAll(keyId));
    await test.seal.seal(Buffer.from(PHRASE));
    expect(refusals(await encryptAll(keyId))).toEqual(all("vault_sealed"));
    await test.seal.unseal(Buffer.from(PHRASE));
    const opened = await times(
      async (index) => await decryptText(test, owner, vaultId, keyId, { data: frames[index] ?? "" }),
    );
    expect(valuesOf(opened)).toEqual(frames.map((_, index) => `text ${String(index)}`));
  });

  const random = seededRandom();
  it(`get each their own answer, a thousand of all kinds, seed ${String(random.seed)}`, async () => {
    const ciphers = await Promise.all(["AES-256-GCM", "AES-256-GCM", "ChaCha20"].map(newKey));
    const signers = await Promise.all(
      [0, 1].map(async () => await test.vault.createKey(owner, vaultId, { spec: "Ed25519", name: "k" })),
    );
    const one = async (index: number): Promise<boolean> => {
      const keyId = random.pick(ciphers);
      const context = random.pick([undefined, "a", "b"]);
      const data = `text ${String(index)} of seed ${String(random.seed)}`;
      if (random.chance(0.3)) {
        const signer = random.pick(signers);
        const message = Buffer.from(data).toString("hex");
        const { signature } = (await test.vault.operations.sign({ owner, vaultId, keyId: signer.id }, { message })) as {
          signature: string;
        };
        return ed25519.verify(
          hexToBytes(signature),
          hexToBytes(message),
          hexToBytes((signer.public_key ?? "").slice(2)),
        );
      }
      const input = context === undefined ? {} : { context };
      const frame = await encryptText(test, owner, vaultId, keyId, { data, ...input });
      return (await decryptText(test, owner, vaultId, keyId, { data: frame, ...input })) === data;
    };
    for (let from = 0; from < 1_000; from += WAVE) {
      const answers = await Promise.all(Array.from({ length: WAVE }, async (_, index) => await one(from + index)));
      expect(answers.every(Boolean)).toBe(true);
    }
  });
});
