/** Authentication of OAuth clients, by secret and by assertion. SOURCE: RFC 6749 section 2.3, RFC 7523. */
import { randomUUID } from "node:crypto";
import { SignJWT, exportJWK, generateKeyPair, type CryptoKey } from "jose";
import * as oidc from "openid-client";
import { describe, expect, it } from "vitest";
import { discover, postForm, setUpOAuth } from "./support.js";

const setup = setUpOAuth();

describe("an OAuth client", () => {
  it.each(["ES256", "EdDSA", "RS256"] as const)(
    "gets client_credentials with private_key_jwt (%s), each assertion once",
    async (alg) => {
      const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
      const jwk = await exportJWK(publicKey);
      await setup.owner.api.updateApplicationClient({
        params: { id: setup.clientId },
        body: { jwks: { keys: [{ ...jwk, kid: "one", alg } as never] } },
      });
      const config = await discover(setup, oidc.PrivateKeyJwt({ key: privateKey, kid: "one" }));
      const token = await oidc.clientCredentialsGrant(config, { scope: "read" });
      expect(await setup.harness.identity.authenticate(token.access_token)).toMatchObject({
        subject: { kind: "application", id: setup.clientId },
        permissions: 2,
      });
      expect(token.refresh_token).toBeUndefined();

      const assertion = await new SignJWT({ jti: randomUUID() })
        .setProtectedHeader({ alg, kid: "one" })
        .setIssuer(setup.clientId)
        .setSubject(setup.clientId)
        .setAudience(setup.harness.url)
        .setIssuedAt()
        .setExpirationTime("1m")
        .sign(privateKey);
      const members = {
        grant_type: "client_credentials",
        client_assertion: assertion,
        client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
      };
      expect((await postForm(setup, "token", members)).status).toBe(200);
      expect(await postForm(setup, "token", members)).toMatchObject({ status: 401, body: { error: "invalid_client" } });
    },
  );

  it("refuses an assertion for another audience, by another key, too long-lived, of another client, or without an id", async () => {
    const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
    const other = await generateKeyPair("ES256");
    await setup.owner.api.updateApplicationClient({
      params: { id: setup.clientId },
      body: { jwks: { keys: [{ ...(await exportJWK(publicKey)), kid: "one" } as never] } },
    });
    const base = {
      iss: setup.clientId,
      sub: setup.clientId,
      aud: setup.harness.url,
      jti: "a",
      exp: Math.floor(Date.now() / 1000) + 60,
    };
    const cases: readonly (readonly [Record<string, unknown>, CryptoKey])[] = [
      [{ ...base, aud: "https://other.example" }, privateKey],
      [base, other.privateKey],
      [{ ...base, exp: base.exp + 3600 }, privateKey],
      [{ ...base, sub: randomUUID() }, privateKey],
      [{ ...base, jti: undefined }, privateKey],
      [{ ...base, exp: base.exp - 600 }, privateKey],
    ];
    for (const [claims, key] of cases) {
      const assertion = await new SignJWT(claims).setProtectedHeader({ alg: "ES256", kid: "one" }).sign(key);
      const answer = await postForm(setup, "token", {
        grant_type: "client_credentials",
        client_assertion: assertion,
        client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
      });
      expect(answer, JSON.stringify(claims)).toMatchObject({ status: 401, body: { error: "invalid_client" } });
    }
  });

  it("without any known scope gets invalid_scope, and with a malformed Basic header invalid_client", async () => {
    const secret = { client_id: setup.clientId, client_secret: setup.clientSecret };
    expect(
      await postForm(setup, "token", { grant_type: "client_credentials", ...secret, scope: "everything" }),
    ).toMatchObject({
      status: 400,
      body: { error: "invalid_scope" },
    });
    expect(
      await postForm(setup, "token", { grant_type: "client_credentials", ...secret, scope: "everything read" }),
    ).toMatchObject({ status: 200, body: { scope: "read" } });
    expect(
      await postForm(setup, "token", { grant_type: "client_credentials", ...secret }, { authorization: "Basic !" }),
    ).toMatchObject({ status: 401, body: { error: "invalid_client" } });
    const refused = await fetch(`${setup.harness.url}/api/v1/oauth/token`, {
      method: "POST",
      body: new URLSearchParams({ grant_type: "client_credentials" }),
    });
    expect(refused.headers.get("www-authenticate")).toBe('Basic realm="proofwright"');
  });
});
