/**
 * Doubles of the vendors' REST interfaces on a local port: they keep what the real services keep, and note what the
 * SDKs send. Written after the public references (AWS KMS API, Cloud KMS REST v1, Key Vault REST 7.6, IMDS and metadata
 * servers).
 */
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { crc32c } from "../../../../src/vault/seal/providers/gcp-kms.js";

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface Answer {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Answers, or "hang" to never answer. */
export type Behaviour = (request: Received) => Answer | "hang" | Promise<Answer | "hang">;

export class VendorDouble {
  readonly received: Received[] = [];
  behaviour: Behaviour;
  readonly #server: Server;

  constructor(behaviour: Behaviour) {
    this.behaviour = behaviour;
    this.#server = createServer((request, response) => {
      void this.#read(request).then(async (received) => {
        this.received.push(received);
        const answer = await this.behaviour(received);
        if (answer === "hang") return;
        response.writeHead(answer.status, { "content-type": "application/json", ...answer.headers });
        response.end(answer.body === undefined ? "" : JSON.stringify(answer.body));
      });
    });
  }

  get url(): string {
    return `http://127.0.0.1:${String((this.#server.address() as AddressInfo).port)}`;
  }

  async listen(): Promise<this> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return this;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  async #read(request: IncomingMessage): Promise<Received> {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString("utf8");
    return {
      method: request.method ?? "",
      path: request.url ?? "",
      headers: request.headers,
      body: text === "" ? {} : (JSON.parse(text) as Record<string, unknown>),
    };
  }
}

/** AES-GCM under a key that only the double has, with the caller's context as associated data. */
class Wrapper {
  readonly #key = randomBytes(32);

