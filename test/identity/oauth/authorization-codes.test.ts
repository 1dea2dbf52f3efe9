/** Authorization codes: good once, for one client, with PKCE. SOURCE: RFC 6749 section 4.1, RFC 7636. */
import { describe, expect, it } from "vitest";
import { REDIRECT, codeFor, discover, pendingAuthorization, postForm, setUpOAuth } from "./support.js";

const setup = setUpOAuth();

describe("an authorization code", () => {
  async function exchange(code: string, verifier: string, changes: Readonly<Record<string, string>> = {}) {
    return postForm(setup, "token", {
      grant_type: "authorization_code",
      code,
      code_verifier: verifier,
      redirect_uri: REDIRECT,
      client_id: setup.clientId,
      client_secret: setup.clientSecret,
      ...changes,
    });
  }

  it("is good once, and its reuse ends what came from it", async () => {
    const request = await pendingAuthorization(await discover(setup));
    const { code } = await codeFor(request);
    const first = await exchange(code, request.verifier);
    expect(first.status).toBe(200);
    expect(await setup.harness.identity.authenticate(String(first.body["access_token"]))).toBeDefined();
    expect(await exchange(code, request.verifier)).toMatchObject({ status: 400, body: { error: "invalid_grant" } });
    await expect(
      (async () => setup.harness.identity.authenticate(String(first.body["access_token"])))(),
    ).rejects.toMatchObject({ code: "unauthorized" });
  });

  it("raced by many yields one token at most, which is void then", async () => {
    const request = await pendingAuthorization(await discover(setup));
    const { code } = await codeFor(request);
    const answers = await Promise.all(Array.from({ length: 10 }, async () => exchange(code, request.verifier)));
    const good = answers.filter(({ status }) => status === 200);
    expect(good).toHaveLength(1);
    await expect(
      (async () => setup.harness.identity.authenticate(String(good[0]!.body["access_token"])))(),
    ).rejects.toMatchObject({ code: "unauthorized" });
  });

  it.each([
    ["another verifier", { code_verifier: "x".repeat(43) }],
    ["the challenge as verifier", { code_verifier: "short" }],
    ["another redirect address", { redirect_uri: "http://127.0.0.1:9999/cb" }],
    ["a code of another form", { code: "pac_nonsense" }],
  ])("is refused with %s", async (_name, changes) => {
    const request = await pendingAuthorization(await discover(setup));
    const { code } = await codeFor(request);
    expect(await exchange(code, request.verifier, changes as Readonly<Record<string, string>>)).toMatchObject({
      status: 400,
      body: { error: "invalid_grant" },
    });
  });

  it("is refused with a wrong secret, to another client, after a minute, and after the password changed", async () => {
    const config = await discover(setup);
    const request = await pendingAuthorization(config);
    const { code } = await codeFor(request);
    expect(await exchange(code, request.verifier, { client_secret: "pcs_wrong" })).toMatchObject({
      status: 401,
      body: { error: "invalid_client" },
    });
    const other = (await setup.owner.api.createApplication({ body: {} })).body.id;
    const otherSecret = (await setup.owner.api.createApplicationClientSecret({ params: { id: other } })).body
      .client_secret;
    expect(await exchange(code, request.verifier, { client_id: other, client_secret: otherSecret })).toMatchObject({
      status: 400,
      body: { error: "invalid_grant" },
    });
    setup.harness.clock.advanceSec(60);
    expect(await exchange(code, request.verifier)).toMatchObject({ body: { error: "invalid_grant" } });
    const next = await codeFor(request);
    await setup.harness.identity.services.tokens.revokeAllOf({ kind: "user", id: setup.owner.id });
    expect(await exchange(next.code, request.verifier)).toMatchObject({ body: { error: "invalid_grant" } });
  });
});
