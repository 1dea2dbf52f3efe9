/** Tokens that were made by other tokens: whoever has stolen one must not go on by what he made of it. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ApiError } from "../../../src/sdk/errors.js";
import { openHttpHarness, type HttpHarness, type IdentityApi } from "../http-support.js";
import { PASSWORD } from "../support.js";

let harness: HttpHarness;
let ada: Awaited<ReturnType<HttpHarness["newUser"]>>;

beforeEach(async () => {
  harness = await openHttpHarness();
  ada = await harness.newUser("ada@example.com", "offline_access");
});

afterEach(async () => {
  await harness.server.stop({ graceMs: 0 });
});

type Asked = Parameters<IdentityApi["createToken"]>[0]["body"];

async function made(token: string, body: Asked = {}): Promise<string> {
  return (await harness.as(token).createToken({ body })).body.access_token;
}

async function alive(token: string): Promise<boolean> {
  try {
    await harness.as(token).listTokens({});
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return false;
    throw error;
  }
}

/**
 * A fresh token, a fresh one of that, one with a refresh token, and one for each of an application and an organization.
 */
async function everythingFrom(token: string): Promise<string[]> {
  const api = harness.as(token);
  const application_id = (await api.createApplication({ body: {} })).body.id;
  const organization_id = (await api.createOrganization({ body: { name: "Works" } })).body.id;
  await api.createApplicationOrganization({ params: { id: application_id }, body: { organization_id } });
  const fresh = await made(token);
  const ofOrganization = await made(fresh, { organization_id });
  return [
    fresh,
    await made(fresh),
    await made(token, { scope: "offline_access" }),
    await made(token, { application_id }),
    ofOrganization,
    await made(ofOrganization, { application_id }),
    await made(await made(token, { application_id })),
  ];
}

async function living(tokens: readonly string[]): Promise<number> {
  return (await Promise.all(tokens.map(alive))).filter(Boolean).length;
}

describe("a token that was made by another", () => {
  it("is good, and ends with the session that it comes from, over any number of steps", async () => {
    const tokens = await everythingFrom(ada.token);
    expect(await living(tokens)).toBe(tokens.length);
    const other = (await harness.anonymous.authenticate({ body: { email: "ada@example.com", password: PASSWORD } }))
      .body.token.access_token;
    const ofOther = await made(other);
    const { sessionId } = await harness.identity.authenticate(ada.token);
    await harness.as(other).deleteToken({ params: { id: sessionId } });
    expect(await living([ada.token, ...tokens])).toBe(0);
    expect(await living([other, ofOther])).toBe(2);
  });

  it("ends when a refresh token of that session is used again", async () => {
    const tokens = await everythingFrom(ada.token);
    const next = (
      await harness.anonymous.createToken({ body: { grant_type: "refresh_token", refresh_token: ada.refresh! } })
    ).body;
    await harness.anonymous.createToken({ body: { grant_type: "refresh_token", refresh_token: next.refresh_token! } });
    expect(await living(tokens)).toBe(tokens.length);
    await harness.anonymous
      .createToken({ body: { grant_type: "refresh_token", refresh_token: ada.refresh! } })
      .catch(() => undefined);
    expect(await living(tokens)).toBe(0);
  });

  it("ends when its user voids all tokens, or sets another password", async () => {
    const tokens = await everythingFrom(ada.token);
    await ada.api.deleteTokens({});
    expect(await living(tokens)).toBe(0);
    const again = (await harness.anonymous.authenticate({ body: { email: "ada@example.com", password: PASSWORD } }))
      .body.token.access_token;
    const more = await everythingFrom(again);
    await harness.as(again).updateUser({ params: { id: ada.id }, body: { password: "another phrase of my own" } });
    expect(await living(more)).toBe(0);
  });

  it("of a personal access token ends with it, when it is revoked and when it expires", async () => {
    const personal = async () =>
      (await ada.api.createPersonalToken({ body: { name: "script", expires_in_days: 1 } })).body;
    const one = await personal();
    const ofOne = [await made(one.access_token), await made(await made(one.access_token))];
    await ada.api.deleteToken({ params: { id: one.id } });
    expect(await living(ofOne)).toBe(0);
    const two = await personal();
    harness.clock.advanceSec(24 * 3600 - 60);
    const { body } = await harness.as(two.access_token).createToken({ body: {} });
    expect(body.expires_in).toBeLessThanOrEqual(60);
    await harness.as(two.access_token).revokeToken({ body: { token: two.access_token } });
    expect(await alive(body.access_token)).toBe(false);
  });

  it("cannot be renewed beyond the thirty days of the login", async () => {
    let token = ada.token;
    for (let i = 0; i < 24; i++) token = await made(token);
    harness.clock.advanceSec(14 * 60);
    expect(await alive(token)).toBe(true);
    const records = harness.store.range<{ derived?: { until_ms: number } }>(["session", "user", ada.id]);
    const untils = new Set(records.flatMap(({ value }) => value.derived?.until_ms ?? []));
    expect(untils.size).toBe(1);
    expect([...untils][0]! - harness.clock.nowMs()).toBeLessThanOrEqual(30 * 24 * 3600 * 1000);
  });

  it("is voided by the commit that sets a password or permissions, so that none survives a crash", async () => {
    const user = { id: ada.id, email: "ada@example.com" };
    await everythingFrom(ada.token);
    await ada.api.createPersonalToken({ body: { name: "script" } });
    const commits = vi.spyOn(harness.store, "commit");
    const voiding = (): string[] =>
      commits.mock.calls
        .map(([{ puts = [], deletes = [] }]) =>
          [...puts, ...deletes.map((key) => ({ key }))].map(({ key }) => String(key[0])),
        )
        .filter((tables) => tables.includes("user_credential"))
        .map((tables) =>
          ["subject_state", "api_token", "derived_session"].filter((table) => tables.includes(table)).join(" "),
        );
    await ada.api.updateUser({ params: { id: user.id }, body: { password: "another phrase of my own" } });
    expect(voiding()).toEqual(["subject_state api_token derived_session"]);
    await harness.anonymous.requestPasswordReset({ body: { email: user.email } });
    await harness.identity.services.outbox.idle();
    const token = /ppr_\S+/.exec(harness.mails.at(-1)!.text)![0];
    commits.mockClear();
    await harness.anonymous.resetPassword({ params: { token }, body: { password: "a third phrase of my own" } });
    expect(voiding()).toEqual(["subject_state"]);
  });

  it("leaves nothing behind once it is over", async () => {
    await everythingFrom(ada.token);
    expect(harness.store.count(["derived_session"])).toBeGreaterThan(0);
    await ada.api.deleteTokens({});
    expect(harness.store.count(["derived_session"])).toBe(0);
  });
});
