/**
 * Signatures of messages by Standard Webhooks 1.0: HMAC-SHA256 over `id.timestamp.body`.
 * https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
import { createHmac, randomBytes } from "node:crypto";

const SECRET_PREFIX = "whsec_";
/** The specification asks for 24 to 64 bytes. */
const SECRET_BYTES = 32;

export interface SignedMessage {
  /** The same at every attempt. */
  readonly id: string;
  /** Unix seconds of this attempt. */
  readonly timestampSec: number;
  readonly body: string;
}

/** Returns a new secret: `whsec_` and 32 random bytes in base64. */
export function newWebhookSecret(): string {
  return `${SECRET_PREFIX}${randomBytes(SECRET_BYTES).toString("base64")}`;
}

/**
 * Returns the headers that identify and sign a message.
 * @param secrets texts of `newWebhookSecret`; there is one signature for each, so that a receiver may have any of them
 */
export function signatureHeaders(
  { id, timestampSec, body }: SignedMessage,
  secrets: readonly string[],
): Readonly<Record<"webhook-id" | "webhook-timestamp" | "webhook-signature", string>> {
  const timestamp = String(timestampSec);
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(SECRET_PREFIX.length), "base64");
    try {
      return `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")}`;
    } finally {
      key.fill(0);
    }
  });
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures.join(" ") };
}
