/**
 * OAuth 2.0 and OpenID Connect as a standard client (npm openid-client) and an attacker meet them.
 * SOURCE: RFC 6749, 7009, 7523, 7636, 7662, 9207; OpenID Connect Core and Discovery.
 */
import { generateKeyPair as generateKeyPairCallback, randomUUID } from "node:crypto";
import { promisify } from "node:util";
import { SignJWT, decodeJwt, exportJWK, generateKeyPair, type CryptoKey } from "jose";
import * as oidc from "openid-client";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openHttpHarness, type HttpHarness, type IdentityApi } from "../http-support.js";
import { PASSWORD } from "../support.js";

const REDIRECT = "https://app.example.com/callback";
const EMAIL = "ada@example.com";

let harness: HttpHarness;
let owner: { id: string; token: string; api: IdentityApi };
let clientId: string;
let clientSecret: string;

beforeEach(async () => {
  harness = await openHttpHarness();
  owner = await harness.newUser(EMAIL);
  clientId = (await owner.api.createApplication({ body: { name: "<b>Engine</b>" } })).body.id;
  await owner.api.updateApplicationClient({
    params: { id: clientId },
    body: { redirect_uris: [REDIRECT, "http://127.0.0.1:9999/cb"] },
  });
  clientSecret = (await owner.api.createApplicationClientSecret({ params: { id: clientId } })).body.client_secret;
});

afterEach(async () => {
  await harness.server.stop({ graceMs: 0 });
});

async function discover(
  authentication: oidc.ClientAuth = oidc.ClientSecretBasic(clientSecret),
): Promise<oidc.Configuration> {
  return oidc.discovery(new URL(harness.url), clientId, clientSecret, authentication, {
    execute: [oidc.allowInsecureRequests],
  });
}

interface Pending {
  readonly url: URL;
  readonly verifier: string;
  readonly state: string;
  readonly nonce: string;
}

async function pending(
  config: oidc.Configuration,
  scope = "openid profile email offline_access read",
): Promise<Pending> {
  const verifier = oidc.randomPKCECodeVerifier();
  const [state, nonce] = [oidc.randomState(), oidc.randomNonce()];
  const url = oidc.buildAuthorizationUrl(config, {
    redirect_uri: REDIRECT,
    scope,
    code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    state,
    nonce,
  });
  return { url, verifier, state, nonce };
}

/** Fills the login form as a browser would: hidden members as they stand, then what the person types. */
async function submitForm(url: URL, typed: Readonly<Record<string, string>>): Promise<Response> {
  const html = await (await fetch(url)).text();
  const hidden = [...html.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)].map(
    ([, name = "", value = ""]) =>
      [name, value.replaceAll("&amp;", "&").replaceAll("&#39;", "'").replaceAll("&quot;", '"')] as const,
  );
  return fetch(new URL("authorize", url), {
    method: "POST",
    redirect: "manual",
    body: new URLSearchParams([...hidden, ...Object.entries(typed)] as [string, string][]),
  });
}

async function form(
  path: string,
  members: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ status: number; body: Record<string, unknown> }> {
  const answer = await fetch(`${harness.url}/api/v1/oauth/${path}`, {
    method: "POST",
    headers,
    body: new URLSearchParams(members),
  });
  const text = await answer.text();
  return { status: answer.status, body: text === "" ? {} : (JSON.parse(text) as Record<string, unknown>) };
}

async function codeFor(api: Pending): Promise<{ location: URL; code: string }> {
  const answer = await submitForm(api.url, { email: EMAIL, password: PASSWORD, decision: "allow" });
  const location = new URL(answer.headers.get("location")!);
  return { location, code: location.searchParams.get("code")! };
}

