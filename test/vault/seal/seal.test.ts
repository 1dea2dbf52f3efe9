import { readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { getHeapSnapshot } from "node:v8";
import { afterEach, describe, expect, it } from "vitest";
import { PrivateFileError } from "../../../src/platform/files/private-file.js";
import { DEVELOPMENT_PHRASE_FILE, initialiseDevelopmentSeal } from "../../../src/vault/seal/providers/development.js";
import { environmentSealProvider } from "../../../src/vault/seal/providers/environment.js";
import type { SealProvider } from "../../../src/vault/seal/providers/provider.js";
import type { VaultTaskRunner } from "../../../src/vault/protocol.js";
import {
  codeOf,
  decryptText,
  deriveKey,
  encryptText,
  openTestVault,
  OTHER_HASH,
  OTHER_PHRASE,
  PAGE,
  PHRASE,
  PHRASE_HASH,
  sealBody,
  subject,
  type TestVault,
  type TestVaultOptions,
} from "../support.js";
import { newFolder } from "../../support/temporary-folder.js";

const opened: TestVault[] = [];
/** Without threads unless they are asked for: what the seal decides, it decides on the main thread. */
async function open(options: TestVaultOptions = {}): Promise<TestVault> {
  const test = await openTestVault({ isOnThisThread: true, ...options });
  opened.push(test);
  return test;
}
afterEach(async () => {
  for (const test of opened.splice(0)) await test.close();
});

const owner = subject();
/** For what happens in the threads: their keys, their memory, and operations that run while the seal changes. */
const THREADS = { isOnThisThread: false } as const;

describe("unsealing", () => {
  it("starts sealed, opens with the right key and tells so", async () => {
    const test = await open({ ...THREADS, unsealed: false });
    expect(test.vault.sealStatus()).toEqual({ sealed: true, provider: "environment", initialised: false });
    await test.vault.unseal(owner, sealBody(PHRASE));
    expect(test.vault.state()).toBe("unsealed");
    expect(test.vault.sealStatus()).toEqual({ sealed: false, provider: "environment", initialised: true });
  });

  it("wakes whatever waits for it, and whatever gives up waiting", async () => {
    const test = await open({ unsealed: false });
    const givenUp = new AbortController();
    const waits = [
      test.vault.untilUnsealed(new AbortController().signal),
      test.vault.untilUnsealed(new AbortController().signal),
      test.vault.untilUnsealed(givenUp.signal),
    ];
    givenUp.abort(new Error("the lease is lost"));
    await expect(waits[2]).rejects.toThrow("the lease is lost");
    await expect(test.vault.untilUnsealed(givenUp.signal)).rejects.toThrow("the lease is lost");
    await test.vault.unseal(owner, sealBody(PHRASE));
    await Promise.all(waits.slice(0, 2));
    await test.vault.untilUnsealed(new AbortController().signal);
  });

  it("takes the key in another spelling", async () => {
    const test = await open({ unsealed: false });
    await test.vault.unseal(owner, sealBody(`  ${PHRASE.toUpperCase().replaceAll(" ", " \n ")} `));
    expect(test.vault.isUnsealed()).toBe(true);
  });

  it("rejects a wrong key, a phrase of 12 words and other text alike, and stays sealed", async () => {
    const test = await open({ unsealed: false });
    const messages = new Set<string>();
    for (const phrase of [
      OTHER_PHRASE,
      "legal winner thank year wave sausage worth useful legal winner thank yellow",
      "x",
      "ünder 1",
      PHRASE.replace("legal", "zoo"),
    ]) {
      const error: unknown = await test.vault.unseal(subject(), sealBody(phrase)).catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: "seal_key_rejected", status: 403 });
      messages.add((error as Error).message);
    }
    expect(messages.size).toBe(1);
    expect(test.vault.state()).toBe("sealed");
    expect(test.vault.sealStatus().initialised).toBe(false);
  });

  it("refuses a phrase that hashes right but is not one of 24 valid words", async () => {
    const { createHash } = await import("node:crypto");
    for (const phrase of [
      "legal winner thank year wave sausage worth useful legal winner thank yellow",
      `${"abandon ".repeat(23)}abandon`,
    ]) {
      const test = await open({
        unsealed: false,
        provider: environmentSealProvider({ validationHash: createHash("sha256").update(phrase).digest("hex") }),
      });
      expect(await codeOf(() => test.vault.unseal(owner, sealBody(phrase)))).toBe("seal_key_rejected");
    }
  });

  it("checks the key also when already unsealed, and changes nothing", async () => {
    const test = await open();
    expect(await codeOf(() => test.vault.unseal(owner, sealBody(PHRASE)))).toBe("fulfilled");
    expect(await codeOf(() => test.vault.unseal(owner, sealBody(OTHER_PHRASE)))).toBe("seal_key_rejected");
    expect(test.vault.state()).toBe("unsealed");
  });

  it("is refused while nothing is configured", async () => {
    const test = await open({ unsealed: false, provider: environmentSealProvider({}) });
    expect(test.vault.state()).toBe("unconfigured");
    expect(await codeOf(() => test.vault.unseal(owner, sealBody(PHRASE)))).toBe("vault_not_configured");
    expect(await codeOf(() => test.vault.seal(owner, sealBody(PHRASE)))).toBe("vault_not_configured");
    expect(await codeOf(() => test.vault.listVaults(owner, PAGE))).toBe("vault_sealed");
  });

  it("allows ten wrong keys a minute per subject, sent one after the other or all at once", async () => {
    const test = await open({ ...THREADS, unsealed: false });
    const guesser = subject();
    const codes = await Promise.all(
      Array.from({ length: 15 }, async () => await codeOf(() => test.vault.unseal(guesser, sealBody(OTHER_PHRASE)))),
    );
    expect(codes.filter((code) => code === "seal_key_rejected")).toHaveLength(10);
    expect(codes.filter((code) => code === "too_many_requests")).toHaveLength(5);
    expect(await codeOf(() => test.vault.unseal(guesser, sealBody(PHRASE)))).toBe("too_many_requests");
    expect(await codeOf(() => test.vault.seal(guesser, sealBody(PHRASE)))).toBe("too_many_requests");
    expect(await codeOf(() => test.vault.unseal(subject(), sealBody(PHRASE)))).toBe("fulfilled");
    test.clock.ms += 60_000;
    expect(await codeOf(() => test.vault.unseal(guesser, sealBody(PHRASE)))).toBe("fulfilled");
  });

  it("does not count right keys", async () => {
    const test = await open();
    for (let i = 0; i < 12; i += 1)
      expect(await codeOf(() => test.vault.unseal(owner, sealBody(PHRASE)))).toBe("fulfilled");
  });

  it("opens once when asked from several sides at the same time", async () => {
    const test = await open({ ...THREADS, unsealed: false });
    const codes = await Promise.all(
      [PHRASE, OTHER_PHRASE, PHRASE].map(
        async (phrase) => await codeOf(() => test.vault.unseal(subject(), sealBody(phrase))),
      ),
    );
    expect(codes).toEqual(["fulfilled", "seal_key_rejected", "fulfilled"]);
    expect(test.vault.state()).toBe("unsealed");
  });
});

