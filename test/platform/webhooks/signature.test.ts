import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { newWebhookSecret, signatureHeaders } from "../../../src/platform/webhooks/signature.js";

// SOURCE: tests of the reference implementations of Standard Webhooks
// (github.com/standard-webhooks/standard-webhooks, libraries/go/webhook_test.go).
const PUBLISHED = {
  secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  message: { id: "msg_p5jXN8AQM9LWM0D4loKWxJek", timestampSec: 1_614_265_330, body: '{"test": 2432232314}' },
  signature: "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
};

describe("signatures of Standard Webhooks", () => {
  it("are those of the published vector", () => {
    expect(signatureHeaders(PUBLISHED.message, [PUBLISHED.secret])).toEqual({
      "webhook-id": PUBLISHED.message.id,
      "webhook-timestamp": "1614265330",
      "webhook-signature": PUBLISHED.signature,
    });
  });

  it("are one for each secret, divided by a space", () => {
    const other = newWebhookSecret();
    const headers = signatureHeaders(PUBLISHED.message, [other, PUBLISHED.secret]);
    const [first = "", second] = headers["webhook-signature"].split(" ");
    expect(second).toBe(PUBLISHED.signature);
    const key = Buffer.from(other.slice("whsec_".length), "base64");
    const { id, timestampSec, body } = PUBLISHED.message;
    const expected = createHmac("sha256", key)
      .update(`${id}.${String(timestampSec)}.${body}`)
      .digest("base64");
    expect(first).toBe(`v1,${expected}`);
  });

  it.each([
    ["id", { id: "msg_other" }],
    ["time", { timestampSec: 1_614_265_331 }],
    ["body", { body: '{"test": 2432232315}' }],
  ])("change with the %s", (_what, change) => {
    const headers = signatureHeaders({ ...PUBLISHED.message, ...change }, [PUBLISHED.secret]);
    expect(headers["webhook-signature"]).not.toBe(PUBLISHED.signature);
  });
});

it("a new secret has 32 random bytes in base64", () => {
  const secret = newWebhookSecret();
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(newWebhookSecret()).not.toBe(secret);
});