describe("a standard client", () => {
  it("discovers, authorizes with PKCE, refreshes, introspects and revokes", async () => {
    const config = await discover();
    const request = await pending(config);
    const { location } = await codeFor(request);
    expect(`${location.origin}${location.pathname}`).toBe(REDIRECT);
    const tokens = await oidc.authorizationCodeGrant(config, location, {
      pkceCodeVerifier: request.verifier,
      expectedState: request.state,
      expectedNonce: request.nonce,
      idTokenExpected: true,
    });
    expect(tokens.claims()).toMatchObject({
      sub: `user:${owner.id}`,
      aud: clientId,
      iss: harness.url,
      name: "Ada Lovelace",
      email: EMAIL,
      auth_time: expect.any(Number) as number,
    });
    expect(tokens.scope).toBe("openid profile email offline_access read");

    const info = await oidc.fetchUserInfo(config, tokens.access_token, `user:${owner.id}`);
    expect(info).toMatchObject({ given_name: "Ada", email_verified: false });

    const refreshed = await oidc.refreshTokenGrant(config, tokens.refresh_token!);
    expect(refreshed.access_token).not.toBe(tokens.access_token);
    expect(await oidc.tokenIntrospection(config, refreshed.access_token)).toMatchObject({
      active: true,
      sub: `user:${owner.id}`,
      client_id: clientId,
      permissions: 2,
      token_type: "Bearer",
    });
    expect(await oidc.tokenIntrospection(config, refreshed.refresh_token!)).toMatchObject({
      active: true,
      client_id: clientId,
    });

    await oidc.tokenRevocation(config, refreshed.refresh_token!);
    expect(await oidc.tokenIntrospection(config, refreshed.access_token)).toEqual({ active: false });
    await expect(oidc.refreshTokenGrant(config, refreshed.refresh_token!)).rejects.toMatchObject({
      error: "invalid_grant",
    });
    expect(
      (await fetch(`${harness.url}/api/v1/users`, { headers: { authorization: `Bearer ${refreshed.access_token}` } }))
        .status,
    ).toBe(401);
  });

  it.each(["ES256", "EdDSA", "RS256"] as const)(
    "gets client_credentials with private_key_jwt (%s), each assertion once",
    async (alg) => {
      const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
      const jwk = await exportJWK(publicKey);
      await owner.api.updateApplicationClient({
        params: { id: clientId },
        body: { jwks: { keys: [{ ...jwk, kid: "one", alg } as never] } },
      });
      const config = await discover(oidc.PrivateKeyJwt({ key: privateKey, kid: "one" }));
      const token = await oidc.clientCredentialsGrant(config, { scope: "read" });
      expect(await harness.identity.authenticate(token.access_token)).toMatchObject({
        subject: { kind: "application", id: clientId },
        permissions: 2,
      });
      expect(token.refresh_token).toBeUndefined();

      const assertion = await new SignJWT({ jti: randomUUID() })
        .setProtectedHeader({ alg, kid: "one" })
        .setIssuer(clientId)
        .setSubject(clientId)
        .setAudience(harness.url)
        .setIssuedAt()
        .setExpirationTime("1m")
        .sign(privateKey);
      const members = {
        grant_type: "client_credentials",
        client_assertion: assertion,
        client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
      };
      expect((await form("token", members)).status).toBe(200);
      expect(await form("token", members)).toMatchObject({ status: 401, body: { error: "invalid_client" } });
    },
  );

  it("refuses an assertion for another audience, by another key, too long-lived, of another client, or without an id", async () => {
    const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
    const other = await generateKeyPair("ES256");
    await owner.api.updateApplicationClient({
      params: { id: clientId },
      body: { jwks: { keys: [{ ...(await exportJWK(publicKey)), kid: "one" } as never] } },
    });
    const base = { iss: clientId, sub: clientId, aud: harness.url, jti: "a", exp: Math.floor(Date.now() / 1000) + 60 };
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
      const answer = await form("token", {
        grant_type: "client_credentials",
        client_assertion: assertion,
        client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
      });
      expect(answer, JSON.stringify(claims)).toMatchObject({ status: 401, body: { error: "invalid_client" } });
    }
  });

  it("is refused keys that are none, or that share a name", async () => {
    const jwk = { ...(await exportJWK((await generateKeyPair("ES256", { extractable: true })).publicKey)), kid: "one" };
    const put = async (...keys: object[]) =>
      owner.api.updateApplicationClient({ params: { id: clientId }, body: { jwks: { keys: keys as never } } });
    await expect(put({ ...jwk, x: "AAAA" })).rejects.toMatchObject({
      status: 422,
      message: "jwks: a key is not a sound public key of its kind",
    });
    await expect(put({ kty: "OKP", crv: "Ed25519", kid: "one", x: "AA" })).rejects.toMatchObject({ status: 422 });
    await expect(put(jwk, jwk)).rejects.toMatchObject({ status: 422, message: "jwks: two keys have the same kid" });
    await expect(put(jwk)).resolves.toMatchObject({ status: 204 });
  });

  it("that asks for nothing that exists gets nothing, and one that spoils its Basic header is nobody", async () => {
    const secret = { client_id: clientId, client_secret: clientSecret };
    expect(await form("token", { grant_type: "client_credentials", ...secret, scope: "everything" })).toMatchObject({
      status: 400,
      body: { error: "invalid_scope" },
    });
    expect(
      await form("token", { grant_type: "client_credentials", ...secret, scope: "everything read" }),
    ).toMatchObject({ status: 200, body: { scope: "read" } });
    expect(
      await form("token", { grant_type: "client_credentials", ...secret }, { authorization: "Basic !" }),
    ).toMatchObject({ status: 401, body: { error: "invalid_client" } });
    const refused = await fetch(`${harness.url}/api/v1/oauth/token`, {
      method: "POST",
      body: new URLSearchParams({ grant_type: "client_credentials" }),
    });
    expect(refused.headers.get("www-authenticate")).toBe('Basic realm="proofwright"');
  });

  it("is told by OAuth's own word that something is missing", async () => {
    const secret = { client_id: clientId, client_secret: clientSecret };
    const empty = await fetch(`${harness.url}/api/v1/oauth/token`, {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded" },
    });
    expect([empty.status, ((await empty.json()) as { error: string }).error]).toEqual([400, "invalid_request"]);
    for (const path of ["introspect", "revoke"]) {
      expect(await form(path, secret), path).toMatchObject({ status: 400, body: { error: "invalid_request" } });
      expect(await form(path, {}), path).toMatchObject({ status: 401, body: { error: "invalid_client" } });
      expect(await form(path, { ...secret, token: "x".repeat(10_000) }), path).toMatchObject({ status: 200 });
    }
  });

  it("is told so by OAuth's own word when its request has not the form of one", async () => {
    const text = new URLSearchParams({
      grant_type: "client_credentials",
      client_id: clientId,
      client_secret: clientSecret,
      token: "x",
    }).toString();
    const [asForm, asJson] = ["application/x-www-form-urlencoded", "application/json"];
    const bodies: [string, string, RegExp][] = [
      [asForm, `${text}&client_id=${clientId}`, /more than once/],
      [asForm, `${text}&scope=read&scope=read`, /more than once/],
      [asForm, `${text}&unknown=1&unknown=1`, /more than once/],
      [asForm, `${text}&token_type_hint=${"x".repeat(201)}&scope=${"x".repeat(257)}`, /must have at most/],
      [asForm, `${text}&scope=%ff`, /./],
      [asJson, "{", /malformed JSON/],
      [asJson, '{"client_id":1}', /expected a string/],
      [asJson, '{"client_id":"a","client_id":"a"}', /given twice/],
      [asJson, "[]", /expected/],
    ];
    for (const path of ["token", "introspect", "revoke"]) {
      for (const [type, body, said] of bodies) {
        const answer = await fetch(`${harness.url}/api/v1/oauth/${path}`, {
          method: "POST",
          headers: { "content-type": type },
          body,
        });
        expect([answer.status, answer.headers.get("content-type"), await answer.json()], `${path} ${body}`).toEqual([
          400,
          "application/json; charset=UTF-8",
          { error: "invalid_request", error_description: expect.stringMatching(said) as string },
        ]);
      }
    }
    // Not of OAuth: its login form, where a malformed request is 422 and never a redirect.
    const login = await fetch(`${harness.url}/api/v1/oauth/authorize`, {
      method: "POST",
      headers: { "content-type": asForm },
      body: "email=a&email=a",
    });
    expect([login.status, ((await login.json()) as { errors: { code: string }[] }).errors[0]?.code]).toEqual([
      422,
      "invalid_request",
    ]);
  });

  it("that narrows the scope at a refresh is told the narrow one, and keeps the wide one", async () => {
    const config = await discover();
    const request = await pending(config, "offline_access read create");
    const tokens = await oidc.authorizationCodeGrant(config, (await codeFor(request)).location, {
      pkceCodeVerifier: request.verifier,
      expectedState: request.state,
    });
    const narrow = await oidc.refreshTokenGrant(config, tokens.refresh_token!, { scope: "read" });
    expect(narrow.scope).toBe("read");
    expect((await oidc.refreshTokenGrant(config, narrow.refresh_token!)).scope).toBe("offline_access read create");
  });

  it("finds the metadata where OAuth 2.0 keeps it, and asks about the user by POST", async () => {
    const config = await oidc.discovery(new URL(harness.url), clientId, clientSecret, undefined, {
      algorithm: "oauth2",
      execute: [oidc.allowInsecureRequests],
    });
    expect(config.serverMetadata()).toMatchObject({ issuer: harness.url, request_uri_parameter_supported: false });
    const answer = await fetch(`${harness.url}/api/v1/oauth/userinfo`, {
      method: "POST",
      headers: { authorization: `Bearer ${owner.token}` },
    });
    expect([answer.status, await answer.json()]).toMatchObject([200, { sub: `user:${owner.id}`, email: EMAIL }]);
  });

  it("may be public: PKCE without a secret, and refresh by name", async () => {
    await owner.api.updateApplicationClient({ params: { id: clientId }, body: { public: true } });
    const config = await oidc.discovery(new URL(harness.url), clientId, undefined, oidc.None(), {
      execute: [oidc.allowInsecureRequests],
    });
    const request = await pending(config, "offline_access read");
    const { location } = await codeFor(request);
    const tokens = await oidc.authorizationCodeGrant(config, location, {
      pkceCodeVerifier: request.verifier,
      expectedState: request.state,
    });
    const refreshed = await oidc.refreshTokenGrant(config, tokens.refresh_token!);
    expect(refreshed.refresh_token).toBeDefined();
    // Its refresh token is worth nothing to whoever does not name the client.
    expect(
      (await form("token", { grant_type: "refresh_token", refresh_token: refreshed.refresh_token! })).body,
    ).toMatchObject({ error: "invalid_grant" });
  });
});