describe("the sentinel", () => {
  it("opens the same store again after a restart, with everything readable", async () => {
    const first = await open(THREADS);
    const { id } = await first.vault.createVault(owner, { name: "v" });
    const secret = await first.vault.createSecret(owner, id, { name: "n", type: "t", value: "kept" });
    await first.close({ keep: true });
    opened.pop();
    const second = await open({ ...THREADS, folder: first.folder });
    expect(await second.vault.retrieveSecret(owner, id, secret.id)).toBe("kept");
  });

  it("keeps a store sealed when another valid key is configured for it", async () => {
    const first = await open();
    await first.close({ keep: true });
    opened.pop();
    const second = await open({
      folder: first.folder,
      unsealed: false,
      provider: environmentSealProvider({ validationHash: OTHER_HASH }),
    });
    expect(await codeOf(() => second.vault.unseal(owner, sealBody(OTHER_PHRASE)))).toBe("seal_key_mismatch");
    expect(second.vault.state()).toBe("sealed");
    expect(second.vault.sealStatus()).toMatchObject({ sealed: true, initialised: true });
  });

  it("stays sealed when the sentinel of a first unsealing cannot be stored", async () => {
    let failing = true;
    const test = await open({
      unsealed: false,
      wrapStore: (store) => ({
        get: (key) => store.get(key),
        range: (prefix, options) => store.range(prefix, options),
        count: (prefix) => store.count(prefix),
        close: async () => {
          await store.close();
        },
        commit: async (commit) => {
          if (failing) throw new Error("disk");
          await store.commit(commit);
        },
      }),
    });
    await expect(test.vault.unseal(owner, sealBody(PHRASE))).rejects.toThrow("disk");
    expect(test.vault.state()).toBe("sealed");
    expect(await codeOf(() => test.vault.createVault(owner, { name: "v" }))).toBe("vault_sealed");
    failing = false;
    expect(await codeOf(() => test.vault.unseal(owner, sealBody(PHRASE)))).toBe("fulfilled");
  });
});

