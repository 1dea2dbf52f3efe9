/** Chooses the seal provider that the settings name, and reports a setting that it lacks. Reads no key. */
import { AppError } from "../../../platform/errors.js";
import { awsKmsProvider } from "./aws-kms.js";
import { cloudKeyVaultProvider, legalSecretName } from "./cloud-key-vault.js";
import { containerSecretProvider } from "./container-secret.js";
import { initialiseDevelopmentSeal } from "./development.js";
import { environmentSealProvider } from "./environment.js";
import { gcpKmsProvider } from "./gcp-kms.js";
import type { SealProvider } from "./provider.js";
import type { SealProviderDependencies } from "./wrapped-key.js";

/** The SEAL_UNSEAL_ settings. */
export interface SealSettings {
  readonly seal_unseal_provider?: string | undefined;
  readonly seal_unseal_key?: string | undefined;
  readonly seal_unseal_validation_hash?: string | undefined;
  readonly seal_unseal_key_secret_path?: string | undefined;
  readonly seal_unseal_vault_tenant_id?: string | undefined;
  readonly seal_unseal_vault_region?: string | undefined;
  readonly seal_unseal_vault_name?: string | undefined;
  readonly seal_unseal_secret_name: string;
  readonly seal_unseal_kms_key_id?: string | undefined;
  readonly seal_unseal_kms_region?: string | undefined;
  readonly seal_unseal_endpoint?: string | undefined;
  readonly seal_unseal_timeout_seconds: number;
}

/** Settings, or in development mode the folder in which the vault creates its own seal key. */
export type SealSource = { readonly settings: SealSettings } | { readonly developmentDataDir: string };

const ALIASES: Readonly<Record<string, string>> = { docker: "container_secret", azure_key_vault: "cloud_key_vault" };
const SECOND_MS = 1000;
/** `projects/P/locations/L/keyRings/R/cryptoKeys/K` */
const GCP_KEY = /^projects\/[^/]+\/locations\/[^/]+\/keyRings\/[^/]+\/cryptoKeys\/[^/]+$/;

/**
 * Returns the provider. Runs before anything else is started.
 * @throws invalid_request with a sentence that names the setting at fault
 */
export async function selectSealProvider(
  source: SealSource,
  dependencies: SealProviderDependencies,
): Promise<SealProvider> {
  return "settings" in source
    ? fromSettings(source.settings, dependencies)
    : await initialiseDevelopmentSeal(source.developmentDataDir);
}

/**
 * Checks that the settings name a provider and give it all that it needs. Changes nothing.
 * @throws invalid_request or `vault_not_configured` with a sentence that names the setting at fault
 */
export function checkSealSettings(settings: SealSettings, dependencies: SealProviderDependencies): void {
  fromSettings(settings, dependencies);
}

function fromSettings(settings: SealSettings, dependencies: SealProviderDependencies): SealProvider {
  const given = settings.seal_unseal_provider ?? "environment";
  const provider = ALIASES[given] ?? given;
  const need = (value: string | undefined, setting: string): string => {
    if (value === undefined)
      throw new AppError("invalid_request", { message: `the seal provider ${given} needs ${setting}` });
    return value;
  };
  if (provider !== "environment" && settings.seal_unseal_key !== undefined) {
    throw new AppError("invalid_request", {
      message: `SEAL_UNSEAL_KEY is for the provider environment; ${given} has its own key`,
    });
  }
  switch (provider) {
    case "environment":
      return environmentSealProvider({
        validationHash: settings.seal_unseal_validation_hash,
        key: settings.seal_unseal_key,
      });
    case "container_secret":
      return containerSecretProvider({
        path: need(settings.seal_unseal_key_secret_path, "SEAL_UNSEAL_KEY_SECRET_PATH"),
        validationHash: need(settings.seal_unseal_validation_hash, "SEAL_UNSEAL_VALIDATION_HASH"),
      });
    case "cloud_key_vault":
    case "aws_kms":
    case "gcp_kms":
      return cloudProvider(provider, settings, dependencies, need);
    default:
      throw new AppError("invalid_request", { message: `${given} is not a seal provider` });
  }
}

/** Returns the provider of a cloud service. `need` throws for a setting that is absent. */
function cloudProvider(
  provider: "cloud_key_vault" | "aws_kms" | "gcp_kms",
  settings: SealSettings,
  dependencies: SealProviderDependencies,
  need: (value: string | undefined, setting: string) => string,
): SealProvider {
  const shared = {
    validationHash: settings.seal_unseal_validation_hash,
    timeoutMs: settings.seal_unseal_timeout_seconds * SECOND_MS,
    endpoint: settings.seal_unseal_endpoint,
  };
  if (provider === "cloud_key_vault") {
    // Called here, so that a name that cannot be used stops the start rather than the first unsealing.
    legalSecretName(settings.seal_unseal_secret_name);
    return cloudKeyVaultProvider(
      {
        ...shared,
        vaultName: need(settings.seal_unseal_vault_name, "SEAL_UNSEAL_VAULT_NAME"),
        tenantId: settings.seal_unseal_vault_tenant_id,
        region: settings.seal_unseal_vault_region,
        secretName: settings.seal_unseal_secret_name,
      },
      dependencies,
    );
  }
  const keyId = need(settings.seal_unseal_kms_key_id, "SEAL_UNSEAL_KMS_KEY_ID");
  if (provider === "aws_kms")
    return awsKmsProvider(
      { ...shared, keyId, region: need(settings.seal_unseal_kms_region, "SEAL_UNSEAL_KMS_REGION") },
      dependencies,
    );
  if (!GCP_KEY.test(keyId))
    throw new AppError("invalid_request", {
      message: "SEAL_UNSEAL_KMS_KEY_ID must read projects/P/locations/L/keyRings/R/cryptoKeys/K for gcp_kms",
    });
  return gcpKmsProvider({ ...shared, keyId }, dependencies);
}