describe("the login page", () => {
  it("escapes what it shows, keeps no cookie and lets only itself and the client be posted to", async () => {
    const { url } = await pending(await discover());
    url.searchParams.set("state", '"><script>alert(1)</script>');
    url.searchParams.set("login_hint", '"onfocus="x');
    const answer = await fetch(url);
    const html = await answer.text();
    expect(answer.headers.get("content-security-policy")).toMatch(
      /^default-src 'none'; .*form-action 'self' https:\/\/app\.example\.com;.*frame-ancestors 'none'$/,
    );
    expect(answer.headers.get("set-cookie")).toBeNull();
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(html).not.toContain("<script>");
    expect(html).toContain("&lt;b&gt;Engine&lt;/b&gt;");
  });

  it("comes again after a wrong password, counts it, and then waits", async () => {
    const { url } = await pending(await discover());
    for (let i = 0; i < 5; i++)
      expect((await submitForm(url, { email: EMAIL, password: "wrong guess" })).status).toBe(401);
    const blocked = await submitForm(url, { email: EMAIL, password: PASSWORD });
    expect([blocked.status, blocked.headers.get("retry-after")]).toEqual([429, "1"]);
    // One gate on all paths: the counter is the one of POST /authenticate.
    await expect(harness.anonymous.authenticate({ body: { email: EMAIL, password: PASSWORD } })).rejects.toMatchObject({
      status: 429,
    });
  });

  it("sends a refusal and a missing login to the client, with state and issuer", async () => {
    const { url, state } = await pending(await discover());
    const denied = new URL(
      (await submitForm(url, { email: "", password: "", decision: "deny" })).headers.get("location")!,
    );
    expect([...denied.searchParams]).toEqual([
      ["error", "access_denied"],
      ["state", state],
      ["iss", harness.url],
    ]);
    url.searchParams.set("prompt", "none");
    const silent = await fetch(url, { redirect: "manual" });
    expect([silent.status, new URL(silent.headers.get("location")!).searchParams.get("error")]).toEqual([
      302,
      "login_required",
    ]);
  });

  it("is passed over with the token of a login as bearer, and with no lesser one", async () => {
    const { url } = await pending(await discover());
    const asked = async (token: string) =>
      fetch(url, { redirect: "manual", headers: { authorization: `bearer ${token}` } });
    const answer = await asked(owner.token);
    expect([answer.status, answer.headers.get("location")?.startsWith(`${REDIRECT}?code=pac_`)]).toEqual([302, true]);
    const personal = (await owner.api.createPersonalToken({ body: { name: "script" } })).body.access_token;
    expect((await asked(personal)).status).toBe(403);
    expect((await asked("nonsense")).status).toBe(401);
    const application = (await owner.api.createToken({ body: { application_id: clientId } })).body.access_token;
    expect((await asked(application)).status).toBe(403);
  });

  it.each([
    ["code_challenge", undefined],
    ["code_challenge", "short"],
    ["code_challenge", `${"a".repeat(42)}=`],
    ["code_challenge", "a".repeat(44)],
    ["code_challenge_method", undefined],
    ["code_challenge_method", "plain"],
    ["response_type", "token"],
    ["response_type", undefined],
    ["client_id", "nobody"],
    ["client_id", undefined],
    ["client_id", randomUUID()],
    ["redirect_uri", undefined],
    ["redirect_uri", `${REDIRECT}/`],
    ["redirect_uri", "https://app.example.com.evil.example/callback"],
    ["redirect_uri", `${REDIRECT}?x=1`],
    ["redirect_uri", "javascript:alert(1)"],
  ])("refuses %s %j with 422 and never redirects", async (name, value) => {
    const { url } = await pending(await discover());
    if (value === undefined) url.searchParams.delete(name);
    else url.searchParams.set(name, value);
    const answer = await fetch(url, { redirect: "manual", headers: { authorization: `bearer ${owner.token}` } });
    expect([answer.status, answer.headers.get("location")]).toEqual([422, null]);
    expect(JSON.stringify(await answer.json())).toContain(name);
    expect(harness.store.range(["authorization_code"])).toEqual([]);
  });
});