describe("sealing", () => {
  it("needs the right key, drops the keys, and opens again", async () => {
    const test = await open(THREADS);
    const { id } = await test.vault.createVault(owner, { name: "v" });
    const secret = await test.vault.createSecret(owner, id, { name: "n", type: "t", value: "kept" });
    expect(await codeOf(() => test.vault.seal(owner, sealBody(OTHER_PHRASE)))).toBe("seal_key_rejected");
    expect(test.vault.state()).toBe("unsealed");
    await test.vault.seal(owner, sealBody(PHRASE));
    expect(test.vault.state()).toBe("sealed");
    expect(await codeOf(() => test.vault.seal(owner, sealBody(PHRASE)))).toBe("fulfilled");
    // The fresh worker holds no key, whatever it is asked.
    const answer = await test.worker.run("create_master", { vaultId: id, owner: "user:x", masterKeyId: secret.id });
    expect(answer).toMatchObject({ ok: false, code: "vault_sealed" });
    await test.vault.unseal(owner, sealBody(PHRASE));
    expect(await test.vault.retrieveSecret(owner, id, secret.id)).toBe("kept");
  });

  it("answers every data operation with vault_sealed, whether or not the thing exists", async () => {
    const test = await open(THREADS);
    const { id } = await test.vault.createVault(owner, { name: "v" });
    const key = await test.vault.createKey(owner, id, { spec: "ChaCha20", name: "k" });
    const secret = await test.vault.createSecret(owner, id, { name: "n", type: "t", value: "v" });
    const pendingVault = await test.vault.prepareVault(owner, { name: "pending" });
    await test.vault.seal(owner, sealBody(PHRASE));
    for (const [vault, k, s] of [
      [id, key.id, secret.id],
      [secret.id, id, key.id],
    ] as const) {
      const operations: (() => unknown)[] = [
        () => test.vault.listVaults(owner, PAGE),
        () => test.vault.createVault(owner, { name: "v" }),
        () => test.vault.getVault(owner, vault),
        () => test.vault.deleteVault(owner, vault),
        () => test.vault.deletion(owner, vault),
        () => test.vault.listKeys(owner, vault, PAGE),
        () => test.vault.createKey(owner, vault, { spec: "ChaCha20", name: "k" }),
        () => test.vault.getKey(owner, vault, k),
        () => test.vault.deleteKey(owner, vault, k),
        () => deriveKey(test, owner, vault, k, { context: "c", name: "n" }),
        () => test.vault.encrypt({ owner, vaultId: vault, keyId: k }, Buffer.from("x")),
        () => test.vault.decrypt({ owner, vaultId: vault, keyId: k }, Buffer.from("x")),
        () => test.vault.listSecrets(owner, vault, PAGE),
        () => test.vault.createSecret(owner, vault, { name: "n", type: "t", value: "v" }),
        () => test.vault.getSecret(owner, vault, s),
        () => test.vault.retrieveSecret(owner, vault, s),
        () => test.vault.deleteSecret(owner, vault, s),
        () => test.vault.prepareVault(owner, { name: "v" }),
        () => test.vault.prepareKey(owner, pendingVault.vault.id, { spec: "ChaCha20", name: "k" }, { pendingVault }),
        () =>
          test.vault.prepareSecret(
            owner,
            pendingVault.vault.id,
            { name: "n", type: "t", value: "v" },
            { pendingVault },
          ),
      ];
      for (const [i, run] of operations.entries()) expect(await codeOf(run), `operation ${i}`).toBe("vault_sealed");
    }
    expect(() => test.vault.createUnsealerKey()).not.toThrow();
    expect(test.vault.sealStatus().sealed).toBe(true);
  });

  it("lets running operations end, each with a sound answer or vault_sealed", async () => {
    const test = await open(THREADS);
    const { id } = await test.vault.createVault(owner, { name: "v" });
    const key = await test.vault.createKey(owner, id, { spec: "AES-256-GCM", name: "k" });
    const running = Array.from(
      { length: 50 },
      async (_, i) =>
        await encryptText(test, owner, id, key.id, { data: `m${i}` }).catch(
          (error: unknown) => (error as { code: string }).code,
        ),
    );
    const sealing = test.vault.seal(owner, sealBody(PHRASE));
    const late = codeOf(() => test.vault.encrypt({ owner, vaultId: id, keyId: key.id }, Buffer.from("late")));
    const answers = await Promise.all(running);
    await sealing;
    await test.vault.unseal(owner, sealBody(PHRASE));
    for (const [i, answer] of answers.entries()) {
      if (answer !== "vault_sealed") expect(await decryptText(test, owner, id, key.id, { data: answer })).toBe(`m${i}`);
    }
    expect(["fulfilled", "vault_sealed"]).toContain(await late);
  });

  it("seals itself when the worker loses its keys, and opens itself again where the provider has the key", async () => {
    let worker: VaultTaskRunner | undefined;
    const wrapWorker = (inner: VaultTaskRunner): VaultTaskRunner => (worker = inner);
    const manual = await open({ ...THREADS, wrapWorker });
    await worker!.recycle();
    expect(await codeOf(() => manual.vault.createVault(owner, { name: "v" }))).toBe("vault_sealed");
    expect(manual.vault.state()).toBe("fault_sealed");
    expect(await codeOf(() => manual.vault.unseal(owner, sealBody(PHRASE)))).toBe("fulfilled");

    const automatic = await open({
      ...THREADS,
      wrapWorker,
      provider: environmentSealProvider({ key: PHRASE, validationHash: PHRASE_HASH }),
    });
    await worker!.recycle();
    expect(await codeOf(() => automatic.vault.createVault(owner, { name: "v" }))).toBe("vault_sealed");
    await expect.poll(() => automatic.vault.state()).toBe("unsealed");
    expect(await codeOf(() => automatic.vault.createVault(owner, { name: "v" }))).toBe("fulfilled");
  });

  it("seals without a key on shutdown, after the running operations", async () => {
    const test = await open(THREADS);
    const running = Array.from({ length: 20 }, async () => await test.vault.prepareVault(owner, { name: "v" }));
    const [answers] = await Promise.all([Promise.all(running), test.seal.shutDown()]);
    expect(answers).toHaveLength(20);
    expect(test.vault.state()).toBe("sealed");
    expect(await codeOf(() => test.vault.createVault(owner, { name: "v" }))).toBe("vault_sealed");
  });

  it("tells after each unsealing that waiting work can go on", async () => {
    let unsealed = 0;
    const test = await open({
      onUnsealed: () => {
        unsealed += 1;
      },
    });
    expect(unsealed).toBe(1);
    await test.vault.unseal(owner, sealBody(PHRASE));
    expect(unsealed).toBe(1);
    await test.vault.seal(owner, sealBody(PHRASE));
    await test.vault.unseal(owner, sealBody(PHRASE));
    expect(unsealed).toBe(2);
  });
});

