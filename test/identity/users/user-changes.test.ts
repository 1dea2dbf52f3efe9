/** Changing and deleting accounts: what a stolen token cannot do, and what only administrators can. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  ADMINISTRATOR_PERMISSIONS,
  NEW_USER_PERMISSIONS,
  PERMISSIONS,
} from "../../../src/platform/auth/permissions.js";
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

const NEW_PASSWORD = "another long phrase";

describe("changing an account", () => {
  it("voids every token when the password changes, and only the new one is good", async () => {
    const personal = (await ada.api.createPersonalToken({ body: { name: "script" } })).body.access_token;
    expect((await ada.api.updateUser({ params: { id: ada.id }, body: { password: NEW_PASSWORD } })).status).toBe(204);
    expect([await harness.isAlive(ada.token), await harness.isAlive(personal)]).toEqual([false, false]);
    expect(
      await outcome(
        harness.anonymous.createToken({ body: { grant_type: "refresh_token", refresh_token: ada.refresh! } }),
      ),
    ).toBe("401 invalid_grant");
    expect([
      await harness.logIn("ada@example.com", PASSWORD),
      await harness.logIn("ada@example.com", NEW_PASSWORD),
    ]).toEqual(["401 invalid_credentials", "ok"]);
  });

  it("needs the present password once the login is older than five minutes, and always with a restricted token", async () => {
    const personal = harness.as((await ada.api.createPersonalToken({ body: { name: "script" } })).body.access_token);
    expect(await outcome(personal.updateUser({ params: { id: ada.id }, body: { password: NEW_PASSWORD } }))).toBe(
      "403 forbidden",
    );
    harness.clock.advanceSec(5 * 60);
    for (const body of [{ password: NEW_PASSWORD }, { email: "new@example.com" }])
      expect(await outcome(ada.api.updateUser({ params: { id: ada.id }, body }))).toBe("403 forbidden");
    expect(
      await outcome(
        ada.api.updateUser({
          params: { id: ada.id },
          body: { password: NEW_PASSWORD, current_password: "a wrong guess" },
        }),
      ),
    ).toBe("401 invalid_credentials");
    expect((await ada.api.updateUser({ params: { id: ada.id }, body: { first_name: "Augusta" } })).status).toBe(204);
    expect(
      (
        await ada.api.updateUser({
          params: { id: ada.id },
          body: { email: "new@example.com", current_password: PASSWORD },
        })
      ).status,
    ).toBe(204);
    expect([
      await harness.logIn("ada@example.com", PASSWORD),
      await harness.logIn("new@example.com", PASSWORD),
    ]).toEqual(["401 invalid_credentials", "ok"]);
  });

  it("counts guesses of the present password like any other", async () => {
    harness.clock.advanceSec(5 * 60);
    const guess = async () =>
      outcome(
        ada.api.updateUser({
          params: { id: ada.id },
          body: { password: NEW_PASSWORD, current_password: "a wrong guess" },
        }),
      );
    for (let i = 0; i < 5; i++) expect(await guess()).toBe("401 invalid_credentials");
    expect(await guess()).toBe("429 too_many_requests");
    expect(await harness.logIn("ada@example.com", PASSWORD)).toBe("429 too_many_requests");
    expect(
      await outcome(
        harness.anonymous.createToken({ body: { grant_type: "refresh_token", refresh_token: ada.refresh! } }),
      ),
    ).toBe("ok");
  });

  it.each([
    [{ password: "short" }, "422 weak_password"],
    [{ password: "password123" }, "422 weak_password"],
    [{ email: "no address" }, "422 invalid_email"],
    [{ permissions: 2 ** 29 }, "403 permission_escalation"],
    [{ privacy_policy_agreed_at: "2999-01-01T00:00:00Z" }, "422 invalid_request"],
    [{ email_verified: true }, "422 unknown_member"],
    [{ id: "x" }, "422 invalid_request"],
    [{ name: "Augusta" }, "422 invalid_request"],
    [{ name: `Augusta ${"x".repeat(101)}` }, "422 invalid_request"],
    [{ first_name: "" }, "422 invalid_request"],
  ])("refuses %j and stores nothing", async (body, code) => {
    const before = JSON.stringify(harness.store.range(["user"]));
    expect(await outcome(ada.api.updateUser({ params: { id: ada.id }, body: body as never }))).toBe(code);
    expect(JSON.stringify(harness.store.range(["user"]))).toBe(before);
  });

  it("refuses a taken address in every spelling", async () => {
    await harness.newUser("bob@example.com");
    for (const email of ["bob@example.com", " BOB@example.com"])
      expect(await outcome(ada.api.updateUser({ params: { id: ada.id }, body: { email } }))).toBe("409 email_taken");
  });

  it("stores the time of an agreement in one form of timestamps", async () => {
    await ada.api.updateUser({
      params: { id: ada.id },
      body: { terms_of_service_agreed_at: "2025-05-06T09:08:07.123456+02:00" },
    });
    expect((await ada.api.getUser({ params: { id: ada.id } })).body.terms_of_service_agreed_at).toBe(
      "2025-05-06T07:08:07.123Z",
    );
  });

  it("lets an administrator grant what it holds, and voids the tokens of the changed user", async () => {
    const root = await harness.newAdministrator();
    expect(
      (
        await root.api.updateUser({
          params: { id: ada.id },
          body: { permissions: NEW_USER_PERMISSIONS | PERMISSIONS.user_list | PERMISSIONS.user_update },
        })
      ).status,
    ).toBe(204);
    expect(await harness.isAlive(ada.token)).toBe(false);
    const { body } = await harness.anonymous.authenticate({ body: { email: "ada@example.com", password: PASSWORD } });
    const again = harness.as(body.token.access_token);
    expect((await again.listUsers({})).total).toBe(2);
    expect(
      await outcome(again.updateUser({ params: { id: ada.id }, body: { permissions: ADMINISTRATOR_PERMISSIONS } })),
    ).toBe("403 permission_escalation");
    expect(
      (
        await root.api.createUser({
          body: { email: "deputy@example.com", first_name: "D", last_name: "P", password: PASSWORD, permissions: 3 },
        })
      ).body.permissions,
    ).toBe(3);
  });

  it("does not take back permissions that a user sent as read, when an administrator changes them meanwhile", async () => {
    const root = await harness.newAdministrator();
    const principal = await harness.identity.authenticate(ada.token);
    const commit = harness.store.commit.bind(harness.store);
    const spy = vi.spyOn(harness.store, "commit").mockImplementationOnce(async (change) => {
      await root.api.updateUser({ params: { id: ada.id }, body: { permissions: PERMISSIONS.read } });
      await commit(change);
    });
    const sent = { first_name: "Augusta", permissions: NEW_USER_PERMISSIONS };
    await harness.identity.services.userChanges.update(principal, ada.id, sent, "192.0.2.1");
    spy.mockRestore();
    expect((await root.api.getUser({ params: { id: ada.id } })).body).toMatchObject({
      first_name: "Augusta",
      permissions: PERMISSIONS.read,
    });
  });

  it.each([
    ["a password", { password: NEW_PASSWORD }],
    ["a name", { first_name: "Eve" }],
    ["permissions", { permissions: PERMISSIONS.read }],
  ])("of another user needs the administrator's rights until %s is written", async (_what, change) => {
    const root = await harness.newAdministrator();
    const desk = await harness.newUser("desk@example.com");
    await root.api.updateUser({
      params: { id: desk.id },
      body: { permissions: NEW_USER_PERMISSIONS | PERMISSIONS.user_list | PERMISSIONS.user_update },
    });
    const { token } = (
      await harness.anonymous.authenticate({ body: { email: "desk@example.com", password: PASSWORD } })
    ).body;
    const principal = await harness.identity.authenticate(token.access_token);
    const commit = harness.store.commit.bind(harness.store);
    const spy = vi.spyOn(harness.store, "commit").mockImplementationOnce(async (written) => {
      await root.api.updateUser({ params: { id: desk.id }, body: { permissions: NEW_USER_PERMISSIONS } });
      await commit(written);
    });
    const { userChanges } = harness.identity.services;
    await expect(userChanges.update(principal, ada.id, change, "192.0.2.1")).rejects.toMatchObject({
      code: "unauthorized",
    });
    spy.mockRestore();
    expect((await root.api.getUser({ params: { id: ada.id } })).body).toMatchObject({
      first_name: "Ada",
      permissions: NEW_USER_PERMISSIONS,
    });
    expect(await harness.logIn("ada@example.com", PASSWORD)).toBe("ok");
  });

  it("lets no administrator take over, demote or delete a user with more permissions", async () => {
    const root = await harness.newAdministrator();
    const desk = {
      email: "desk@example.com",
      first_name: "D",
      last_name: "K",
      password: PASSWORD,
      permissions: NEW_USER_PERMISSIONS | PERMISSIONS.user_list | PERMISSIONS.user_update | PERMISSIONS.user_delete,
    };
    await root.api.createUser({ body: desk });
    const api = harness.as(
      (await harness.anonymous.authenticate({ body: { email: desk.email, password: PASSWORD } })).body.token
        .access_token,
    );
    for (const body of [
      { password: NEW_PASSWORD },
      { email: "mine@example.com" },
      { permissions: NEW_USER_PERMISSIONS },
    ]) {
      expect(await outcome(api.updateUser({ params: { id: root.id }, body }))).toBe("403 permission_escalation");
    }
    expect(await outcome(api.deleteUser({ params: { id: root.id } }))).toBe("403 permission_escalation");
    expect(await harness.isAlive(root.token)).toBe(true);
    expect(await outcome(api.updateUser({ params: { id: root.id }, body: { first_name: "Grace" } }))).toBe("ok");
    expect(await outcome(api.updateUser({ params: { id: ada.id }, body: { password: NEW_PASSWORD } }))).toBe("ok");
    expect(await outcome(api.deleteUser({ params: { id: ada.id } }))).toBe("ok");
  });

  it("deletes the account with everything that only it owns, by itself or an administrator", async () => {
    const root = await harness.newAdministrator();
    const bob = await harness.newUser("bob@example.com");
    expect(await outcome(bob.api.deleteUser({ params: { id: ada.id } }))).toBe("404 not_found");
    expect((await root.api.deleteUser({ params: { id: bob.id } })).status).toBe(204);
    await ada.api.createPersonalToken({ body: { name: "script" } });
    expect((await ada.api.deleteUser({ params: { id: ada.id } })).status).toBe(204);
    expect(await harness.isAlive(ada.token)).toBe(false);
    expect(await harness.logIn("ada@example.com", PASSWORD)).toBe("401 invalid_credentials");
    const left = JSON.stringify(harness.store.range([]));
    expect([left.includes(ada.id), left.includes(bob.id)]).toEqual([false, false]);
    await harness.newUser("ada@example.com");
  });
});
