// Seal providers against doubles of the vendors' services over HTTP: what the SDKs send, and the result of every kind of
// failure.
import { chmod, chown, mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { systemClock } from "../../../../src/platform/clock.js";
import { MemoryStore } from "../../../support/memory-store.js";
import { createLog } from "../../../../src/platform/log.js";
import { awsKmsProvider } from "../../../../src/vault/seal/providers/aws-kms.js";
import {
  cloudKeyVaultProvider,
  legalSecretName,
  vaultUrl,
} from "../../../../src/vault/seal/providers/cloud-key-vault.js";
import { containerSecretProvider } from "../../../../src/vault/seal/providers/container-secret.js";
import { crc32c, gcpKmsProvider } from "../../../../src/vault/seal/providers/gcp-kms.js";
import type { SealProvider } from "../../../../src/vault/seal/providers/provider.js";
import { loadSdk, SealProviderError } from "../../../../src/vault/seal/providers/provider-failure.js";
import { selectSealProvider, type SealSettings } from "../../../../src/vault/seal/providers/select-provider.js";
import { newFolder, removeFolder } from "../../../support/temporary-folder.js";
import { openTestVault, OTHER_PHRASE, PHRASE, PHRASE_HASH, subject } from "../../support.js";
import { awsKms, azureKeyVault, gcpKms, IDENTITY_HEADER, VendorDouble, type StoredSecret } from "./vendor-doubles.js";

const KEY = "arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab";
const GCP_KEY = "projects/p/locations/global/keyRings/r/cryptoKeys/k";
const NO_SETTINGS: SealSettings = { seal_unseal_secret_name: "_unsealerkey", seal_unseal_timeout_seconds: 10 };
const dependencies = () => ({ store: new MemoryStore(), clock: systemClock, log: createLog("silent") });

/** Reason of a provider that does not give its key. */
async function reasonOf(provider: SealProvider): Promise<string> {
  try {
    await provider.readKey();
    return "gave its key";
  } catch (error) {
    if (error instanceof SealProviderError) return error.message;
    throw error;
  }
}

function textOf(phrase: Uint8Array | undefined): string {
  return Buffer.from(phrase ?? []).toString("latin1");
}

describe("container_secret", () => {
  let folder: string;
  beforeEach(() => {
    folder = newFolder("secret");
  });
  afterEach(() => {
    removeFolder(folder);
  });

  const provider = async (path: string, name = "container_secret") =>
    await selectSealProvider(
      {
        settings: {
          ...NO_SETTINGS,
          seal_unseal_provider: name,
          seal_unseal_key_secret_path: path,
          seal_unseal_validation_hash: PHRASE_HASH,
        },
      },
      dependencies(),
    );

  async function secretFile(content: string, mode = 0o400): Promise<string> {
    const path = join(folder, "secret");
    await writeFile(path, content);
    await chmod(path, mode);
    return path;
  }

  it("unseals at start with the file's phrase, also under its alias and through the runtime's links", async () => {
    const path = await secretFile(`${PHRASE}\n`);
    const link = join(folder, "link");
    await symlink(path, link);
    for (const [name, at] of [
      ["container_secret", path],
      ["docker", link],
    ] as const) {
      const test = await openTestVault({ provider: await provider(at, name), unsealed: false });
      expect(await test.seal.unsealAutomatically()).toBe("unsealed");
      expect(test.seal.status()).toEqual({ sealed: false, provider: "container_secret", initialised: true });
      await test.close();
    }
  });

  it("stays sealed and says why: missing, readable by others, no phrase, another phrase", async () => {
    const cases: [string, RegExp][] = [
      [join(folder, "missing"), /cannot be read \(ENOENT\)/],
      [await secretFile(PHRASE, 0o444), /every user \(mode 0444\)/],
    ];
    for (const [path, reason] of cases) {
      const test = await openTestVault({ provider: await provider(path), unsealed: false });
      expect(await test.seal.unsealAutomatically()).toBe("sealed");
      expect(test.seal.automaticFailure?.reason).toMatch(reason);
      await test.close();
    }
    expect(await reasonOf(await provider(await secretFile("x".repeat(5000), 0o600)))).toMatch(/too large/);
    await rm(join(folder, "secret"));
    const test = await openTestVault({ provider: await provider(await secretFile(OTHER_PHRASE)), unsealed: false });
    expect(await test.seal.unsealAutomatically()).toBe("sealed");
    expect(test.seal.automaticFailure).toEqual({ reason: "the seal key was not accepted", mayPass: false });
    await test.close();
  });
});

describe("the file of container_secret", () => {
  let folder: string;
  beforeEach(() => {
    folder = newFolder("secret");
  });
  afterEach(() => {
    removeFolder(folder);
  });

  const readAt = async (path: string) => await reasonOf(containerSecretProvider({ path, validationHash: PHRASE_HASH }));

  async function fileOf(mode: number, name = "secret"): Promise<string> {
    const path = join(folder, name);
    await writeFile(path, PHRASE, { mode: 0o600 });
    await chmod(path, mode);
    return path;
  }

  it.each([0o400, 0o440, 0o600, 0o640])("is read with mode %o", async (mode) => {
    expect(await readAt(await fileOf(mode))).toBe("gave its key");
  });

  it.each([
    [0o444, /open to every user \(mode 0444\)/],
    [0o404, /open to every user/],
    [0o602, /open to every user/],
    [0o644, /open to every user/],
    [0o460, /changed by its group \(mode 0460\)/],
    [0o660, /changed by its group/],
    [0o450, /changed by its group/],
  ])("is refused with mode %o and a sentence", async (mode, sentence) => {
    expect(await readAt(await fileOf(mode))).toMatch(sentence);
  });

  it("is read through the links of Kubernetes, whose own modes say nothing", async () => {
    const dated = join(folder, "..2026_01_01_00_00_00.1");
    await mkdir(dated);
    await fileOf(0o440, join("..2026_01_01_00_00_00.1", "phrase"));
    await symlink("..2026_01_01_00_00_00.1", join(folder, "..data"));
    await symlink(join("..data", "phrase"), join(folder, "phrase"));
    expect(await readAt(join(folder, "phrase"))).toBe("gave its key");
    await chmod(join(dated, "phrase"), 0o444);
    expect(await readAt(join(folder, "phrase"))).toMatch(/open to every user/);
  });

  it.runIf(process.getuid?.() === 0)("is refused when another user than root or the server's owns it", async () => {
    const path = await fileOf(0o440);
    await chown(path, 4242, 0);
    expect(await readAt(path)).toMatch(/belongs to another user/);
  });
});

describe("aws_kms", () => {
  let double: VendorDouble;
  beforeAll(() => {
    vi.stubEnv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE");
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", "example");
  });
  afterAll(() => {
    vi.unstubAllEnvs();
  });
  beforeEach(async () => {
    double = await new VendorDouble(awsKms(KEY)).listen();
  });
  afterEach(async () => {
    await double.close();
  });
  const options = (more: object = {}) => ({
    keyId: KEY,
    region: "eu-central-1",
    endpoint: double.url,
    timeoutMs: 5000,
    ...more,
  });

  it("makes one data key, keeps its ciphertext, and opens it with the same context at each start", async () => {
    const first = await openTestVault({ unsealed: false });
    const provider = awsKmsProvider(options(), { store: first.store, clock: systemClock, log: createLog("silent") });
    await first.close({ keep: true });
    const states: string[] = [];
    const owner = subject();
    let secretId = "";
    let vaultId = "";
    for (let start = 0; start < 2; start += 1) {
      const test = await openTestVault({
        folder: first.folder,
        unsealed: false,
        provider: {
          ...provider,
          readKey: async () =>
            await awsKmsProvider(options(), {
              store: test.store,
              clock: systemClock,
              log: createLog("silent"),
            }).readKey(),
        },
      });
      states.push(await test.seal.unsealAutomatically());
      if (start === 0) {
        vaultId = (await test.vault.createVault(owner, { name: "v" })).id;
        secretId = (await test.vault.createSecret(owner, vaultId, { name: "n", type: "t", value: "kept" })).id;
      }
      expect(await test.vault.retrieveSecret(owner, vaultId, secretId)).toBe("kept");
      await test.close({ keep: start === 0 });
    }
    expect(states).toEqual(["unsealed", "unsealed"]);
    expect(double.received.map(({ headers }) => headers["x-amz-target"])).toEqual([
      "TrentService.GenerateDataKey",
      "TrentService.Decrypt",
      "TrentService.Decrypt",
    ]);
    expect(
      double.received.every(
        ({ method, path, body }) =>
          method === "POST" &&
          path === "/" &&
          JSON.stringify(body.EncryptionContext) === '{"proofwright:purpose":"seal-key"}',
      ),
    ).toBe(true);
    expect(String(double.received[0]?.headers.authorization)).toContain("/eu-central-1/kms/aws4_request");
  });

  it("gives two first starts on one store the same key", async () => {
    const shared = dependencies();
    const keys = await Promise.all([
      awsKmsProvider(options(), shared).readKey(),
      awsKmsProvider(options(), shared).readKey(),
    ]);
    expect(textOf(keys[0])).toBe(textOf(keys[1]));
    expect(textOf(keys[0]).split(" ")).toHaveLength(24);
  });

  it("says why it cannot: refused, unknown key, unreachable, slow, foreign ciphertext, foreign store", async () => {
    const shared = dependencies();
    expect(await reasonOf(awsKmsProvider(options({ keyId: "alias/other" }), shared))).toMatch(/status 400/);
    double.behaviour = () => ({
      status: 403,
      body: { __type: "AccessDeniedException", message: `${PHRASE} is not yours` },
    });
    const refused = await reasonOf(awsKmsProvider(options(), shared));
    expect(refused).toMatch(/refused access \(status 403\)/);
    expect(refused).not.toContain("legal");
    double.behaviour = () => "hang";
    expect(await reasonOf(awsKmsProvider(options({ timeoutMs: 300 }), shared))).toBe(
      "the seal provider aws_kms did not answer within 0.3 s",
    );
    expect(await reasonOf(awsKmsProvider(options({ endpoint: "http://127.0.0.1:9" }), shared))).toMatch(
      /cannot be reached or used \(ECONNREFUSED\)/,
    );
    expect(shared.store.count([])).toBe(0);
    double.behaviour = awsKms(KEY);
    await awsKmsProvider(options(), shared).readKey();
    double.behaviour = awsKms(KEY);
    expect(await reasonOf(awsKmsProvider(options(), shared))).toMatch(/status 400/);
    expect(await reasonOf(gcpKmsProvider({ keyId: GCP_KEY, timeoutMs: 1000 }, shared))).toMatch(
      /made with the provider aws_kms/,
    );
    const used = dependencies();
    await used.store.commit({ puts: [{ key: ["seal", "sentinel"], value: {} }] });
    expect(await reasonOf(awsKmsProvider(options(), used))).toMatch(/initialised with another seal key/);
    expect(await reasonOf(awsKmsProvider(options({ validationHash: PHRASE_HASH }), dependencies()))).toMatch(
      /leave SEAL_UNSEAL_VALIDATION_HASH out/,
    );
  });

  it("refuses a key of another length", async () => {
    double.behaviour = () => ({
      status: 200,
      body: { Plaintext: Buffer.alloc(16).toString("base64"), CiphertextBlob: "AAAA" },
    });
    expect(await reasonOf(awsKmsProvider(options(), dependencies()))).toMatch(/16 bytes, not 32/);
  });
});

describe("gcp_kms", () => {
  let double: VendorDouble;
  beforeEach(async () => {
    double = await new VendorDouble(gcpKms(GCP_KEY)).listen();
    vi.stubEnv("GCE_METADATA_HOST", new URL(double.url).host);
    vi.stubEnv("METADATA_SERVER_DETECTION", "assume-present");
    vi.stubEnv("GOOGLE_CLOUD_PROJECT", "p");
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    await double.close();
  });
  const provider = (shared: ReturnType<typeof dependencies>, more: object = {}) =>
    gcpKmsProvider({ keyId: GCP_KEY, endpoint: double.url, timeoutMs: 5000, ...more }, shared);

  it("knows CRC-32C", () => {
    // SOURCE: RFC 3720 appendix B.4.
    expect(crc32c(Buffer.alloc(32))).toBe(0x8a9136aa);
    expect(crc32c(Buffer.alloc(32, 0xff))).toBe(0x62a8ab43);
  });

  it("makes one key, keeps its ciphertext, and opens it at each start, with check sums both ways", async () => {
    const shared = dependencies();
    const first = textOf(await provider(shared).readKey());
    expect(textOf(await provider(shared).readKey())).toBe(first);
    const calls = double.received.filter(({ path }) => path.startsWith("/v1/"));
    expect(calls.map(({ path }) => path.split("?")[0])).toEqual([
      `/v1/${GCP_KEY}:encrypt`,
      `/v1/${GCP_KEY}:decrypt`,
      `/v1/${GCP_KEY}:decrypt`,
    ]);
    for (const { body } of calls) {
      expect(Buffer.from(String(body.additionalAuthenticatedData), "base64").toString()).toBe("proofwright:seal-key");
      expect(body.plaintextCrc32c ?? body.ciphertextCrc32c).toBeDefined();
    }
  });

  it("says why it cannot: refused, unknown key, damaged, slow", async () => {
    expect(await reasonOf(provider(dependencies(), { keyId: `${GCP_KEY}2` }))).toMatch(/does not know the key/);
    const honest = double.behaviour;
    double.behaviour = async (request) => {
      const answer = await honest(request);
      return request.path.includes(":encrypt") && answer !== "hang"
        ? { ...answer, body: { ...(answer.body as object), ciphertextCrc32c: "1" } }
        : answer;
    };
    expect(await reasonOf(provider(dependencies()))).toMatch(/damaged in transit/);
    double.behaviour = (request) =>
      request.path.startsWith("/v1/")
        ? { status: 403, body: { error: { code: 403, message: "no", status: "PERMISSION_DENIED" } } }
        : honest(request);
    expect(await reasonOf(provider(dependencies()))).toMatch(/refused access/);
    double.behaviour = (request) => (request.path.startsWith("/v1/") ? "hang" : honest(request));
    expect(await reasonOf(provider(dependencies(), { timeoutMs: 500 }))).toMatch(/did not answer within 0.5 s/);
  });
});

describe("cloud_key_vault", () => {
  let double: VendorDouble;
  let versions: StoredSecret[];
  beforeEach(async () => {
    versions = [];
    double = new VendorDouble(azureKeyVault("unsealerkey", versions, () => double.url));
    await double.listen();
    vi.stubEnv("IDENTITY_ENDPOINT", `${double.url}/msi/token`);
    vi.stubEnv("IDENTITY_HEADER", IDENTITY_HEADER);
    vi.stubEnv("AZURE_TOKEN_CREDENTIALS", "ManagedIdentityCredential");
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    await double.close();
  });
  const provider = (shared = dependencies(), more: object = {}) =>
    cloudKeyVaultProvider(
      { vaultName: "vault", secretName: "_unsealerkey", endpoint: double.url, timeoutMs: 8000, settleMs: 20, ...more },
      shared,
    );

  it("creates the secret on the first run and reuses it afterwards, authenticated by the vault's challenge", async () => {
    const shared = dependencies();
    const first = textOf(await provider(shared).readKey());
    expect(first.split(" ")).toHaveLength(24);
    expect(textOf(await provider(dependencies()).readKey())).toBe(first);
    expect(versions.map(({ value }) => value)).toEqual([first]);
    const put = double.received.find(
      ({ method, headers }) => method === "PUT" && headers.authorization === "Bearer msi-token",
    );
    expect(decodeURIComponent(put?.path ?? "")).toMatch(/^\/secrets\/unsealerkey\?api-version=\d/);
    expect(
      double.received
        .filter(({ headers }) => headers.authorization === undefined)
        .every(({ path, body }) => path.startsWith("/msi/") || Object.keys(body).length === 0),
    ).toBe(true);
  });

  it("gives two first starts the same key, although both write", async () => {
    const keys = await Promise.all([
      provider(dependencies(), { settleMs: 300 }).readKey(),
      provider(dependencies(), { settleMs: 300 }).readKey(),
    ]);
    expect(versions.length).toBe(2);
    expect(textOf(keys[0])).toBe(textOf(keys[1]));
  });

  it("passes disabled versions over, so that a rekey takes effect", async () => {
    versions.push(
      { version: "a", value: PHRASE, created: 1, enabled: false },
      { version: "b", value: OTHER_PHRASE, created: 2, enabled: true },
    );
    expect(textOf(await provider().readKey())).toBe(OTHER_PHRASE);
  });

  it("creates nothing for a store that has a seal key already", async () => {
    const shared = dependencies();
    await shared.store.commit({ puts: [{ key: ["seal", "sentinel"], value: {} }] });
    expect(await reasonOf(provider(shared))).toMatch(/does not hold the seal key/);
    expect(await reasonOf(provider(dependencies(), { validationHash: PHRASE_HASH }))).toMatch(
      /does not hold the seal key/,
    );
    expect(versions).toEqual([]);
  });

  it("says why it cannot: no phrase, refused, slow", async () => {
    versions.push({ version: "a", value: "hunter2", created: 1, enabled: true });
    const reason = await reasonOf(provider());
    expect(reason).toMatch(/not a phrase of 24 words/);
    expect(reason).not.toContain("hunter2");
    const honest = double.behaviour;
    double.behaviour = (request) =>
      request.headers.authorization === "Bearer msi-token"
        ? { status: 403, body: { error: { code: "Forbidden", message: "no" } } }
        : honest(request);
    expect(await reasonOf(provider())).toMatch(/refused access \(status 403\)/);
    double.behaviour = (request) => (request.path.startsWith("/secrets") ? "hang" : honest(request));
    expect(await reasonOf(provider(dependencies(), { timeoutMs: 400 }))).toMatch(/did not answer within 0.4 s/);
  });

  it("maps names and regions to what the service allows", () => {
    expect(["_unsealerkey", "my key", "a_b", "-x-"].map(legalSecretName)).toEqual([
      "unsealerkey",
      "my-key",
      "a-b",
      "x",
    ]);
    expect(() => legalSecretName("___")).toThrow(SealProviderError);
    expect(vaultUrl({ vaultName: "v" })).toBe("https://v.vault.azure.net");
    expect(vaultUrl({ vaultName: "v", region: "China North 2" })).toBe("https://v.vault.azure.cn");
    expect(vaultUrl({ vaultName: "v", region: "usgovvirginia" })).toBe("https://v.vault.usgovcloudapi.net");
  });
});

describe("settings", () => {
  it("name what is missing", async () => {
    const messages: string[] = [];
    for (const settings of [
      { seal_unseal_provider: "container_secret" },
      { seal_unseal_provider: "cloud_key_vault" },
      { seal_unseal_provider: "aws_kms" },
      { seal_unseal_provider: "aws_kms", seal_unseal_kms_key_id: "k" },
      { seal_unseal_provider: "gcp_kms", seal_unseal_kms_key_id: "k" },
      { seal_unseal_provider: "aws_kms", seal_unseal_key: PHRASE },
    ]) {
      messages.push(
        await selectSealProvider({ settings: { ...NO_SETTINGS, ...settings } }, dependencies()).then(
          () => "taken",
          (error: unknown) => (error as Error).message,
        ),
      );
    }
    expect(messages).toEqual([
      "the seal provider container_secret needs SEAL_UNSEAL_KEY_SECRET_PATH",
      "the seal provider cloud_key_vault needs SEAL_UNSEAL_VAULT_NAME",
      "the seal provider aws_kms needs SEAL_UNSEAL_KMS_KEY_ID",
      "the seal provider aws_kms needs SEAL_UNSEAL_KMS_REGION",
      "SEAL_UNSEAL_KMS_KEY_ID must read projects/P/locations/L/keyRings/R/cryptoKeys/K for gcp_kms",
      "SEAL_UNSEAL_KEY is for the provider environment; aws_kms has its own key",
    ]);
  });

  it("say which packages a provider needs when they are not installed", async () => {
    const missing = Object.assign(new Error("Cannot find package"), { code: "ERR_MODULE_NOT_FOUND" });
    await expect(
      loadSdk("aws_kms", "@aws-sdk/client-kms@1", async () => await Promise.reject(missing)),
    ).rejects.toThrow("needs packages that are not installed: run `npm install @aws-sdk/client-kms@1`");
  });
});
