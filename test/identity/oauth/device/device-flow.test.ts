/** The device flow, as a command line, its user and a guesser meet it. SOURCE: RFC 8628. */
import * as oidc from "openid-client";
import { beforeEach, describe, expect, it } from "vitest";
import { PASSWORD, openHarness } from "../../support.js";
import { ALLOW_HTTP, EMAIL, postForm, setUpOAuth } from "../support.js";

const GRANT = "urn:ietf:params:oauth:grant-type:device_code";
const setup = setUpOAuth();
let config: oidc.Configuration;

beforeEach(async () => {
  await setup.owner.api.updateApplicationClient({
    params: { id: setup.clientId },
    body: { public: true, device_flow: true },
  });
  config = await oidc.discovery(new URL(setup.harness.url), setup.clientId, undefined, oidc.None(), {
    execute: [ALLOW_HTTP],
  });
});

type Codes = oidc.DeviceAuthorizationResponse;

async function begin(scope = "openid offline_access read"): Promise<Codes> {
  return oidc.initiateDeviceAuthorization(config, { scope });
}

/** The code in OAuth's error, or the tokens. */
async function ask(codes: Codes, changes: Readonly<Record<string, string>> = {}) {
  const { status, body } = await postForm(setup, "token", {
    grant_type: GRANT,
    client_id: setup.clientId,
    device_code: codes.device_code,
    ...changes,
  });
  return { status, error: body["error"], body };
}

async function open(userCode: string): Promise<Response> {
  return fetch(`${setup.harness.url}/device?user_code=${encodeURIComponent(userCode)}`);
}

async function decide(userCode: string, changes: Readonly<Record<string, string>> = {}): Promise<Response> {
  return fetch(`${setup.harness.url}/device`, {
    method: "POST",
    body: new URLSearchParams({
      user_code: userCode,
      email: EMAIL,
      password: PASSWORD,
      decision: "allow",
      ...changes,
    }),
  });
}

