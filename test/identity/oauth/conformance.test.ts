/**
 * The certification profile "Basic OP": each point under the name of its test, by npm openid-client or by hand over
 * HTTP. SOURCE: OpenID Foundation conformance suite, oidcc-basic-certification-test-plan; OpenID Connect Core 1.0.
 * Every request carries PKCE, because this server demands it (OAuth 2.1). Not here: the scopes `address` and `phone` and
 * the parameter `claims`, which the metadata says are not there.
 */
import * as oidc from "openid-client";
import { decodeJwt } from "jose";
import { describe, expect, it } from "vitest";
import {
  EMAIL,
  REDIRECT,
  codeFor,
  discover,
  pendingAuthorization,
  postForm,
  setUpOAuth,
  submitForm,
  type PendingAuthorization,
} from "./support.js";

const setup = setUpOAuth();
type Parameters = Readonly<Record<string, string>>;

async function request(scope = "openid", parameters: Parameters = {}): Promise<PendingAuthorization> {
  const made = await pendingAuthorization(await discover(setup), scope);
  for (const [name, value] of Object.entries(parameters)) made.url.searchParams.set(name, value);
  return made;
}

/** Logs the user in on the page and exchanges the code as a standard client does, which checks the id token. */
async function tokensOf(made: PendingAuthorization, authentication?: oidc.ClientAuth) {
  const config = await discover(setup, authentication);
  return await oidc.authorizationCodeGrant(config, (await codeFor(made)).location, {
    pkceCodeVerifier: made.verifier,
    expectedState: made.state,
    idTokenExpected: true,
    ...(made.url.searchParams.has("nonce") ? { expectedNonce: made.nonce } : {}),
  });
}

const claimsWith = async (scope: string, parameters: Parameters = {}): Promise<oidc.IDToken> =>
  (await tokensOf(await request(scope, parameters))).claims()!;

/** Where a request leads: "page", "refused" without a redirect, or the error, or "code", at the client. */
async function outcomeOf({ url, state }: PendingAuthorization, bearer?: string): Promise<string> {
  const answer = await fetch(url, {
    redirect: "manual",
    headers: bearer === undefined ? {} : { authorization: `Bearer ${bearer}` },
  });
  const location = answer.headers.get("location");
  if (location === null) return answer.status === 200 ? "page" : "refused";
  const { searchParams } = new URL(location);
  expect(searchParams.get("state")).toBe(state);
  return searchParams.get("error") ?? (searchParams.has("code") ? "code" : "nothing");
}

async function userinfo(token: string, { method, place }: { readonly method: string; readonly place: string }) {
  const inForm = place === "body";
  const answer = await fetch(`${setup.harness.url}/api/v1/oauth/userinfo`, {
    method,
    headers: inForm ? {} : { authorization: `Bearer ${token}` },
    ...(inForm ? { body: new URLSearchParams({ access_token: token }) } : {}),
  });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}

const exchange = async (code: string, verifier: string, more: Parameters = {}) =>
  await postForm(setup, "token", {
    grant_type: "authorization_code",
    code,
    code_verifier: verifier,
    redirect_uri: REDIRECT,
    client_id: setup.clientId,
    client_secret: setup.clientSecret,
    ...more,
  });

