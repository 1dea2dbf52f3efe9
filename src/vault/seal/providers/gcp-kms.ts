/**
 * The `gcp_kms` provider: the seal key is generated here and encrypted by a symmetric key of Google Cloud KMS
 * (Encrypt), which decrypts it at each start (Decrypt). Credentials are Application Default Credentials. The checksums
 * (CRC-32C) of both directions are compared.
 */
import { randomBytes } from "node:crypto";
import { SEAL_ENTROPY_BYTES } from "../../../crypto/wallets/seal-phrase.js";
import type { SealProvider } from "./provider.js";
import { loadSdk, SealProviderError } from "./provider-failure.js";
import { wrappedKeyProvider, type KeyService, type SealProviderDependencies } from "./wrapped-key.js";

export interface GcpKmsOptions {
  /** projects/P/locations/L/keyRings/R/cryptoKeys/K */
  readonly keyId: string;
  /** Another address of the service. */
  readonly endpoint?: string | undefined;
  readonly validationHash?: string | undefined;
  readonly timeoutMs: number;
}

const NAME = "gcp_kms";
const PACKAGES = "@google-cloud/kms@5.7.0";
const ADDITIONAL_DATA = Buffer.from("proofwright:seal-key");

/** Returns the provider. Throws `invalid_request` for a malformed hash. */
export function gcpKmsProvider(options: GcpKmsOptions, dependencies: SealProviderDependencies): SealProvider {
  return wrappedKeyProvider({ ...options, name: NAME }, dependencies, async () => await connect(options));
}

async function connect(options: GcpKmsOptions): Promise<KeyService> {
  const { KeyManagementServiceClient } = await loadSdk(NAME, PACKAGES, async () => await import("@google-cloud/kms"));
  // REST instead of gRPC: one protocol for proxies and firewalls, and no second connection stack in the process.
  const client = new KeyManagementServiceClient({ fallback: true, ...endpointOf(options.endpoint) });
  const call = { timeout: options.timeoutMs, maxRetries: 1 };
  return {
    generate: async () => {
      const plaintext = randomBytes(SEAL_ENTROPY_BYTES);
      const [answer] = await client.encrypt(
        {
          name: options.keyId,
          plaintext,
          plaintextCrc32c: { value: crc32c(plaintext) },
          additionalAuthenticatedData: ADDITIONAL_DATA,
        },
        call,
      );
      if (answer.verifiedPlaintextCrc32c !== true) throw corrupted();
      return { plaintext, ciphertext: checked(answer.ciphertext, answer.ciphertextCrc32c?.value) };
    },
    decrypt: async (ciphertext) => {
      const [answer] = await client.decrypt(
        {
          name: options.keyId,
          ciphertext,
          ciphertextCrc32c: { value: crc32c(ciphertext) },
          additionalAuthenticatedData: ADDITIONAL_DATA,
        },
        call,
      );
      return checked(answer.plaintext, answer.plaintextCrc32c?.value);
    },
    close: () => {
      client.close().catch(() => undefined);
    },
  };
}

function endpointOf(endpoint: string | undefined): { apiEndpoint?: string; port?: number; protocol?: string } {
  if (endpoint === undefined) return {};
  const { hostname, port, protocol } = new URL(endpoint);
  return { apiEndpoint: hostname, protocol: protocol.slice(0, -1), ...(port === "" ? {} : { port: Number(port) }) };
}

/** Returns the bytes of an answer, or throws when its checksum differs. */
function checked(bytes: Uint8Array | string | null | undefined, sum: unknown): Uint8Array {
  const content = typeof bytes === "string" ? Buffer.from(bytes, "base64") : new Uint8Array(bytes ?? []);
  if (String(sum) !== String(crc32c(content))) throw corrupted();
  return content;
}

function corrupted(): SealProviderError {
  return new SealProviderError(`the answer of ${NAME} was damaged in transit`, { mayPass: true });
}

/** Returns the CRC-32C (Castagnoli, RFC 3720 appendix B.4), bit by bit: it covers a hundred bytes at each start. */
export function crc32c(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc & 1) === 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  }
  return (crc ^ 0xffffffff) >>> 0;
}