describe("a device", () => {
  it("gets tokens once the user has approved it, once", async () => {
    const codes = await begin();
    expect(codes).toMatchObject({
      user_code: expect.stringMatching(/^[B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4}$/) as string,
      verification_uri: `${setup.harness.url}/device`,
      verification_uri_complete: `${setup.harness.url}/device?user_code=${codes.user_code}`,
      expires_in: 600,
      interval: 5,
    });
    expect(await ask(codes)).toMatchObject({ status: 400, error: "authorization_pending" });

    const page = await (await open(codes.user_code)).text();
    expect(page).toContain("&lt;b&gt;Engine&lt;/b&gt;");
    expect(page).toContain("openid, offline_access, read");
    expect(page).toContain(codes.user_code);
    const decided = await decide(codes.user_code.toLowerCase().replace("-", " "));
    expect([decided.status, await decided.text()]).toMatchObject([
      200,
      expect.stringContaining("The device is connected.") as string,
    ]);

    setup.harness.clock.advanceSec(5);
    // The library would wait in real time; the interval is the server's business here.
    const tokens = await oidc.pollDeviceAuthorizationGrant(config, { ...codes, interval: 0.001 });
    expect(tokens.claims()).toMatchObject({ sub: `user:${setup.owner.id}`, aud: setup.clientId });
    expect((await setup.harness.as(tokens.access_token).listUsers({})).total).toBe(1);
    expect((await oidc.refreshTokenGrant(config, tokens.refresh_token!)).access_token).toBeDefined();

    setup.harness.clock.advanceSec(60);
    expect(await ask(codes)).toMatchObject({ status: 400, error: "invalid_grant" });
    expect((await decide(codes.user_code)).status).toBe(404);
  });

  it("approved at once by many questions gets one session", async () => {
    const codes = await begin();
    await decide(codes.user_code);
    const answers = await Promise.all(Array.from({ length: 10 }, () => ask(codes)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(new Set(answers.map(({ error }) => error))).not.toContain("authorization_pending");
  });

  it("is told of a denial, of a code that has expired, and of a code that it never had", async () => {
    const codes = await begin();
    expect(await (await decide(codes.user_code, { decision: "deny", email: "", password: "" })).text()).toContain(
      "The device gets no access.",
    );
    expect(await ask(codes)).toMatchObject({ status: 400, error: "access_denied" });
    const late = await begin();
    setup.harness.clock.advanceSec(600);
    expect((await decide(late.user_code)).status).toBe(404);
    expect(await ask(late)).toMatchObject({ status: 400, error: "expired_token" });
    for (const device_code of ["pdc_nonsense", late.device_code.slice(0, -1), ""])
      expect(await ask(late, { device_code })).toMatchObject({ status: 400, error: "invalid_grant" });
    expect((await postForm(setup, "token", { grant_type: GRANT, client_id: setup.clientId })).body["error"]).toBe(
      "invalid_request",
    );
  });

  it("that asks too often is slowed down, by five seconds more each time", async () => {
    const codes = await begin();
    const { clock } = setup.harness;
    expect((await ask(codes)).error).toBe("authorization_pending");
    clock.advanceSec(5);
    expect((await ask(codes)).error).toBe("authorization_pending");
    clock.advanceSec(4);
    expect((await ask(codes)).error).toBe("slow_down");
    clock.advanceSec(9);
    expect((await ask(codes)).error).toBe("slow_down");
    clock.advanceSec(15);
    expect((await ask(codes)).error).toBe("authorization_pending");
  });

  it("of another client cannot use the code, and a client must be allowed to use the flow", async () => {
    const codes = await begin();
    await decide(codes.user_code);
    const other = (await setup.owner.api.createApplication({ body: {} })).body.id;
    const update = async (body: object) =>
      setup.owner.api.updateApplicationClient({ params: { id: other }, body: { public: true, ...body } });
    await update({});
    expect(await ask(codes, { client_id: other })).toMatchObject({ status: 400, error: "invalid_grant" });
    const refused = await postForm(setup, "device_authorization", { client_id: other });
    expect(refused).toMatchObject({ status: 400, body: { error: "unauthorized_client" } });
    await update({ device_flow: true });
    expect((await postForm(setup, "device_authorization", { client_id: other })).status).toBe(200);
    await update({ public: false });
    expect((await postForm(setup, "device_authorization", { client_id: other })).status).toBe(401);
    expect((await postForm(setup, "device_authorization", {})).status).toBe(401);
    const scope = { client_id: setup.clientId, scope: "nothing known" };
    expect((await postForm(setup, "device_authorization", scope)).body["error"]).toBe("invalid_scope");
    expect((await ask(codes)).status).toBe(200);
  });

  it("loses its code, approved or not, when its client may not use the flow any more", async () => {
    const waiting = await begin();
    const approved = await begin();
    await decide(approved.user_code);
    const allow = async (device_flow: boolean) =>
      setup.owner.api.updateApplicationClient({ params: { id: setup.clientId }, body: { device_flow } });
    await allow(false);
    for (const codes of [waiting, approved])
      expect(await ask(codes)).toMatchObject({ status: 400, error: "unauthorized_client" });
    expect([(await open(waiting.user_code)).status, (await decide(waiting.user_code)).status]).toEqual([404, 404]);
    await allow(true);
    expect((await ask(approved)).status).toBe(200);
    await setup.owner.api.deleteApplicationClient({ params: { id: setup.clientId } });
    expect((await open(waiting.user_code)).status).toBe(404);
  });

  it("loses its approval when the user's tokens are revoked", async () => {
    const codes = await begin();
    await decide(codes.user_code);
    await setup.harness.identity.services.tokens.revokeAllOf({ kind: "user", id: setup.owner.id });
    expect((await ask(codes)).error).toBe("invalid_grant");
  });
});

describe("the page of a device", () => {
  it("asks for a code, keeps other sites out, and takes no wrong one", async () => {
    const asking = await fetch(`${setup.harness.url}/device`);
    expect([asking.status, asking.headers.get("x-frame-options"), asking.headers.get("set-cookie")]).toEqual([
      200,
      "DENY",
      null,
    ]);
    expect(asking.headers.get("content-security-policy")).toMatch(/form-action 'self'; .*frame-ancestors 'none'$/);
    expect(await asking.text()).toContain('name="user_code"');
    for (const code of ["BCDF-GHJK", "nonsense", "AEIO-UAEI", '"><script>'])
      expect([(await open(code)).status, (await decide(code)).status], code).toEqual([404, 404]);
  });

  it("is shown again after a wrong password, which counts as for any other login", async () => {
    const codes = await begin();
    for (let i = 0; i < 5; i++) expect((await decide(codes.user_code, { password: "wrong guess" })).status).toBe(401);
    expect((await decide(codes.user_code)).status).toBe(429);
    expect((await ask(codes)).error).toBe("authorization_pending");
  });
});

describe("the codes of devices", () => {
  const ADDRESS = "192.0.2.7";

  it("ask a user who must confirm the address first to do so, and keep waiting", async () => {
    let harness = await openHarness();
    const { users, applications, clients, login } = harness.identity.services;
    const email = "grace@example.com";
    await users.create({ email, first_name: "Grace", last_name: "Hopper", password: PASSWORD }, ADDRESS);
    const { token } = await login.logIn({ email, password: PASSWORD }, ADDRESS);
    const principal = await harness.identity.authenticate(token.access_token);
    const { id } = await applications.create(principal, { name: "cli" });
    await clients.update(principal, id, { public: true, device_flow: true });

    harness = await harness.restart({ emailConfirmation: "require" });
    const { deviceAuthorization: devices, emailConfirmation, outbox } = harness.identity.services;
    const codes = await devices.begin({ client_id: id }, "read", { address: ADDRESS });
    const typed = { user_code: codes.user_code, email, password: PASSWORD };
    const refused = await devices.submit(typed, ADDRESS);
    expect([refused.outcome, refused.page.html.toString()]).toEqual([
      "login_failed",
      expect.stringContaining("The e-mail address is not confirmed yet.") as string,
    ]);
    const wrong = await devices.submit({ ...typed, password: "a wrong guess" }, ADDRESS);
    expect(wrong.page.html.toString()).not.toContain("confirmed");
    await emailConfirmation.request(email, undefined, ADDRESS);
    await outbox.idle();
    await emailConfirmation.confirm(/^ {2}(p[a-z]{2}_\S+)$/m.exec(harness.mails.at(-1)?.text ?? "")?.[1] ?? "");
    expect((await devices.submit(typed, ADDRESS)).outcome).toBe("shown");
  });

  it("survive a restart, are stored as hashes, and give way to no guesser", async () => {
    let harness = await openHarness({ signupsPerHourMax: 10 });
    const { users, applications, clients } = harness.identity.services;
    const email = "grace@example.com";
    await users.create({ email, first_name: "Grace", last_name: "Hopper", password: PASSWORD }, ADDRESS);
    const { token } = await harness.identity.services.login.logIn({ email, password: PASSWORD }, ADDRESS);
    const principal = await harness.identity.authenticate(token.access_token);
    const { id } = await applications.create(principal, { name: "cli" });
    await clients.update(principal, id, { public: true, device_flow: true });
    const devices = () => harness.identity.services.deviceAuthorization;
    const codes = await devices().begin({ client_id: id }, "read", { address: ADDRESS });
    const stored = JSON.stringify(harness.store.range([]));
    expect(stored).not.toContain(codes.device_code.slice(4, 40));
    expect(stored).not.toContain(codes.user_code);

    const begun = await Promise.allSettled(
      Array.from({ length: 62 }, () => devices().begin({ client_id: id }, "read", { address: "192.0.2.9" })),
    );
    expect(begun.filter(({ status }) => status === "fulfilled")).toHaveLength(60);

    harness = await harness.restart();
    const guess = async (address: string) => devices().show("BCDF-GHJK", address);
    const guesses = await Promise.allSettled(Array.from({ length: 60 }, () => guess(ADDRESS)));
    expect(guesses.filter(({ status }) => status === "fulfilled")).toHaveLength(40);
    await expect(devices().show(codes.user_code, ADDRESS)).rejects.toMatchObject({ code: "too_many_requests" });
    const typed = { user_code: codes.user_code, email, password: PASSWORD };
    expect((await devices().submit(typed, "192.0.2.8")).outcome).toBe("shown");

    harness = await harness.restart();
    await expect(guess(ADDRESS)).rejects.toMatchObject({ code: "too_many_requests" });
    const grant = { grant_type: GRANT, client_id: id, device_code: codes.device_code };
    const tokens = await harness.identity.services.tokenGrants.create(grant, {
      bearer: undefined,
      authorization: undefined,
    });
    expect(tokens).toMatchObject({ scope: "read", permissions: 2 });
  });
});