describe("the phrase in memory", () => {
  it("never becomes a string of the main thread: a heap snapshot after unsealing does not hold it", async () => {
    const test = await open({
      ...THREADS,
      unsealed: false,
      provider: environmentSealProvider({ validationHash: OTHER_HASH }),
    });
    // A phrase that is no constant of this file, so that only the vault could have kept it.
    const issued = test.vault.createUnsealerKey();
    const words = Buffer.from(issued).subarray(8, Buffer.from(issued).indexOf('","'));
    const body = Buffer.concat([Buffer.from('{"key":"'), words, Buffer.from('"}')]);
    await codeOf(() => test.vault.unseal(owner, body));
    expect(body.every((byte) => byte === 0)).toBe(true);
    const chunks: Buffer[] = [];
    for await (const chunk of getHeapSnapshot()) chunks.push(chunk as Buffer);
    expect(Buffer.concat(chunks).includes(words)).toBe(false);
  });
});

describe("unsealer keys", () => {
  it("are 24 fresh words with the hash that recognises them, and open another instance", async () => {
    const test = await open({ unsealed: false });
    const issued = [test.vault.createUnsealerKey(), test.vault.createUnsealerKey()].map(
      (bytes) => JSON.parse(Buffer.from(bytes).toString()) as { key: string; validation_hash: string },
    );
    expect(issued[0]!.key).not.toBe(issued[1]!.key);
    for (const { key, validation_hash } of issued) {
      expect(key.split(" ")).toHaveLength(24);
      expect(validation_hash).toMatch(/^0x[0-9a-f]{64}$/);
      const other = await open({
        unsealed: false,
        provider: environmentSealProvider({ validationHash: validation_hash.toUpperCase().replace("0X", "0x") }),
      });
      await other.vault.unseal(owner, sealBody(key));
      expect(other.vault.isUnsealed()).toBe(true);
    }
    expect(test.vault.state()).toBe("sealed");
  });

  it("are made by the environment provider only", async () => {
    const provider: SealProvider = {
      ...environmentSealProvider({ validationHash: PHRASE_HASH }),
      name: "container_secret",
      issuesKeys: false,
    };
    const test = await open({ unsealed: false, provider });
    expect(await codeOf(() => test.vault.createUnsealerKey())).toBe("seal_unsupported");
  });
});

