/** The registration of OAuth clients: redirect addresses and public keys. SOURCE: RFC 6749 section 3.1.2, RFC 8252. */
import { generateKeyPair as generateKeyPairCallback } from "node:crypto";
import { promisify } from "node:util";
import { exportJWK, generateKeyPair } from "jose";
import { describe, expect, it } from "vitest";
import { setUpOAuth } from "./support.js";

const setup = setUpOAuth();

describe("an OAuth client's registration", () => {
  it.each([
    "http://app.example.com/cb",
    "https://app.example.com/#x",
    "javascript:alert(1)",
    "myapp:cb",
    "https://u:p@app.example.com/",
    "not a uri",
    "data:text/html,x",
    "http://localhost.evil.example/",
  ])("takes no redirect address %j", async (uri) => {
    await expect(
      setup.owner.api.updateApplicationClient({ params: { id: setup.clientId }, body: { redirect_uris: [uri] } }),
    ).rejects.toMatchObject({ status: 422 });
  });

  it.each(["com.example.app:/cb", "http://127.0.0.1/cb", "http://[::1]:1234/cb", "https://app.example.com/cb?x=1"])(
    "takes the redirect address %j",
    async (uri) => {
      expect(
        (
          await setup.owner.api.updateApplicationClient({
            params: { id: setup.clientId },
            body: { redirect_uris: [uri] },
          })
        ).status,
      ).toBe(204);
    },
  );

  it("takes public keys of sound strength only", async () => {
    const { publicKey, privateKey } = await promisify(generateKeyPairCallback)("rsa", { modulusLength: 1024 });
    const put = async (key: object) =>
      setup.owner.api.updateApplicationClient({
        params: { id: setup.clientId },
        body: { jwks: { keys: [{ kid: "k", ...key } as never] } },
      });
    await expect(put(publicKey.export({ format: "jwk" }))).rejects.toMatchObject({
      status: 422,
      message: "jwks: an RSA key is shorter than 2048 bits",
    });
    await expect(put(privateKey.export({ format: "jwk" }))).rejects.toMatchObject({ status: 422 });
    await expect(put({ kty: "EC", crv: "P-256", x: "AA" })).rejects.toMatchObject({
      status: 422,
      message: "jwks: a key lacks y",
    });
    await expect(put({ kty: "EC", crv: "Ed25519", x: "AA", y: "AA" })).rejects.toMatchObject({ status: 422 });
  });

  it("rejects keys that are invalid or share a kid", async () => {
    const jwk = { ...(await exportJWK((await generateKeyPair("ES256", { extractable: true })).publicKey)), kid: "one" };
    const put = async (...keys: object[]) =>
      setup.owner.api.updateApplicationClient({
        params: { id: setup.clientId },
        body: { jwks: { keys: keys as never } },
      });
    await expect(put({ ...jwk, x: "AAAA" })).rejects.toMatchObject({
      status: 422,
      message: "jwks: a key is not a sound public key of its kind",
    });
    await expect(put({ kty: "OKP", crv: "Ed25519", kid: "one", x: "AA" })).rejects.toMatchObject({ status: 422 });
    await expect(put(jwk, jwk)).rejects.toMatchObject({ status: 422, message: "jwks: two keys have the same kid" });
    await expect(put(jwk)).resolves.toMatchObject({ status: 204 });
  });
});
