/**
 * The `cloud_key_vault` provider: the phrase is a secret of an Azure Key Vault, created on the first start and reused
 * afterwards.
 *
 * The service has no conditional write: setting an existing secret adds a version. Therefore the oldest enabled version
 * counts. A server that has written a version waits until no other can add one of the same second, and reads the list
 * again.
 */
import { randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { entropyPhrase, SEAL_ENTROPY_BYTES } from "../../../crypto/wallets/seal-phrase.js";
import type { Log } from "../../../platform/log.js";
import { parseValidationHash } from "./environment.js";
import type { SealProvider } from "./provider.js";
import { bounded, loadSdk, SealProviderError } from "./provider-failure.js";
import { SENTINEL_KEY } from "../sentinel.js";
import { isPhrase, type SealProviderDependencies } from "./wrapped-key.js";

export interface CloudKeyVaultOptions {
  readonly vaultName: string;
  readonly tenantId?: string | undefined;
  /** Selects the cloud: Azure China and Azure Government have domains of their own. */
  readonly region?: string | undefined;
  /** Any text; mapped to what the service allows. */
  readonly secretName: string;
  /** Another address of the vault. */
  readonly endpoint?: string | undefined;
  readonly validationHash?: string | undefined;
  readonly timeoutMs: number;
  /** Changed by tests only. */
  readonly settleMs?: number;
}

/** The versions of one secret. */
interface SecretVersions {
  /** Returns the enabled versions with their time of creation in milliseconds. */
  list(signal: AbortSignal): Promise<{ readonly version: string; readonly createdMs: number }[]>;
  read(version: string, signal: AbortSignal): Promise<string>;
  create(value: string, signal: AbortSignal): Promise<void>;
}

const NAME = "cloud_key_vault";
const PACKAGES = "@azure/keyvault-secrets@4.11.2 @azure/identity@4.13.1";
/** Creation times are whole seconds; after two of them every version of the same second is visible. */
const SETTLE_MS = 2_000;
const VERSIONS_MAX = 100;
const RETRIES_MAX = 1;

/** Returns the provider. Throws `invalid_request` for a malformed hash. */
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
 * Returns the phrase of the oldest enabled version. Creates the secret when there is none and this store has no seal
 * key yet.
 */
async function readOrCreate(
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
    // The SDK takes a string, which cannot be wiped. It happens once, on the first start.
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

/**
 * Maps a name to one that the service accepts: letters, digits and inner dashes, so that `_unsealerkey` becomes
 * `unsealerkey`. Throws SealProviderError when nothing is left.
 */
export function legalSecretName(name: string): string {
  const legal = name
    .replace(/[^0-9A-Za-z-]/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 127);
  if (legal === "") throw new SealProviderError("SEAL_UNSEAL_SECRET_NAME has no letter or digit", { mayPass: false });
  return legal;
}

/** Returns the address of the key vault: the endpoint, or the vault's name in the domain of its cloud. */
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
  // With another address, which the operator chose, the challenge still names the public cloud's domain.
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
  let count = 0;
  try {
    for await (const { version, createdOn, enabled } of pages) {
      count += 1;
      if (count > VERSIONS_MAX)
        throw new SealProviderError("the seal key's secret has too many versions: disable or delete old ones", {
          mayPass: false,
        });
      if (version !== undefined && enabled !== false) found.push({ version, createdMs: createdOn?.getTime() ?? 0 });
    }
  } catch (error) {
    // A secret that does not exist has no versions: some services return an empty list, some 404.
    if ((error as { statusCode?: unknown }).statusCode === 404) return [];
    throw error;
  }
  return found;
}
