/** Listing and revoking tokens: of the caller, and of others. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openHttpHarness, outcome, type HttpHarness, type Person } from "../http-support.js";
import { PASSWORD } from "../support.js";

let harness: HttpHarness;
let ada: Person;

beforeEach(async () => {
  harness = await openHttpHarness();
  ada = await harness.newUser("ada@example.com", "offline_access");
});

afterEach(async () => {
  await harness.server.stop({ graceMs: 0 });
});

describe("revoking", () => {
  it("one session leaves the others, all leaves none, and a stranger's does not exist", async () => {
    const { body: other } = await harness.anonymous.authenticate({
      body: { email: "ada@example.com", password: PASSWORD },
    });
    const eve = await harness.newUser("eve@example.com");
    expect(await outcome(eve.api.getToken({ params: { id: other.token.id } }))).toBe("404 not_found");
    expect(await outcome(eve.api.deleteToken({ params: { id: other.token.id } }))).toBe("404 not_found");
    expect(await outcome(eve.api.listTokens({ query: { user_id: ada.id } }))).toBe("404 not_found");
    expect((await ada.api.getToken({ params: { id: other.token.id } })).body).toMatchObject({
      kind: "session",
      subject: `user:${ada.id}`,
    });
    await ada.api.deleteToken({ params: { id: other.token.id } });
    expect([await harness.isAlive(other.token.access_token), await harness.isAlive(ada.token)]).toEqual([false, true]);
    await ada.api.deleteTokens({});
    expect([await harness.isAlive(ada.token), await harness.isAlive(eve.token)]).toEqual([false, true]);
  });

  it("the tokens of another user needs an administrator", async () => {
    const root = await harness.newAdministrator();
    expect((await root.api.listTokens({ query: { user_id: ada.id } })).total).toBe(1);
    await root.api.deleteTokens({ query: { user_id: ada.id } });
    expect([await harness.isAlive(ada.token), await harness.isAlive(root.token)]).toEqual([false, true]);
  });
});
