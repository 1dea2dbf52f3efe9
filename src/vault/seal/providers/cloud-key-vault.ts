/**
 * The `cloud_key_vault` provider (SPEC 4.3): the phrase is a secret of an Azure Key Vault, created on the first start
 * and reused afterwards.
 *
 * The service knows no conditional write: setting an existing secret adds a version. So the oldest enabled version
 * counts, every starter reads the list again after its write, and waits before that until nobody can still add a
 * version of the same second.
 */
import { randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { entropyPhrase, SEAL_ENTROPY_BYTES } from "../../../crypto/wallets/seal-phrase.js";
import type { Log } from "../../../platform/log.js";
import { parseValidationHash } from "./environment.js";
import type { SealProvider } from "./provider.js";
import { bounded, loadSdk, SealProviderError } from "./provider-failure.js";
import { isPhrase, SENTINEL_KEY, type SealProviderDependencies } from "./wrapped-key.js";

export interface CloudKeyVaultOptions {
  readonly vaultName: string;
  readonly tenantId?: string | undefined;
  /** Decides the cloud: Azure China and Azure Government have domains of their own. */
  readonly region?: string | undefined;
  /** Any text; mapped to what the service allows. */
  readonly secretName: string;
  /** Another address of the vault. */
  readonly endpoint?: string | undefined;
  readonly validationHash?: string | undefined;
  readonly timeoutMs: number;
  /** Only tests change it. */
  readonly settleMs?: number;
}

/** What this file needs of a secret store. */
export interface SecretVersions {
  /** Enabled versions with the time of their creation in milliseconds. */
  list(signal: AbortSignal): Promise<{ readonly version: string; readonly createdMs: number }[]>;
  read(version: string, signal: AbortSignal): Promise<string>;
  create(value: string, signal: AbortSignal): Promise<void>;
}

const NAME = "cloud_key_vault";
const PACKAGES = "@azure/keyvault-secrets@4.11.2 @azure/identity@4.13.1";
/** Creation times are whole seconds; after two of them every version of our second is visible. */
const SETTLE_MS = 2_000;
const VERSIONS_MAX = 100;
const RETRIES_MAX = 1;

export function cloudKeyVaultProvider(
  options: CloudKeyVaultOptions,
  dependencies: SealProviderDependencies,
): SealProvider {
  const hash = options.validationHash === undefined ? undefined : parseValidationHash(options.validationHash);
  return {
    name: NAME,
    isConfigured: true,
    validationHash: hash,
    issuesKeys: false,
    readKey: async () =>
      await bounded(NAME, options.timeoutMs, async (signal) => {
        const versions = await connect(options);
        return await readOrCreate(
          versions,
          {
            mayCreate: dependencies.store.get(SENTINEL_KEY) === undefined && hash === undefined,
            settleMs: options.settleMs ?? SETTLE_MS,
            log: dependencies.log,
          },
          signal,
        );
      }),
  };
}

/**
 * The phrase of the oldest enabled version; creates the secret when there is none and this store has no seal key yet.
 */
export async function readOrCreate(
  secret: SecretVersions,
  options: { readonly mayCreate: boolean; readonly settleMs: number; readonly log: Log },
  signal: AbortSignal,
): Promise<Uint8Array> {
  let oldest = await findOldest(secret, signal);
  if (oldest === undefined) {
    if (!options.mayCreate)
      throw new SealProviderError(
        "the key vault does not hold the seal key, and this store needs the one that it was initialised with",
        { mayPass: true },
      );
    const entropy = randomBytes(SEAL_ENTROPY_BYTES);
    const phrase = entropyPhrase(entropy);
    entropy.fill(0);
    // The SDK takes a string, which cannot be wiped: once, on the first start.
    await secret.create(Buffer.from(phrase).toString("latin1"), signal);
    phrase.fill(0);
    await pause(options.settleMs, undefined, { signal });
    oldest = await findOldest(secret, signal);
    options.log.info("made a seal key and put it into the key vault");
  }
  if (oldest === undefined)
    throw new SealProviderError("the key vault does not show the secret that was just written", { mayPass: true });
  const value = Buffer.from(await secret.read(oldest, signal));
  if (!isPhrase(value)) {
    value.fill(0);
    throw new SealProviderError("the secret in the key vault is not a phrase of 24 words", { mayPass: true });
  }
  return value;
}

async function findOldest(secret: SecretVersions, signal: AbortSignal): Promise<string | undefined> {
  const versions = await secret.list(signal);
  return versions.sort((one, other) => one.createdMs - other.createdMs || (one.version < other.version ? -1 : 1))[0]
    ?.version;
}

/** Letters, digits and dashes, none at the ends: `_unsealerkey` becomes `unsealerkey`. */
export function legalSecretName(name: string): string {
  const legal = name
    .replace(/[^0-9A-Za-z-]/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 127);
  if (legal === "") throw new SealProviderError("SEAL_UNSEAL_SECRET_NAME has no letter or digit", { mayPass: false });
  return legal;
}

export function vaultUrl(options: Pick<CloudKeyVaultOptions, "endpoint" | "vaultName" | "region">): string {
  if (options.endpoint !== undefined) return options.endpoint;
  const region = (options.region ?? "").toLowerCase().replaceAll(" ", "");
  const domain = region.startsWith("china")
    ? "vault.azure.cn"
    : region.startsWith("usgov") || region.startsWith("usdod")
      ? "vault.usgovcloudapi.net"
      : "vault.azure.net";
  return `https://${options.vaultName}.${domain}`;
}

async function connect(options: CloudKeyVaultOptions): Promise<SecretVersions> {
  const [{ SecretClient }, { DefaultAzureCredential }] = await loadSdk(
    NAME,
    PACKAGES,
    async () => await Promise.all([import("@azure/keyvault-secrets"), import("@azure/identity")]),
  );
  const url = vaultUrl(options);
  const credential = new DefaultAzureCredential(options.tenantId === undefined ? {} : { tenantId: options.tenantId });
  // Another address is the operator's own choice; the challenge names the public cloud's domain then.
  const client = new SecretClient(url, credential, {
    retryOptions: { maxRetries: RETRIES_MAX },
    disableChallengeResourceVerification: options.endpoint !== undefined,
    ...(url.startsWith("http://") ? { allowInsecureConnection: true } : {}),
  });
  const name = legalSecretName(options.secretName);
  return {
    list: async (abortSignal) => await listVersions(client.listPropertiesOfSecretVersions(name, { abortSignal })),
    read: async (version, abortSignal) => (await client.getSecret(name, { version, abortSignal })).value ?? "",
    create: async (value, abortSignal) => {
      await client.setSecret(name, value, {
        contentType: "BIP-39 phrase",
        tags: { purpose: "proofwright seal key" },
        abortSignal,
      });
    },
  };
}

interface VersionProperties {
  readonly version?: string;
  readonly createdOn?: Date;
  readonly enabled?: boolean;
}

async function listVersions(
  pages: AsyncIterable<VersionProperties>,
): Promise<{ version: string; createdMs: number }[]> {
  const found: { version: string; createdMs: number }[] = [];
  let seen = 0;
  try {
    for await (const { version, createdOn, enabled } of pages) {
      seen += 1;
      if (seen > VERSIONS_MAX)
        throw new SealProviderError("the seal key's secret has too many versions: disable or delete old ones", {
          mayPass: false,
        });
      if (version !== undefined && enabled !== false) found.push({ version, createdMs: createdOn?.getTime() ?? 0 });
    }
  } catch (error) {
    // A secret that does not exist has no versions: some answer an empty list, some 404.
    if ((error as { statusCode?: unknown }).statusCode === 404) return [];
    throw error;
  }
  return found;
}
