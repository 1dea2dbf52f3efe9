/** Tokens of OAuth clients: what they carry, and who introspects and revokes them. SOURCE: RFC 7009, RFC 7662. */
import { decodeJwt } from "jose";
import { describe, expect, it } from "vitest";
import { PASSWORD } from "../support.js";
import { EMAIL, REDIRECT, codeFor, discover, pendingAuthorization, postForm, setUpOAuth } from "./support.js";

const setup = setUpOAuth();

describe("introspection", () => {
  interface Asker {
    readonly id: string;
    readonly secret: string;
  }

  async function introspected(token: string, asker: Asker): Promise<unknown> {
    const { body } = await postForm(setup, "introspect", {
      token,
      client_id: asker.id,
      client_secret: asker.secret,
    });
    return body["active"] === false ? body : body["active"];
  }

  it("tells a client of its own tokens only, of whatever kind", async () => {
    const { harness, owner } = setup;
    const eve = await harness.newUser("eve@example.com");
    const otherId = (await eve.api.createApplication({ body: {} })).body.id;
    const other = {
      id: otherId,
      secret: (await eve.api.createApplicationClientSecret({ params: { id: otherId } })).body.client_secret,
    };
    const own = { id: setup.clientId, secret: setup.clientSecret };
    const request = await pendingAuthorization(await discover(setup), "read offline_access");
    const granted = await postForm(setup, "token", {
      grant_type: "authorization_code",
      code: (await codeFor(request)).code,
      code_verifier: request.verifier,
      redirect_uri: REDIRECT,
      client_id: setup.clientId,
      client_secret: setup.clientSecret,
    });
    const machine = await postForm(setup, "token", {
      grant_type: "client_credentials",
      client_id: setup.clientId,
      client_secret: setup.clientSecret,
    });
    const tokenOfApplication = (await owner.api.createToken({ body: { application_id: setup.clientId } })).body;
    const asApplication = harness.as(tokenOfApplication.access_token);
    const mine = [
      String(granted.body["access_token"]),
      String(granted.body["refresh_token"]),
      String(machine.body["access_token"]),
      tokenOfApplication.access_token,
      (await asApplication.createPersonalToken({ body: { name: "script" } })).body.access_token,
    ];
    const login = await harness.anonymous.authenticate({
      body: { email: EMAIL, password: PASSWORD, scope: "offline_access" },
    });
    const foreign = [
      eve.token,
      owner.token,
      login.body.token.refresh_token!,
      (await owner.api.createPersonalToken({ body: { name: "script" } })).body.access_token,
    ];
    for (const token of mine) {
      expect(await introspected(token, own)).toBe(true);
      expect(await introspected(token, other)).toEqual({ active: false });
    }
    for (const token of foreign) expect(await introspected(token, own)).toEqual({ active: false });
    expect(await introspected("nonsense", own)).toEqual({ active: false });
  });

  it("tells the bearer of a token of its subject's tokens, and of one client's where a client holds it", async () => {
    const { harness, owner } = setup;
    const eve = await harness.newUser("eve@example.com");
    const request = await pendingAuthorization(await discover(setup), "read");
    const granted = await postForm(setup, "token", {
      grant_type: "authorization_code",
      code: (await codeFor(request)).code,
      code_verifier: request.verifier,
      redirect_uri: REDIRECT,
      client_id: setup.clientId,
      client_secret: setup.clientSecret,
    });
    const held = String(granted.body["access_token"]);
    const asked = async (token: string, bearer: string) =>
      (await postForm(setup, "introspect", { token }, { authorization: `Bearer ${bearer}` })).body["active"];
    expect([await asked(held, owner.token), await asked(owner.token, owner.token)]).toEqual([true, true]);
    expect([await asked(held, eve.token), await asked(owner.token, eve.token)]).toEqual([false, false]);
    expect([await asked(held, held), await asked(owner.token, held)]).toEqual([true, false]);
    const asApplication = (await owner.api.createToken({ body: { application_id: setup.clientId } })).body.access_token;
    expect([await asked(held, asApplication), await asked(owner.token, asApplication)]).toEqual([true, false]);
  });
});