describe("oidcc-basic-certification-test-plan: the flow", () => {
  it("oidcc-server", async () => {
    const claims = await claimsWith("openid");
    expect(claims).toMatchObject({ iss: setup.harness.url, aud: setup.clientId, sub: `user:${setup.owner.id}` });
    expect(claims.exp - claims.iat).toBeGreaterThan(0);
  });

  it("oidcc-server-client-secret-post", async () => {
    const made = await request();
    expect((await tokensOf(made, oidc.ClientSecretPost(setup.clientSecret))).token_type).toBe("bearer");
  });

  it("oidcc-response-type-missing", async () => {
    const made = await request();
    made.url.searchParams.delete("response_type");
    expect(await outcomeOf(made)).toBe("invalid_request");
  });

  it("oidcc-ensure-request-without-nonce-succeeds-for-code-flow", async () => {
    const made = await request();
    made.url.searchParams.delete("nonce");
    expect((await tokensOf(made)).claims()).not.toHaveProperty("nonce");
  });

  it("oidcc-ensure-registered-redirect-uri", async () => {
    for (const address of [`${REDIRECT}/other`, `${REDIRECT}?foo=bar`, "https://evil.example.com/callback"])
      expect(await outcomeOf(await request("openid", { redirect_uri: address })), address).toBe("refused");
  });

  it("oidcc-ensure-post-request-succeeds", async () => {
    const { url } = await request();
    const answer = await fetch(new URL("authorize", url), { method: "POST", body: url.searchParams });
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/html; charset=UTF-8"]);
  });

  it("oidcc-ensure-request-with-valid-pkce-succeeds", async () => {
    const made = await request();
    const { code } = await codeFor(made);
    expect((await exchange(code, "a".repeat(43))).body).toMatchObject({ error: "invalid_grant" });
    const again = await request();
    expect((await exchange((await codeFor(again)).code, again.verifier)).status).toBe(200);
  });

  it("oidcc-codereuse", async () => {
    const made = await request();
    const { code } = await codeFor(made);
    expect((await exchange(code, made.verifier)).status).toBe(200);
    expect(await exchange(code, made.verifier)).toMatchObject({ status: 400, body: { error: "invalid_grant" } });
  });

  it("oidcc-codereuse-30seconds", async () => {
    const made = await request();
    const { code } = await codeFor(made);
    const { body } = await exchange(code, made.verifier);
    setup.harness.clock.advanceSec(30);
    expect(await exchange(code, made.verifier)).toMatchObject({ status: 400, body: { error: "invalid_grant" } });
    expect((await userinfo(String(body["access_token"]), { method: "GET", place: "header" })).status).toBe(401);
  });

  it("oidcc-refresh-token", async () => {
    const tokens = await tokensOf(await request("openid offline_access"));
    const config = await discover(setup);
    const refreshed = await oidc.refreshTokenGrant(config, tokens.refresh_token!);
    expect(refreshed.access_token).not.toBe(tokens.access_token);
    const [first, second] = [tokens.claims()!, refreshed.claims()];
    if (second !== undefined) {
      for (const name of ["iss", "sub", "aud", "auth_time"]) expect(second[name], name).toEqual(first[name]);
      expect(second).not.toHaveProperty("nonce");
    }
    // A refresh token of one client is no other's.
    const other = await setup.owner.api.createApplication({ body: { name: "Other" } });
    const { body } = await setup.owner.api.createApplicationClientSecret({ params: { id: other.body.id } });
    const stolen = {
      grant_type: "refresh_token",
      refresh_token: refreshed.refresh_token!,
      client_id: other.body.id,
      client_secret: body.client_secret,
    };
    expect((await postForm(setup, "token", stolen)).body).toMatchObject({ error: "invalid_grant" });
  });
});

describe("oidcc-basic-certification-test-plan: userinfo and scopes", () => {
  it.each([
    ["oidcc-userinfo-get", { method: "GET", place: "header" }],
    ["oidcc-userinfo-post-header", { method: "POST", place: "header" }],
    ["oidcc-userinfo-post-body", { method: "POST", place: "body" }],
  ])("%s", async (_name, how) => {
    const tokens = await tokensOf(await request());
    const { sub } = tokens.claims()!;
    expect(await userinfo(tokens.access_token, how)).toEqual({ status: 200, body: { sub } });
    const forged = await userinfo(`${tokens.access_token.slice(0, -4)}AAAA`, how);
    expect(forged.status).toBe(401);
  });

  const PROFILE = ["name", "given_name", "family_name"];
  const MAIL = ["email", "email_verified"];
  it.each([
    ["oidcc-scope-profile", "openid profile", PROFILE],
    ["oidcc-scope-email", "openid email", MAIL],
    ["oidcc-scope-all", "openid profile email", [...PROFILE, ...MAIL]],
    ["oidcc-ensure-other-scope-order-succeeds", "email openid", MAIL],
  ])("%s", async (_name, scope, claims) => {
    const tokens = await tokensOf(await request(scope));
    const { body } = await userinfo(tokens.access_token, { method: "GET", place: "header" });
    expect(Object.keys(body).sort()).toEqual(["sub", ...claims].sort());
    expect(body["sub"]).toBe(tokens.claims()!.sub);
    const { claims_supported: told } = (await discover(setup)).serverMetadata();
    expect(told).toEqual(expect.arrayContaining(Object.keys(body)));
  });

  it("oidcc-claims-essential: the metadata says no, and the parameter changes nothing", async () => {
    const claims = JSON.stringify({ userinfo: { name: { essential: true } }, id_token: { acr: { essential: true } } });
    const tokens = await tokensOf(await request("openid", { claims }));
    expect((await userinfo(tokens.access_token, { method: "GET", place: "header" })).body).not.toHaveProperty("name");
    expect((await discover(setup)).serverMetadata().claims_parameter_supported).toBe(false);
  });
});

