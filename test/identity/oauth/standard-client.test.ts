/**
 * OAuth 2.0 and OpenID Connect as a standard client (npm openid-client) meets them.
 * SOURCE: RFC 6749, 7009, 7636, 7662, 9207; OpenID Connect Core and Discovery.
 */
import { decodeJwt, decodeProtectedHeader } from "jose";
import * as oidc from "openid-client";
import { describe, expect, it } from "vitest";
import {
  EMAIL,
  REDIRECT,
  codeFor,
  discover,
  pendingAuthorization,
  postForm,
  setUpOAuth,
  ALLOW_HTTP,
} from "./support.js";

const setup = setUpOAuth();

describe("a standard client", () => {
  it("discovers, authorizes with PKCE, refreshes, introspects and revokes", async () => {
    const config = await discover(setup);
    const request = await pendingAuthorization(config);
    const { location } = await codeFor(request);
    expect(`${location.origin}${location.pathname}`).toBe(REDIRECT);
    const tokens = await oidc.authorizationCodeGrant(config, location, {
      pkceCodeVerifier: request.verifier,
      expectedState: request.state,
      expectedNonce: request.nonce,
      idTokenExpected: true,
    });
    expect(tokens.claims()).toMatchObject({
      sub: `user:${setup.owner.id}`,
      aud: setup.clientId,
      iss: setup.harness.url,
      name: "Ada Lovelace",
      email: EMAIL,
      auth_time: expect.any(Number) as number,
    });
    expect(tokens.scope).toBe("openid profile email offline_access read");
    expect(decodeJwt(tokens.access_token)).toMatchObject({ client_id: setup.clientId, scope: tokens.scope });
    expect(decodeProtectedHeader(tokens.access_token)).toMatchObject({ typ: "at+jwt", alg: "EdDSA" });
    expect(decodeJwt(setup.owner.token)).not.toHaveProperty("client_id");

    const info = await oidc.fetchUserInfo(config, tokens.access_token, `user:${setup.owner.id}`);
    expect(info).toMatchObject({ given_name: "Ada", email_verified: false });

    const refreshed = await oidc.refreshTokenGrant(config, tokens.refresh_token!);
    expect(refreshed.access_token).not.toBe(tokens.access_token);
    expect(await oidc.tokenIntrospection(config, refreshed.access_token)).toMatchObject({
      active: true,
      sub: `user:${setup.owner.id}`,
      client_id: setup.clientId,
      permissions: 2,
      token_type: "Bearer",
    });
    expect(await oidc.tokenIntrospection(config, refreshed.refresh_token!)).toMatchObject({
      active: true,
      client_id: setup.clientId,
    });

    await oidc.tokenRevocation(config, refreshed.refresh_token!);
    expect(await oidc.tokenIntrospection(config, refreshed.access_token)).toEqual({ active: false });
    await expect(oidc.refreshTokenGrant(config, refreshed.refresh_token!)).rejects.toMatchObject({
      error: "invalid_grant",
    });
    expect(
      (
        await fetch(`${setup.harness.url}/api/v1/users`, {
          headers: { authorization: `Bearer ${refreshed.access_token}` },
        })
      ).status,
    ).toBe(401);
  });

  it("that narrows the scope at a refresh gets the narrow one, and keeps the wide one", async () => {
    const config = await discover(setup);
    const request = await pendingAuthorization(config, "offline_access read create");
    const tokens = await oidc.authorizationCodeGrant(config, (await codeFor(request)).location, {
      pkceCodeVerifier: request.verifier,
      expectedState: request.state,
    });
    const narrow = await oidc.refreshTokenGrant(config, tokens.refresh_token!, { scope: "read" });
    expect(narrow.scope).toBe("read");
    expect((await oidc.refreshTokenGrant(config, narrow.refresh_token!)).scope).toBe("offline_access read create");
  });

  it("finds the metadata at the address of OAuth 2.0, and gets claims about the user by POST", async () => {
    const config = await oidc.discovery(new URL(setup.harness.url), setup.clientId, setup.clientSecret, undefined, {
      algorithm: "oauth2",
      execute: [ALLOW_HTTP],
    });
    expect(config.serverMetadata()).toMatchObject({
      issuer: setup.harness.url,
      request_uri_parameter_supported: false,
    });
    const answer = await fetch(`${setup.harness.url}/api/v1/oauth/userinfo`, {
      method: "POST",
      headers: { authorization: `Bearer ${setup.owner.token}` },
    });
    expect([answer.status, await answer.json()]).toMatchObject([200, { sub: `user:${setup.owner.id}`, email: EMAIL }]);
  });

  it("may be public: PKCE without a secret, and refresh by name", async () => {
    await setup.owner.api.updateApplicationClient({ params: { id: setup.clientId }, body: { public: true } });
    const config = await oidc.discovery(new URL(setup.harness.url), setup.clientId, undefined, oidc.None(), {
      execute: [ALLOW_HTTP],
    });
    const request = await pendingAuthorization(config, "offline_access read");
    const { location } = await codeFor(request);
    const tokens = await oidc.authorizationCodeGrant(config, location, {
      pkceCodeVerifier: request.verifier,
      expectedState: request.state,
    });
    const refreshed = await oidc.refreshTokenGrant(config, tokens.refresh_token!);
    expect(refreshed.refresh_token).toBeDefined();
    // Its refresh token is not good without the id of the client.
    expect(
      (await postForm(setup, "token", { grant_type: "refresh_token", refresh_token: refreshed.refresh_token! })).body,
    ).toMatchObject({ error: "invalid_grant" });
  });
});