describe("a provider that holds the key itself", () => {
  const held = (readKey: SealProvider["readKey"]): SealProvider => ({
    ...environmentSealProvider({ validationHash: PHRASE_HASH }),
    name: "container_secret",
    issuesKeys: false,
    readKey,
  });

  it("lets permission alone seal, and unseal by asking it again", async () => {
    const test = await open({ unsealed: false, provider: held(async () => Buffer.from(PHRASE)) });
    await test.vault.unseal(owner, Buffer.from("{}"));
    expect(test.vault.state()).toBe("unsealed");
    await test.vault.unseal(owner, Buffer.from("{}"));
    await test.vault.seal(owner, Buffer.from(" { } "));
    expect(test.vault.state()).toBe("sealed");
    await test.vault.seal(owner, Buffer.from("{}"));
    await test.vault.unseal(owner, Buffer.from("{}"));
    expect(test.vault.state()).toBe("unsealed");
    await test.vault.seal(owner, sealBody(PHRASE));
    expect(test.vault.state()).toBe("sealed");
  });

  it("that does not answer leaves the vault sealed, and counts as an attempt", async () => {
    const test = await open({ unsealed: false, provider: held(() => Promise.reject(new Error("unreachable"))) });
    for (let attempt = 0; attempt < 10; attempt += 1)
      expect(await codeOf(() => test.vault.unseal(owner, Buffer.from("{}")))).toBe("seal_provider_failed");
    expect(await codeOf(() => test.vault.unseal(owner, Buffer.from("{}")))).toBe("too_many_requests");
    expect(test.vault.state()).toBe("sealed");
  });

  it("is none where people hold the key: an empty body is refused", async () => {
    const test = await open();
    expect([
      await codeOf(() => test.vault.seal(owner, Buffer.from("{}"))),
      await codeOf(() => test.vault.unseal(owner, Buffer.from("{}"))),
    ]).toEqual(["invalid_request", "invalid_request"]);
    expect(test.vault.state()).toBe("unsealed");
  });
});

