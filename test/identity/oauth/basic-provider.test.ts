/**
 * The points that the OpenID Foundation checks of a basic provider, with a standard client (npm openid-client) and by
 * hand. SOURCE: OpenID Connect Core sections 2, 3.1 and 5, Discovery section 3; the test plan "Basic OP".
 */
import { createHash } from "node:crypto";
import { decodeJwt, decodeProtectedHeader } from "jose";
import * as oidc from "openid-client";
import { describe, expect, it } from "vitest";
import { PASSWORD } from "../support.js";
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

async function tokensFor(scope: string, parameters: Readonly<Record<string, string>> = {}) {
  const config = await discover(setup);
  const request = await pendingAuthorization(config, scope);
  for (const [name, value] of Object.entries(parameters)) request.url.searchParams.set(name, value);
  const tokens = await oidc.authorizationCodeGrant(config, (await codeFor(request)).location, {
    pkceCodeVerifier: request.verifier,
    expectedState: request.state,
    expectedNonce: request.nonce,
  });
  return { config, tokens, request };
}

/** Where a request leads, with the token of a login as bearer: "page", or the error or "code" at the client. */
async function outcomeOf(request: PendingAuthorization, bearer?: string): Promise<string> {
  const answer = await fetch(request.url, {
    redirect: "manual",
    headers: bearer === undefined ? {} : { authorization: `Bearer ${bearer}` },
  });
  if (answer.status === 200) return "page";
  const { searchParams } = new URL(answer.headers.get("location")!);
  expect([searchParams.get("state"), searchParams.get("iss")]).toEqual([request.state, setup.harness.url]);
  return searchParams.get("error") ?? (searchParams.has("code") ? "code" : "nothing");
}

async function requestWith(parameters: Readonly<Record<string, string>>): Promise<PendingAuthorization> {
  const request = await pendingAuthorization(await discover(setup), "openid read");
  for (const [name, value] of Object.entries(parameters)) request.url.searchParams.set(name, value);
  return request;
}