  wrap(plaintext: Uint8Array, context: string): Buffer {
    const nonce = randomBytes(12);
    const cipher = createCipheriv("aes-256-gcm", this.#key, nonce).setAAD(Buffer.from(context));
    return Buffer.concat([nonce, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
  }

  unwrap(sealed: Buffer, context: string): Buffer | undefined {
    try {
      const cipher = createDecipheriv("aes-256-gcm", this.#key, sealed.subarray(0, 12))
        .setAAD(Buffer.from(context))
        .setAuthTag(sealed.subarray(-16));
      return Buffer.concat([cipher.update(sealed.subarray(12, -16)), cipher.final()]);
    } catch {
      return undefined;
    }
  }
}

/** AWS KMS, JSON 1.1 protocol: TrentService.GenerateDataKey and Decrypt. */
export function awsKms(keyId: string): Behaviour {
  const wrapper = new Wrapper();
  const refusal = (type: string, status = 400): Answer => ({
    status,
    body: { __type: type, message: "refused" },
    headers: { "content-type": "application/x-amz-json-1.1" },
  });
  return ({ headers, body }) => {
    if (
      !/^AWS4-HMAC-SHA256 Credential=[^/]+\/\d{8}\/[a-z0-9-]+\/kms\/aws4_request, SignedHeaders=.*x-amz-target.*, Signature=[0-9a-f]{64}$/.test(
        String(headers.authorization),
      )
    )
      return refusal("AccessDeniedException");
    if (body.KeyId !== keyId) return refusal("NotFoundException");
    const context = JSON.stringify(body.EncryptionContext ?? {});
    if (headers["x-amz-target"] === "TrentService.GenerateDataKey") {
      if (body.KeySpec !== "AES_256") return refusal("ValidationException");
      const plaintext = randomBytes(32);
      return {
        status: 200,
        body: {
          KeyId: keyId,
          Plaintext: plaintext.toString("base64"),
          CiphertextBlob: wrapper.wrap(plaintext, context).toString("base64"),
        },
      };
    }
    const plaintext = wrapper.unwrap(Buffer.from(String(body.CiphertextBlob), "base64"), context);
    return plaintext === undefined
      ? refusal("InvalidCiphertextException")
      : {
          status: 200,
          body: { KeyId: keyId, Plaintext: plaintext.toString("base64"), EncryptionAlgorithm: "SYMMETRIC_DEFAULT" },
        };
  };
}

export const METADATA_TOKEN = "metadata-token";

/** Cloud KMS v1 over REST, and the metadata server that gives its tokens. */
export function gcpKms(keyName: string): Behaviour {
  const wrapper = new Wrapper();
  return ({ path, headers, body }) => {
    if (path.startsWith("/computeMetadata/v1")) {
      if (headers["metadata-flavor"] !== "Google") return { status: 403 };
      const isToken = path.includes("/token");
      return {
        status: 200,
        headers: { "metadata-flavor": "Google" },
        body: isToken ? { access_token: METADATA_TOKEN, expires_in: 3600, token_type: "Bearer" } : "ok",
      };
    }
    if (headers.authorization !== `Bearer ${METADATA_TOKEN}`)
      return { status: 401, body: { error: { code: 401, message: "no", status: "UNAUTHENTICATED" } } };
    if (!path.startsWith(`/v1/${keyName}:`))
      return { status: 404, body: { error: { code: 404, message: "no such key", status: "NOT_FOUND" } } };
    const context = String(body.additionalAuthenticatedData);
    if (path.includes(":encrypt")) {
      const plaintext = Buffer.from(String(body.plaintext), "base64");
      const ciphertext = wrapper.wrap(plaintext, context);
      return {
        status: 200,
        body: {
          name: keyName,
          ciphertext: ciphertext.toString("base64"),
          ciphertextCrc32c: String(crc32c(ciphertext)),
          verifiedPlaintextCrc32c: String(body.plaintextCrc32c) === String(crc32c(plaintext)),
        },
      };
    }
    const plaintext = wrapper.unwrap(Buffer.from(String(body.ciphertext), "base64"), context);
    if (plaintext === undefined)
      return { status: 400, body: { error: { code: 400, message: "bad ciphertext", status: "INVALID_ARGUMENT" } } };
    return {
      status: 200,
      body: { plaintext: plaintext.toString("base64"), plaintextCrc32c: String(crc32c(plaintext)) },
    };
  };
}

export const IDENTITY_HEADER = "identity-header";

export interface StoredSecret {
  readonly version: string;
  readonly value: string;
  readonly created: number;
  enabled: boolean;
}

/** Key Vault secrets with the challenge of its authentication, and the managed identity endpoint of App Service. */
export function azureKeyVault(name: string, versions: StoredSecret[], url: () => string): Behaviour {
  const idOf = (version: string): string => `${url()}/secrets/${name}/${version}`;
  const bundle = ({ version, value, created, enabled }: StoredSecret, withValue: boolean): object => ({
    id: idOf(version),
    attributes: { enabled, created, updated: created, recoveryLevel: "Recoverable" },
    ...(withValue ? { value } : {}),
  });
  return ({ method, path, headers, body }) => {
    if (path.startsWith("/msi/token")) {
      if (
        headers["x-identity-header"] !== IDENTITY_HEADER ||
        !decodeURIComponent(path).includes("resource=https://vault.azure.net")
      )
        return { status: 400 };
      return {
        status: 200,
        body: {
          access_token: "msi-token",
          expires_on: String(Math.floor(Date.now() / 1000) + 3600),
          resource: "https://vault.azure.net",
          token_type: "Bearer",
        },
      };
    }
    if (headers.authorization !== "Bearer msi-token") {
      return {
        status: 401,
        headers: {
          "www-authenticate":
            'Bearer authorization="https://login.microsoftonline.com/22222222-2222-4222-8222-222222222222", resource="https://vault.azure.net"',
        },
        body: { error: { code: "Unauthorized", message: "AKV10000" } },
      };
    }
    const [, , secret, version] = (path.split("?")[0] ?? "").split("/");
    if (!/[?&]api-version=\d/.test(decodeURIComponent(path)) || secret !== name)
      return { status: 404, body: { error: { code: "SecretNotFound", message: "not found" } } };
    if (method === "PUT") {
      const stored: StoredSecret = {
        version: randomBytes(16).toString("hex"),
        value: String(body.value),
        created: Math.floor(Date.now() / 1000),
        enabled: true,
      };
      versions.push(stored);
      return { status: 200, body: bundle(stored, true) };
    }
    if (version === "versions")
      return { status: 200, body: { value: versions.map((stored) => bundle(stored, false)), nextLink: null } };
    const stored = versions.find((candidate) => candidate.version === version);
    return stored === undefined
      ? { status: 404, body: { error: { code: "SecretNotFound", message: "not found" } } }
      : { status: 200, body: bundle(stored, true) };
  };
}
