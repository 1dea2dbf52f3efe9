/**
 * The `aws_kms` provider: the seal key is a data key of AWS KMS (GenerateDataKey, AES_256), opened with Decrypt at each
 * start. Credentials come from the SDK's default chain. An encryption context binds the ciphertext to this use.
 */
import type { SealProvider } from "./provider.js";
import { loadSdk } from "./provider-failure.js";
import { wrappedKeyProvider, type KeyService, type SealProviderDependencies } from "./wrapped-key.js";

export interface AwsKmsOptions {
  /** Key id, ARN or alias. */
  readonly keyId: string;
  readonly region: string;
  /** Another address of the service, such as a VPC endpoint. */
  readonly endpoint?: string | undefined;
  readonly validationHash?: string | undefined;
  readonly timeoutMs: number;
}

const NAME = "aws_kms";
const PACKAGES = "@aws-sdk/client-kms@3.1162.0";
const ENCRYPTION_CONTEXT = { "proofwright:purpose": "seal-key" };
const ATTEMPTS_MAX = 2;

/** Returns the provider. Throws `invalid_request` for a malformed hash. */
export function awsKmsProvider(options: AwsKmsOptions, dependencies: SealProviderDependencies): SealProvider {
  return wrappedKeyProvider({ ...options, name: NAME }, dependencies, async () => await connect(options));
}

async function connect(options: AwsKmsOptions): Promise<KeyService> {
  const { DecryptCommand, GenerateDataKeyCommand, KMSClient } = await loadSdk(
    NAME,
    PACKAGES,
    async () => await import("@aws-sdk/client-kms"),
  );
  const client = new KMSClient({
    region: options.region,
    maxAttempts: ATTEMPTS_MAX,
    ...(options.endpoint === undefined ? {} : { endpoint: options.endpoint }),
  });
  return {
    generate: async (abortSignal) => {
      const answer = await client.send(
        new GenerateDataKeyCommand({ KeyId: options.keyId, KeySpec: "AES_256", EncryptionContext: ENCRYPTION_CONTEXT }),
        { abortSignal },
      );
      return { plaintext: answer.Plaintext ?? new Uint8Array(), ciphertext: answer.CiphertextBlob ?? new Uint8Array() };
    },
    // The key is named although the ciphertext names it: another account's key must not be used.
    decrypt: async (ciphertext, abortSignal) => {
      const answer = await client.send(
        new DecryptCommand({ KeyId: options.keyId, CiphertextBlob: ciphertext, EncryptionContext: ENCRYPTION_CONTEXT }),
        { abortSignal },
      );
      return answer.Plaintext ?? new Uint8Array();
    },
    close: () => {
      client.destroy();
    },
  };
}