describe("an authorization code", () => {
  async function exchange(code: string, verifier: string, changes: Readonly<Record<string, string>> = {}) {
    return form("token", {
      grant_type: "authorization_code",
      code,
      code_verifier: verifier,
      redirect_uri: REDIRECT,
      client_id: clientId,
      client_secret: clientSecret,
      ...changes,
    });
  }

  it("is good once, and its reuse ends what came from it", async () => {
    const request = await pending(await discover());
    const { code } = await codeFor(request);
    const first = await exchange(code, request.verifier);
    expect(first.status).toBe(200);
    expect(await harness.identity.authenticate(String(first.body["access_token"]))).toBeDefined();
    expect(await exchange(code, request.verifier)).toMatchObject({ status: 400, body: { error: "invalid_grant" } });
    await expect(
      (async () => harness.identity.authenticate(String(first.body["access_token"])))(),
    ).rejects.toMatchObject({ code: "unauthorized" });
  });

  it("raced by many yields one token at most, which is void then", async () => {
    const request = await pending(await discover());
    const { code } = await codeFor(request);
    const answers = await Promise.all(Array.from({ length: 10 }, async () => exchange(code, request.verifier)));
    const good = answers.filter(({ status }) => status === 200);
    expect(good).toHaveLength(1);
    await expect(
      (async () => harness.identity.authenticate(String(good[0]!.body["access_token"])))(),
    ).rejects.toMatchObject({ code: "unauthorized" });
  });

  it.each([
    ["another verifier", { code_verifier: "x".repeat(43) }],
    ["the challenge as verifier", { code_verifier: "short" }],
    ["another redirect address", { redirect_uri: "http://127.0.0.1:9999/cb" }],
    ["a code of another form", { code: "pac_nonsense" }],
  ])("is refused with %s", async (_name, changes) => {
    const request = await pending(await discover());
    const { code } = await codeFor(request);
    expect(await exchange(code, request.verifier, changes as Readonly<Record<string, string>>)).toMatchObject({
      status: 400,
      body: { error: "invalid_grant" },
    });
  });

  it("is refused with a wrong secret, to another client, after a minute, and after the password changed", async () => {
    const config = await discover();
    const request = await pending(config);
    const { code } = await codeFor(request);
    expect(await exchange(code, request.verifier, { client_secret: "pcs_wrong" })).toMatchObject({
      status: 401,
      body: { error: "invalid_client" },
    });
    const other = (await owner.api.createApplication({ body: {} })).body.id;
    const otherSecret = (await owner.api.createApplicationClientSecret({ params: { id: other } })).body.client_secret;
    expect(await exchange(code, request.verifier, { client_id: other, client_secret: otherSecret })).toMatchObject({
      status: 400,
      body: { error: "invalid_grant" },
    });
    harness.clock.advanceSec(60);
    expect(await exchange(code, request.verifier)).toMatchObject({ body: { error: "invalid_grant" } });
    const next = await codeFor(request);
    await harness.identity.services.tokens.revokeAllOf({ kind: "user", id: owner.id });
    expect(await exchange(next.code, request.verifier)).toMatchObject({ body: { error: "invalid_grant" } });
  });
});