describe("discovery and keys", () => {
  it("name what the provider can do, RS256 first, at addresses of the issuer", async () => {
    const metadata = (await discover(setup)).serverMetadata();
    expect(metadata).toMatchObject({
      issuer: setup.harness.url,
      response_types_supported: ["code"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: ["RS256", "EdDSA"],
      claims_parameter_supported: false,
      request_parameter_supported: false,
      request_uri_parameter_supported: false,
    });
    for (const [name, value] of Object.entries(metadata))
      if (/_(endpoint|uri)$/.test(name)) expect(value, name).toMatch(new RegExp(`^${setup.harness.url}/`));
    const { keys } = (await (await fetch(metadata.jwks_uri!)).json()) as { keys: Record<string, string>[] };
    expect(new Set(keys.map(({ kid }) => kid)).size).toBe(keys.length);
    for (const key of keys) {
      expect(key["use"]).toBe("sig");
      expect(key).not.toHaveProperty("d");
    }
    expect(new Set(keys.map(({ kty, alg }) => `${kty!} ${alg!}`))).toEqual(new Set(["OKP EdDSA", "RSA RS256"]));
  });
});

describe("an id token", () => {
  it("has its claims, is signed with a published RS256 key, and is bound to its access token", async () => {
    const { tokens, request } = await tokensFor("openid");
    const idToken = tokens.id_token!;
    const claims = decodeJwt(idToken);
    expect(decodeProtectedHeader(idToken)).toMatchObject({ alg: "RS256", typ: "JWT" });
    const half = createHash("sha256").update(tokens.access_token).digest().subarray(0, 16).toString("base64url");
    expect(claims).toMatchObject({ nonce: request.nonce, at_hash: half, sub: `user:${setup.owner.id}` });
    expect(Object.keys(claims).sort()).toEqual(
      ["at_hash", "aud", "auth_time", "exp", "iat", "iss", "nonce", "sid", "sub"].sort(),
    );
    // It opens nothing itself, and neither does an access token pass for it.
    expect(await setup.harness.isAlive(idToken)).toBe(false);
  });

  it("is signed with the algorithm of the access tokens for a client that registered it", async () => {
    await setup.owner.api.updateApplicationClient({
      params: { id: setup.clientId },
      body: { id_token_signed_response_alg: "EdDSA" },
    });
    const { tokens } = await tokensFor("openid");
    expect(decodeProtectedHeader(tokens.id_token!)).toMatchObject({ alg: "EdDSA", typ: "JWT" });
    const half = createHash("sha512").update(tokens.access_token).digest().subarray(0, 32).toString("base64url");
    expect(decodeJwt(tokens.id_token!)["at_hash"]).toBe(half);
  });

  it("has no nonce that the client did not send", async () => {
    const request = await requestWith({});
    request.url.searchParams.delete("nonce");
    const { body } = await postForm(setup, "token", {
      grant_type: "authorization_code",
      code: (await codeFor(request)).code,
      code_verifier: request.verifier,
      redirect_uri: REDIRECT,
      client_id: setup.clientId,
      client_secret: setup.clientSecret,
    });
    expect(decodeJwt(String(body["id_token"]))).not.toHaveProperty("nonce");
  });
});

describe("userinfo", () => {
  it("answers the claims of the scope, by GET and POST", async () => {
    const sub = `user:${setup.owner.id}`;
    const name = { name: "Ada Lovelace", given_name: "Ada", family_name: "Lovelace" };
    const email = { email: EMAIL, email_verified: false };
    const rows: [string, object][] = [
      ["openid", { sub }],
      ["openid profile", { sub, ...name }],
      ["openid email", { sub, ...email }],
      ["openid profile email", { sub, ...name, ...email }],
    ];
    for (const [scope, claims] of rows) {
      const { tokens } = await tokensFor(scope);
      for (const method of ["GET", "POST"]) {
        const answer = await fetch(`${setup.harness.url}/api/v1/oauth/userinfo`, {
          method,
          headers: { authorization: `Bearer ${tokens.access_token}` },
        });
        expect([answer.status, await answer.json()], `${method} ${scope}`).toEqual([200, claims]);
      }
    }
  });

  it("names the error of a token in the challenge", async () => {
    const asked = async (headers: Readonly<Record<string, string>>) => {
      const answer = await fetch(`${setup.harness.url}/api/v1/oauth/userinfo`, { headers });
      return [answer.status, answer.headers.get("www-authenticate")];
    };
    const { tokens } = await tokensFor("openid read");
    const withoutOpenId = (
      await postForm(setup, "token", {
        grant_type: "authorization_code",
        ...(await (async () => {
          const request = await pendingAuthorization(await discover(setup), "read");
          return { code: (await codeFor(request)).code, code_verifier: request.verifier };
        })()),
        redirect_uri: REDIRECT,
        client_id: setup.clientId,
        client_secret: setup.clientSecret,
      })
    ).body["access_token"];
    expect(await asked({})).toEqual([401, "Bearer"]);
    expect(await asked({ authorization: `Bearer ${tokens.id_token!}` })).toEqual([401, 'Bearer error="invalid_token"']);
    expect(await asked({ authorization: `Bearer ${String(withoutOpenId)}` })).toEqual([
      403,
      'Bearer error="insufficient_scope"',
    ]);
  });
});

describe("prompt, max_age and id_token_hint", () => {
  it("with prompt=none get a login, a consent or an error, never a page", async () => {
    const silent = async (parameters: Readonly<Record<string, string>> = {}) =>
      requestWith({ prompt: "none", ...parameters });
    expect(await outcomeOf(await silent())).toBe("login_required");
    expect(await outcomeOf(await silent(), setup.owner.token)).toBe("consent_required");
    const { tokens } = await tokensFor("openid read");
    expect(await outcomeOf(await silent(), setup.owner.token)).toBe("code");
    expect(await outcomeOf(await silent({ scope: "openid read create" }), setup.owner.token)).toBe("consent_required");
    const hint = { id_token_hint: tokens.id_token! };
    expect(await outcomeOf(await silent(hint), setup.owner.token)).toBe("code");
    const eve = await setup.harness.newUser("eve@example.com");
    expect(await outcomeOf(await silent(hint), eve.token)).toBe("login_required");
    setup.harness.clock.advanceSec(61);
    const old = await requestWith({});
    // `discover` sets the clock to the time of day; it stands a minute later here.
    setup.harness.clock.advanceSec(61);
    old.url.searchParams.set("prompt", "none");
    old.url.searchParams.set("max_age", "60");
    expect(await outcomeOf(old, setup.owner.token)).toBe("login_required");
    old.url.searchParams.set("max_age", "3600");
    expect(await outcomeOf(old, setup.owner.token)).toBe("code");
  });

  it("show the login page although there is a login, where they ask for another one", async () => {
    const rows: [Readonly<Record<string, string>>, string][] = [
      [{}, "code"],
      [{ prompt: "login" }, "page"],
      [{ prompt: "consent" }, "page"],
      [{ prompt: "select_account" }, "page"],
      [{ prompt: "login consent" }, "page"],
      [{ prompt: "unknown" }, "code"],
      [{ max_age: "0" }, "page"],
      [{ max_age: "1000" }, "code"],
      [{ prompt: "none consent" }, "invalid_request"],
    ];
    for (const [parameters, outcome] of rows)
      expect(await outcomeOf(await requestWith(parameters), setup.owner.token), JSON.stringify(parameters)).toBe(
        outcome,
      );
  });

  it("date the login in auth_time, anew after another login", async () => {
    const first = await tokensFor("openid", { max_age: "10000" });
    const { auth_time: firstSec } = decodeJwt(first.tokens.id_token!);
    expect(firstSec).toBe(Math.floor(setup.harness.clock.ms / 1000));
    const request = await requestWith({ prompt: "login" });
    setup.harness.clock.advanceSec(2);
    const { code } = await codeFor(request);
    const { body } = await postForm(setup, "token", {
      grant_type: "authorization_code",
      code,
      code_verifier: request.verifier,
      redirect_uri: REDIRECT,
      client_id: setup.clientId,
      client_secret: setup.clientSecret,
    });
    expect(decodeJwt(String(body["id_token"]))["auth_time"]).toBeGreaterThanOrEqual(Number(firstSec) + 2);
  });

  it("refuse another user's login on the page", async () => {
    const { tokens } = await tokensFor("openid");
    await setup.harness.newUser("eve@example.com");
    const { url } = await requestWith({ id_token_hint: tokens.id_token! });
    const wrong = await submitForm(url, { email: "eve@example.com", password: PASSWORD });
    expect([wrong.status, await wrong.text()]).toMatchObject([401, expect.stringContaining("account") as string]);
    expect((await submitForm(url, { email: EMAIL, password: PASSWORD })).status).toBe(303);
  });
});

describe("an authorization request", () => {
  it("may be sent by GET and by POST", async () => {
    const { url } = await requestWith({});
    const byPost = await fetch(new URL("authorize", url), { method: "POST", body: url.searchParams });
    const byGet = await fetch(url);
    expect([byGet.status, byPost.status]).toEqual([200, 200]);
    expect(await byPost.text()).toBe(await byGet.text());
  });

  it("ignores what it does not know, and takes the optional parameters of the standard", async () => {
    const { tokens } = await tokensFor("openid unheard_of", {
      extra: "foobar",
      display: "page",
      ui_locales: "se",
      claims_locales: "se",
      acr_values: "1 2",
      login_hint: EMAIL,
      response_mode: "query",
      claims: '{"userinfo":{"name":{"essential":true}}}',
    });
    expect(tokens.scope).toBe("openid");
  });

  const asked = async (url: URL): Promise<Response[]> => [
    await fetch(url, { redirect: "manual" }),
    await fetch(new URL("authorize", url), { method: "POST", redirect: "manual", body: url.searchParams }),
  ];

  it("with its client or redirect address given twice is refused without a redirect", async () => {
    for (const name of ["client_id", "redirect_uri"]) {
      const { url } = await requestWith({});
      url.searchParams.append(name, url.searchParams.get(name)!);
      for (const answer of await asked(url))
        expect([answer.status, answer.headers.get("location")], name).toEqual([422, null]);
    }
  });

  it("with another parameter given twice goes back with invalid_request, which nobody logs in for", async () => {
    for (const name of ["state", "scope", "nonce", "response_type", "code_challenge", "extra"]) {
      const { url, state } = await requestWith({ extra: "x" });
      url.searchParams.append(name, name === "state" ? "another" : url.searchParams.get(name)!);
      for (const answer of await asked(url)) {
        const { origin, pathname, searchParams } = new URL(answer.headers.get("location")!);
        expect([answer.status, `${origin}${pathname}`], name).toEqual([answer.url.includes("?") ? 302 : 303, REDIRECT]);
        expect(Object.fromEntries(searchParams), name).toEqual({
          error: "invalid_request",
          error_description: `${name === "extra" ? "a parameter" : name} is given more than once`,
          iss: setup.harness.url,
          ...(name === "state" ? {} : { state }),
        });
      }
      const typed = new URLSearchParams([...url.searchParams, ["email", EMAIL], ["password", PASSWORD]]);
      const answer = await fetch(new URL("authorize", url), { method: "POST", redirect: "manual", body: typed });
      expect(new URL(answer.headers.get("location")!).searchParams.get("error"), name).toBe("invalid_request");
    }
  });

  it.each([
    [{ response_type: "token" }, "unsupported_response_type"],
    [{ response_type: "id_token token" }, "unsupported_response_type"],
    [{ response_type: "none" }, "unsupported_response_type"],
    [{ request: "eyJhbGciOiJub25lIn0.e30." }, "request_not_supported"],
    [{ request_uri: "https://app.example.com/r" }, "request_uri_not_supported"],
  ])("with %j is refused by %s", async (parameters, error) => {
    expect(await outcomeOf(await requestWith(parameters as Readonly<Record<string, string>>))).toBe(error);
  });
});