describe("oidcc-basic-certification-test-plan: parameters of the request", () => {
  it.each([
    ["oidcc-display-page", { display: "page" }],
    ["oidcc-display-popup", { display: "popup" }],
    ["oidcc-ui-locales", { ui_locales: "se" }],
    ["oidcc-claims-locales", { claims_locales: "se" }],
    ["oidcc-ensure-request-with-acr-values-succeeds", { acr_values: "1 2" }],
    ["oidcc-ensure-request-with-unknown-parameter-succeeds", { extra: "foobar" }],
    ["oidcc-max-age-10000", { max_age: "10000" }],
  ])("%s", async (_name, parameters) => {
    const claims = await claimsWith("openid", parameters);
    expect(claims.auth_time).toEqual(expect.any(Number));
  });

  it("oidcc-max-age-1", async () => {
    const made = await request("openid", { max_age: "1" });
    setup.harness.clock.advanceSec(2);
    expect(await outcomeOf(made, setup.owner.token)).toBe("page");
    const claims = (await tokensOf(made)).claims()!;
    expect(Math.floor(setup.harness.clock.ms / 1000) - claims.auth_time!).toBeLessThanOrEqual(2);
  });

  it("oidcc-prompt-login", async () => {
    const first = await claimsWith("openid");
    const made = await request("openid", { prompt: "login" });
    setup.harness.clock.advanceSec(5);
    expect(await outcomeOf(made, setup.owner.token)).toBe("page");
    const again = decodeJwt((await exchange((await codeFor(made)).code, made.verifier)).body["id_token"] as string);
    expect(again["auth_time"]).toBeGreaterThan(first.auth_time!);
    expect(again.sub).toBe(first.sub);
  });

  it("oidcc-prompt-none-not-logged-in", async () => {
    expect(await outcomeOf(await request("openid", { prompt: "none" }))).toBe("login_required");
  });

  it("oidcc-prompt-none-logged-in", async () => {
    await tokensOf(await request());
    expect(await outcomeOf(await request("openid", { prompt: "none" }), setup.owner.token)).toBe("code");
  });

  it("oidcc-id-token-hint", async () => {
    const { id_token: hint } = await tokensOf(await request());
    const made = await request("openid", { prompt: "none", id_token_hint: hint! });
    expect(await outcomeOf(made, setup.owner.token)).toBe("code");
  });

  it("oidcc-login-hint", async () => {
    const { url } = await request("openid", { login_hint: "buffy@example.com" });
    expect(await (await fetch(url)).text()).toContain('value="buffy@example.com"');
    const wrong = await submitForm(url, { email: EMAIL, password: "wrong", decision: "allow" });
    expect(wrong.status).toBe(401);
  });

  it.each([
    [
      "oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported",
      { request: "eyJhbGciOiJub25lIn0.e30." },
    ],
    [
      "oidcc-ensure-request-object-with-redirect-uri",
      {
        request: `eyJhbGciOiJub25lIn0.${Buffer.from(JSON.stringify({ redirect_uri: REDIRECT })).toString("base64url")}.`,
      },
    ],
  ])("%s", async (_name, parameters) => {
    expect(await outcomeOf(await request("openid", parameters))).toBe("request_not_supported");
    expect((await discover(setup)).serverMetadata().request_parameter_supported).toBe(false);
  });
});