describe("the environment provider", () => {
  it("unseals at start when it has the key", async () => {
    const test = await open({
      unsealed: false,
      provider: environmentSealProvider({ key: ` ${PHRASE.toUpperCase()}\n` }),
    });
    expect(await test.seal.unsealAutomatically()).toBe("unsealed");
  });

  it("stays sealed, without failing, when its key does not fit its hash", async () => {
    const test = await open({
      unsealed: false,
      provider: environmentSealProvider({ key: OTHER_PHRASE, validationHash: PHRASE_HASH }),
    });
    expect(await test.seal.unsealAutomatically()).toBe("sealed");
  });

  it("stays sealed when it has no key, and when its source fails", async () => {
    expect(await (await open({ unsealed: false })).seal.unsealAutomatically()).toBe("sealed");
    const provider: SealProvider = {
      ...environmentSealProvider({ validationHash: PHRASE_HASH }),
      readKey: () => Promise.reject(new Error("unreachable")),
    };
    expect(await (await open({ unsealed: false, provider })).seal.unsealAutomatically()).toBe("sealed");
  });

  it("refuses a malformed hash or phrase", async () => {
    for (const validationHash of [
      "",
      "0x",
      PHRASE_HASH.slice(1),
      `${PHRASE_HASH}0`,
      `0x0x${PHRASE_HASH}`,
      "g".repeat(64),
    ])
      expect(await codeOf(() => environmentSealProvider({ validationHash }))).toBe("invalid_request");
    expect(await codeOf(() => environmentSealProvider({ key: "not a phrase" }))).toBe("invalid_request");
  });
});

describe("the development seal", () => {
  it("makes a phrase file once, readable by its owner only, and unseals with it", async () => {
    const folder = newFolder("seal");
    const path = join(folder, "data", DEVELOPMENT_PHRASE_FILE);
    const providers = await Promise.all(
      [1, 2, 3].map(async () => await initialiseDevelopmentSeal(join(folder, "data"))),
    );
    const text = await readFile(path, "utf8");
    expect(text.split(" ")).toHaveLength(24);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    for (const provider of providers) expect(Buffer.from((await provider.readKey())!).toString()).toBe(text);
    const test = await open({ unsealed: false, provider: await initialiseDevelopmentSeal(join(folder, "data")) });
    expect(await test.seal.unsealAutomatically()).toBe("unsealed");
    await rm(folder, { recursive: true });
  });

  it("refuses a file that others can read, and one without a phrase", async () => {
    const folder = newFolder("seal");
    const path = join(folder, DEVELOPMENT_PHRASE_FILE);
    await writeFile(path, `${PHRASE}\n`, { mode: 0o644 });
    await expect(initialiseDevelopmentSeal(folder)).rejects.toThrow(PrivateFileError);
    await rm(path);
    await writeFile(path, "twelve words", { mode: 0o600 });
    expect(await codeOf(() => initialiseDevelopmentSeal(folder))).toBe("vault_not_configured");
    await rm(folder, { recursive: true });
  });
});
