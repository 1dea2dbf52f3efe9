/** Personal access tokens: what they carry, and when they end. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { PERMISSIONS } from "../../../src/platform/auth/permissions.js";
import { openHttpHarness, outcome, type HttpHarness, type Person } from "../http-support.js";

let harness: HttpHarness;
let ada: Person;

beforeEach(async () => {
  harness = await openHttpHarness();
  ada = await harness.newUser("ada@example.com", "offline_access");
});

afterEach(async () => {
  await harness.server.stop({ graceMs: 0 });
});

describe("a personal access token", () => {
  it("carries a part of its owner's permissions, is returned once, and records its last use", async () => {
    const { body } = await ada.api.createPersonalToken({
      body: { name: "nightly", permissions: PERMISSIONS.read, expires_in_days: 1 },
    });
    const api = harness.as(body.access_token);
    const commits = vi.spyOn(harness.store, "commit");
    expect(await harness.identity.authenticate(body.access_token)).toMatchObject({
      subject: { kind: "user", id: ada.id },
      permissions: 2,
    });
    expect((await api.listUsers({})).total).toBe(1);
    expect(await outcome(api.createApplication({ body: {} }))).toBe("403 forbidden");
    expect(await outcome(api.createPersonalToken({ body: { name: "more" } }))).toBe("403 forbidden");
    const row = async () => (await ada.api.listTokens({})).body.find((token) => token.id === body.id);
    // The request does not wait for the write of its time.
    await Promise.all(commits.mock.results.map(({ value }) => value as Promise<void>));
    expect(await row()).toMatchObject({
      kind: "personal",
      name: "nightly",
      permissions: 2,
      last_used_at: new Date(harness.clock.ms).toISOString(),
    });
    expect(JSON.stringify(harness.store.range([]))).not.toContain(body.access_token);
    harness.clock.advanceSec(24 * 3600);
    expect(await harness.isAlive(body.access_token)).toBe(false);
  });

  it("cannot carry permissions that its maker's token lacks", async () => {
    expect(await outcome(ada.api.createPersonalToken({ body: { name: "x", permissions: PERMISSIONS.sudo } }))).toBe(
      "403 permission_escalation",
    );
    const wide = harness.as((await ada.api.createPersonalToken({ body: { name: "wide" } })).body.access_token);
    expect(await outcome(wide.createToken({ body: { scope: "offline_access" } }))).toBe("403 forbidden");
  });

  it("is void at once when revoked, and not good in another spelling", async () => {
    const { body } = await ada.api.createPersonalToken({ body: { name: "x" } });
    expect(await harness.isAlive(body.access_token)).toBe(true);
    for (const text of [
      `${body.access_token} `,
      body.access_token.toUpperCase(),
      body.access_token.slice(0, -1),
      `${body.access_token}A`,
      body.access_token.replace("ppt_", "prt_"),
    ])
      expect(await harness.isAlive(text), text.slice(0, 4)).toBe(false);
    await ada.api.deleteToken({ params: { id: body.id } });
    expect(await harness.isAlive(body.access_token)).toBe(false);
  });

  it("loses what its owner loses", async () => {
    const { body } = await ada.api.createPersonalToken({ body: { name: "x" } });
    const works = (await ada.api.createOrganization({ body: { name: "Works" } })).body.id;
    const org = harness.as((await ada.api.createToken({ body: { organization_id: works } })).body.access_token);
    const ofOrganization = (await org.createPersonalToken({ body: { name: "of the organization" } })).body.access_token;
    expect(await harness.identity.authenticate(ofOrganization)).toMatchObject({
      subject: { kind: "organization", id: works },
      actingUserId: ada.id,
    });
    expect(await outcome(harness.as(ofOrganization).createToken({ body: {} }))).toBe("403 forbidden");
    const root = await harness.newAdministrator();
    await root.api.deleteUser({ params: { id: ada.id } });
    expect([await harness.isAlive(body.access_token), await harness.isAlive(ofOrganization)]).toEqual([false, false]);
  });
});
