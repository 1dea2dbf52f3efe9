/** Logging out at a client's request. SOURCE: OpenID Connect RP-Initiated Logout 1.0. */
import * as oidc from "openid-client";
import { beforeEach, describe, expect, it } from "vitest";
import { codeFor, discover, pendingAuthorization, setUpOAuth } from "./support.js";

const setup = setUpOAuth();
const AFTERWARDS = "https://app.example.com/bye?lang=en";
let config: oidc.Configuration;
let tokens: Awaited<ReturnType<typeof oidc.authorizationCodeGrant>>;

beforeEach(async () => {
  await setup.owner.api.updateApplicationClient({
    params: { id: setup.clientId },
    body: { post_logout_redirect_uris: [AFTERWARDS, "http://127.0.0.1/bye"] },
  });
  config = await discover(setup);
  const request = await pendingAuthorization(config, "openid offline_access read");
  tokens = await oidc.authorizationCodeGrant(config, (await codeFor(request)).location, {
    pkceCodeVerifier: request.verifier,
    expectedState: request.state,
    expectedNonce: request.nonce,
  });
});

async function logOut(members: Readonly<Record<string, string>>, method = "GET"): Promise<Response> {
  const url = oidc.buildEndSessionUrl(config, { ...members });
  if (method === "GET") return fetch(url, { redirect: "manual" });
  return fetch(url.origin + url.pathname, { method, redirect: "manual", body: url.searchParams });
}

describe("the end of a session", () => {
  it.each(["GET", "POST"])("by %s voids the client's tokens and leads back to the client", async (method) => {
    const answer = await logOut(
      { id_token_hint: tokens.id_token!, post_logout_redirect_uri: AFTERWARDS, state: "s p" },
      method,
    );
    expect([answer.status, answer.headers.get("location")]).toEqual([
      method === "GET" ? 302 : 303,
      `${AFTERWARDS}&state=s+p`,
    ]);
    expect(await setup.harness.isAlive(tokens.access_token)).toBe(false);
    await expect(oidc.refreshTokenGrant(config, tokens.refresh_token!)).rejects.toMatchObject({
      error: "invalid_grant",
    });
    expect(await setup.harness.isAlive(setup.owner.token)).toBe(true);
  });

  it("takes an id token that has expired, any port on loopback, and no address at all", async () => {
    setup.harness.clock.advanceSec(3600);
    const answer = await logOut({ id_token_hint: tokens.id_token! });
    expect([answer.status, answer.headers.get("content-security-policy")]).toMatchObject([
      200,
      expect.stringMatching(/^default-src 'none'/) as string,
    ]);
    expect(await answer.text()).toContain("You are logged out.");
    const uri = "http://127.0.0.1:51234/bye";
    const again = await logOut({ id_token_hint: tokens.id_token!, post_logout_redirect_uri: uri });
    expect([again.status, again.headers.get("location")]).toEqual([302, uri]);
  });

  it("without an id token of this server ends nothing and asks the user instead of redirecting", async () => {
    const accessToken = tokens.access_token;
    const damaged = `${tokens.id_token!.slice(0, -8)}AAAAAAAA`;
    for (const hint of [{}, { id_token_hint: accessToken }, { id_token_hint: damaged }, { id_token_hint: "x" }]) {
      const answer = await logOut({ ...hint, post_logout_redirect_uri: AFTERWARDS });
      expect(answer.status).toBe(200);
      expect(await answer.text()).toContain('<a href="https://app.example.com/bye?lang=en">Go to app.example.com</a>');
    }
    expect(await setup.harness.isAlive(accessToken)).toBe(true);
  });

  it("never leads to an address that is not registered, and ends nothing then", async () => {
    const eve = await setup.harness.newUser("eve@example.com");
    const other = (await eve.api.createApplication({ body: {} })).body.id;
    const uri = "https://eve.example/";
    await eve.api.updateApplicationClient({ params: { id: other }, body: { post_logout_redirect_uris: [uri] } });
    const hint = { id_token_hint: tokens.id_token! };
    for (const members of [
      { ...hint, post_logout_redirect_uri: uri },
      { ...hint, post_logout_redirect_uri: `${AFTERWARDS}&x=1` },
      { ...hint, post_logout_redirect_uri: uri, client_id: other },
      { post_logout_redirect_uri: uri },
    ]) {
      const answer = await logOut(members);
      expect([answer.status, answer.headers.get("location")], JSON.stringify(members)).toEqual([422, null]);
    }
    expect(await setup.harness.isAlive(tokens.access_token)).toBe(true);
  });
});