describe("a client's token", () => {
  it("carries what the person agreed to, and makes no other tokens", async () => {
    const request = await pending(await discover(), "read vault_use");
    const { code } = await codeFor(request);
    const { body } = await form("token", {
      grant_type: "authorization_code",
      code,
      code_verifier: request.verifier,
      redirect_uri: REDIRECT,
      client_id: clientId,
      client_secret: clientSecret,
    });
    const api = harness.as(String(body["access_token"]));
    expect(decodeJwt(String(body["access_token"])).perm).toBe(2 | (1 << 16));
    expect((await api.listUsers({})).total).toBe(1);
    await expect(api.createApplication({ body: {} })).rejects.toMatchObject({ status: 403 });
    await expect(api.createToken({ body: {} })).rejects.toMatchObject({ status: 403 });
    await expect(api.createToken({ body: { application_id: clientId } })).rejects.toMatchObject({ status: 403 });
    expect(body).not.toHaveProperty("id_token");
    expect(body).not.toHaveProperty("refresh_token");
  });

  it("is shown in no list to strangers, and revoked by its holder or its user only", async () => {
    const { code_verifier, code } = await (async () => {
      const request = await pending(await discover(), "read offline_access");
      return { code: (await codeFor(request)).code, code_verifier: request.verifier };
    })();
    const { body } = await form("token", {
      grant_type: "authorization_code",
      code,
      code_verifier,
      redirect_uri: REDIRECT,
      client_id: clientId,
      client_secret: clientSecret,
    });
    const access = String(body["access_token"]);
    const eve = await harness.newUser("eve@example.com");
    const other = (await eve.api.createApplication({ body: {} })).body.id;
    const otherSecret = (await eve.api.createApplicationClientSecret({ params: { id: other } })).body.client_secret;
    expect((await form("revoke", { token: access, client_id: other, client_secret: otherSecret })).status).toBe(200);
    expect((await form("revoke", { token: access }, { authorization: `Bearer ${eve.token}` })).status).toBe(200);
    expect(await harness.identity.authenticate(access)).toBeDefined();
    expect(await form("introspect", { token: access })).toMatchObject({
      status: 401,
      body: { error: "invalid_client" },
    });
    expect((await form("revoke", { token: access }, { authorization: `Bearer ${owner.token}` })).status).toBe(200);
    await expect((async () => harness.identity.authenticate(access))()).rejects.toMatchObject({ code: "unauthorized" });
    expect(
      (await form("revoke", { token: "prt_unknown", client_id: clientId, client_secret: clientSecret })).status,
    ).toBe(200);
  });

  it("by client_credentials ends with its client, and its secret with the rotation, after the overlap", async () => {
    const request = { grant_type: "client_credentials", client_id: clientId };
    const first = await form("token", { ...request, client_secret: clientSecret });
    expect(first.status).toBe(200);
    const second = (
      await owner.api.createApplicationClientSecret({ params: { id: clientId }, body: { overlap_seconds: 60 } })
    ).body.client_secret;
    expect((await form("token", { ...request, client_secret: clientSecret })).status).toBe(200);
    harness.clock.advanceSec(60);
    expect((await form("token", { ...request, client_secret: clientSecret })).status).toBe(401);
    expect((await form("token", { ...request, client_secret: second })).status).toBe(200);
    await owner.api.deleteApplicationClient({ params: { id: clientId } });
    expect((await form("token", { ...request, client_secret: second })).status).toBe(401);
    await expect(
      (async () => harness.identity.authenticate(String(first.body["access_token"])))(),
    ).rejects.toMatchObject({ code: "unauthorized" });
    expect(JSON.stringify(harness.store.range([]))).not.toContain(second);
  });
});

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
      owner.api.updateApplicationClient({ params: { id: clientId }, body: { redirect_uris: [uri] } }),
    ).rejects.toMatchObject({ status: 422 });
  });

  it.each(["com.example.app:/cb", "http://127.0.0.1/cb", "http://[::1]:1234/cb", "https://app.example.com/cb?x=1"])(
    "takes the redirect address %j",
    async (uri) => {
      expect(
        (await owner.api.updateApplicationClient({ params: { id: clientId }, body: { redirect_uris: [uri] } })).status,
      ).toBe(204);
    },
  );

  it("takes public keys of sound strength only", async () => {
    const { publicKey, privateKey } = await promisify(generateKeyPairCallback)("rsa", { modulusLength: 1024 });
    const put = async (key: object) =>
      owner.api.updateApplicationClient({
        params: { id: clientId },
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
});