describe("a client's token", () => {
  it("carries what the user granted, and makes no other tokens", async () => {
    const request = await pendingAuthorization(await discover(setup), "read vault_use");
    const { code } = await codeFor(request);
    const { body } = await postForm(setup, "token", {
      grant_type: "authorization_code",
      code,
      code_verifier: request.verifier,
      redirect_uri: REDIRECT,
      client_id: setup.clientId,
      client_secret: setup.clientSecret,
    });
    const api = setup.harness.as(String(body["access_token"]));
    expect(decodeJwt(String(body["access_token"])).perm).toBe(2 | (1 << 16));
    expect((await api.listUsers({})).total).toBe(1);
    await expect(api.createApplication({ body: {} })).rejects.toMatchObject({ status: 403 });
    await expect(api.createToken({ body: {} })).rejects.toMatchObject({ status: 403 });
    await expect(api.createToken({ body: { application_id: setup.clientId } })).rejects.toMatchObject({ status: 403 });
    expect(body).not.toHaveProperty("id_token");
    expect(body).not.toHaveProperty("refresh_token");
  });

  it("is revoked only by its client or its user", async () => {
    const { code_verifier, code } = await (async () => {
      const request = await pendingAuthorization(await discover(setup), "read offline_access");
      return { code: (await codeFor(request)).code, code_verifier: request.verifier };
    })();
    const { body } = await postForm(setup, "token", {
      grant_type: "authorization_code",
      code,
      code_verifier,
      redirect_uri: REDIRECT,
      client_id: setup.clientId,
      client_secret: setup.clientSecret,
    });
    const access = String(body["access_token"]);
    const eve = await setup.harness.newUser("eve@example.com");
    const other = (await eve.api.createApplication({ body: {} })).body.id;
    const otherSecret = (await eve.api.createApplicationClientSecret({ params: { id: other } })).body.client_secret;
    expect(
      (await postForm(setup, "revoke", { token: access, client_id: other, client_secret: otherSecret })).status,
    ).toBe(200);
    expect((await postForm(setup, "revoke", { token: access }, { authorization: `Bearer ${eve.token}` })).status).toBe(
      200,
    );
    expect(await setup.harness.identity.authenticate(access)).toBeDefined();
    expect(await postForm(setup, "introspect", { token: access })).toMatchObject({
      status: 401,
      body: { error: "invalid_client" },
    });
    expect(
      (await postForm(setup, "revoke", { token: access }, { authorization: `Bearer ${setup.owner.token}` })).status,
    ).toBe(200);
    await expect((async () => setup.harness.identity.authenticate(access))()).rejects.toMatchObject({
      code: "unauthorized",
    });
    expect(
      (
        await postForm(setup, "revoke", {
          token: "prt_unknown",
          client_id: setup.clientId,
          client_secret: setup.clientSecret,
        })
      ).status,
    ).toBe(200);
  });

  it("from client_credentials ends with its client; a replaced secret works until the overlap ends", async () => {
    const request = { grant_type: "client_credentials", client_id: setup.clientId };
    const first = await postForm(setup, "token", { ...request, client_secret: setup.clientSecret });
    expect(first.status).toBe(200);
    const second = (
      await setup.owner.api.createApplicationClientSecret({
        params: { id: setup.clientId },
        body: { overlap_seconds: 60 },
      })
    ).body.client_secret;
    expect((await postForm(setup, "token", { ...request, client_secret: setup.clientSecret })).status).toBe(200);
    setup.harness.clock.advanceSec(60);
    expect((await postForm(setup, "token", { ...request, client_secret: setup.clientSecret })).status).toBe(401);
    expect((await postForm(setup, "token", { ...request, client_secret: second })).status).toBe(200);
    await setup.owner.api.deleteApplicationClient({ params: { id: setup.clientId } });
    expect((await postForm(setup, "token", { ...request, client_secret: second })).status).toBe(401);
    await expect(
      (async () => setup.harness.identity.authenticate(String(first.body["access_token"])))(),
    ).rejects.toMatchObject({ code: "unauthorized" });
    expect(JSON.stringify(setup.harness.store.range([]))).not.toContain(second);
  });
});
