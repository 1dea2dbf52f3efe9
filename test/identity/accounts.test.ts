/**
 * Changing accounts, resetting passwords, invitations, personal access tokens, revocation and the first administrator,
 * with their abuses.
 */
import { mkdtempSync, readFileSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ApiError } from "../../src/client.js";
import { ADMINISTRATOR_PERMISSIONS, NEW_USER_PERMISSIONS, PERMISSIONS } from "../../src/platform/auth/permissions.js";
import { openHttpHarness, type HttpHarness, type IdentityApi } from "./http-support.js";
import { ADDRESS, PASSWORD } from "./support.js";

interface Person {
  readonly id: string;
  readonly token: string;
  readonly refresh: string | undefined;
  readonly api: IdentityApi;
}

const NEW_PASSWORD = "another long phrase";
let harness: HttpHarness;
let ada: Person;

beforeEach(async () => {
  harness = await openHttpHarness();
  ada = await harness.newUser("ada@example.com", "offline_access");
});

afterEach(async () => {
  await harness.server.stop({ graceMs: 0 });
});

async function outcome(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return "ok";
  } catch (error) {
    if (error instanceof ApiError) return `${String(error.status)} ${error.code}`;
    throw error;
  }
}

async function alive(token: string): Promise<boolean> {
  try {
    await harness.identity.authenticate(token);
    return true;
  } catch {
    return false;
  }
}

async function logIn(email: string, password: string): Promise<string> {
  return outcome(harness.anonymous.authenticate({ body: { email, password } }));
}

/** The token in the latest mail to an address; undefined when none was sent. */
async function mailed(to: string): Promise<string | undefined> {
  await harness.identity.services.outbox.idle();
  const text = harness.mails.filter((mail) => mail.to === to).at(-1)?.text;
  return text === undefined ? undefined : /^ {2}(p[a-z]{2}_\S+)$/m.exec(text)?.[1];
}

async function administrator(): Promise<Person> {
  await harness.newUser("root@example.com");
  await harness.identity.services.bootstrap.makeAdministrator("ROOT@example.com");
  const { body } = await harness.anonymous.authenticate({ body: { email: "root@example.com", password: PASSWORD } });
  return {
    id: body.user.id,
    token: body.token.access_token,
    refresh: undefined,
    api: harness.as(body.token.access_token),
  };
}

describe("changing an account", () => {
  it("voids every token when the password changes, and only the new one is good", async () => {
    const personal = (await ada.api.createPersonalToken({ body: { name: "script" } })).body.access_token;
    expect((await ada.api.updateUser({ params: { id: ada.id }, body: { password: NEW_PASSWORD } })).status).toBe(204);
    expect([await alive(ada.token), await alive(personal)]).toEqual([false, false]);
    expect(
      await outcome(
        harness.anonymous.createToken({ body: { grant_type: "refresh_token", refresh_token: ada.refresh! } }),
      ),
    ).toBe("401 invalid_grant");
    expect([await logIn("ada@example.com", PASSWORD), await logIn("ada@example.com", NEW_PASSWORD)]).toEqual([
      "401 invalid_credentials",
      "ok",
    ]);
  });

  it("asks for the present password once the login is older than five minutes, and always of lesser tokens", async () => {
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
    expect([await logIn("ada@example.com", PASSWORD), await logIn("new@example.com", PASSWORD)]).toEqual([
      "401 invalid_credentials",
      "ok",
    ]);
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
    expect(await logIn("ada@example.com", PASSWORD)).toBe("429 too_many_requests");
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
    [{ id: "x" }, "422 unknown_member"],
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

  it("keeps when somebody agreed, in one form of timestamps", async () => {
    await ada.api.updateUser({
      params: { id: ada.id },
      body: { terms_of_service_agreed_at: "2025-05-06T09:08:07.123456+02:00" },
    });
    expect((await ada.api.getUser({ params: { id: ada.id } })).body.terms_of_service_agreed_at).toBe(
      "2025-05-06T07:08:07.123Z",
    );
  });

  it("lets an administrator grant what it holds itself, and voids the tokens of whom it changes", async () => {
    const root = await administrator();
    expect(
      (
        await root.api.updateUser({
          params: { id: ada.id },
          body: { permissions: NEW_USER_PERMISSIONS | PERMISSIONS.user_list | PERMISSIONS.user_update },
        })
      ).status,
    ).toBe(204);
    expect(await alive(ada.token)).toBe(false);
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

  it("lets no administrator take over, demote or delete one who may do more", async () => {
    const root = await administrator();
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
    expect(await alive(root.token)).toBe(true);
    expect(await outcome(api.updateUser({ params: { id: root.id }, body: { first_name: "Grace" } }))).toBe("ok");
    expect(await outcome(api.updateUser({ params: { id: ada.id }, body: { password: NEW_PASSWORD } }))).toBe("ok");
    expect(await outcome(api.deleteUser({ params: { id: ada.id } }))).toBe("ok");
  });

  it("deletes the account with everything of its own, by itself or an administrator", async () => {
    const root = await administrator();
    const bob = await harness.newUser("bob@example.com");
    expect(await outcome(bob.api.deleteUser({ params: { id: ada.id } }))).toBe("404 not_found");
    expect((await root.api.deleteUser({ params: { id: bob.id } })).status).toBe(204);
    await ada.api.createPersonalToken({ body: { name: "script" } });
    expect((await ada.api.deleteUser({ params: { id: ada.id } })).status).toBe(204);
    expect(await alive(ada.token)).toBe(false);
    expect(await logIn("ada@example.com", PASSWORD)).toBe("401 invalid_credentials");
    const left = JSON.stringify(harness.store.range([]));
    expect([left.includes(ada.id), left.includes(bob.id)]).toEqual([false, false]);
    await harness.newUser("ada@example.com");
  });
});

describe("a password reset", () => {
  it("answers the same for known and unknown addresses, and mails the known one only", async () => {
    const answers = await Promise.all(
      ["ada@example.com", "nobody@example.com", "no address"].map(async (email) =>
        harness.anonymous.requestPasswordReset({ body: { email } }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual([204, 204, 204]);
    await harness.identity.services.outbox.idle();
    expect(harness.mails.map(({ to }) => to)).toEqual(["ada@example.com"]);
  });

  it("sets the password once, voids every token, and forgets the failures that an attacker made", async () => {
    for (let i = 0; i < 6; i++) await logIn("ada@example.com", "a wrong guess");
    await harness.anonymous.requestPasswordReset({ body: { email: "ada@example.com" } });
    const token = (await mailed("ada@example.com"))!;
    expect(await outcome(harness.anonymous.resetPassword({ params: { token }, body: { password: "short" } }))).toBe(
      "422 weak_password",
    );
    expect(
      (await harness.anonymous.resetPassword({ params: { token }, body: { password: NEW_PASSWORD } })).status,
    ).toBe(204);
    expect(await alive(ada.token)).toBe(false);
    expect(await logIn("ada@example.com", NEW_PASSWORD)).toBe("ok");
    expect(await outcome(harness.anonymous.resetPassword({ params: { token }, body: { password: PASSWORD } }))).toBe(
      "422 reset_token_invalid",
    );
  });

  it("is over after an hour, after another reset, and for no made-up token", async () => {
    await harness.anonymous.requestPasswordReset({ body: { email: "ada@example.com" } });
    const first = (await mailed("ada@example.com"))!;
    await harness.anonymous.requestPasswordReset({ body: { email: "ada@example.com" } });
    const second = (await mailed("ada@example.com"))!;
    expect(second).not.toBe(first);
    expect(
      (await harness.anonymous.resetPassword({ params: { token: second }, body: { password: NEW_PASSWORD } })).status,
    ).toBe(204);
    expect(
      await outcome(harness.anonymous.resetPassword({ params: { token: first }, body: { password: PASSWORD } })),
    ).toBe("422 reset_token_invalid");
    await harness.anonymous.requestPasswordReset({ body: { email: "ada@example.com" } });
    const third = (await mailed("ada@example.com"))!;
    harness.clock.advanceSec(3600);
    expect(
      await outcome(harness.anonymous.resetPassword({ params: { token: third }, body: { password: PASSWORD } })),
    ).toBe("422 reset_token_invalid");
    expect(
      await outcome(harness.anonymous.resetPassword({ params: { token: "ppr_x" }, body: { password: PASSWORD } })),
    ).toBe("422 reset_token_invalid");
    expect(JSON.stringify(harness.store.range([]))).not.toContain(third);
  });

  it("raced by many sets one password", async () => {
    await harness.anonymous.requestPasswordReset({ body: { email: "ada@example.com" } });
    const token = (await mailed("ada@example.com"))!;
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, async (_, i) =>
        outcome(
          harness.anonymous.resetPassword({
            params: { token },
            body: { password: `phrase number ${String(i)} of eight` },
          }),
        ),
      ),
    );
    expect(outcomes.filter((code) => code === "ok")).toHaveLength(1);
    expect(new Set(outcomes)).toEqual(new Set(["ok", "422 reset_token_invalid"]));
  });
});

describe("an invitation", () => {
  let organizationId: string;
  let token: string;

  beforeEach(async () => {
    organizationId = (await ada.api.createOrganization({ body: { name: "Works" } })).body.id;
    await ada.api.createInvitation({
      body: { email: " Grace@Example.com", organization_id: organizationId, permissions: PERMISSIONS.read },
    });
    token = (await mailed("grace@example.com"))!;
  });

  const grace = { first_name: "Grace", last_name: "Hopper", password: PASSWORD };
  const signUp = async (email: string, invitation_token = token) =>
    outcome(harness.anonymous.createUser({ body: { ...grace, email, invitation_token } }));
  const members = async () =>
    (await ada.api.listOrganizationUsers({ params: { id: organizationId } })).body.map(({ email }) => email).sort();

  it("brings a new user in, once, with a proven address", async () => {
    expect(await signUp("grace@example.com")).toBe("ok");
    expect(await members()).toEqual(["ada@example.com", "grace@example.com"]);
    const { body } = await harness.anonymous.authenticate({ body: { email: "grace@example.com", password: PASSWORD } });
    expect(
      (await harness.as(body.token.access_token).getUser({ params: { id: body.user.id } })).body.metadata
        .email_verified,
    ).toBe(true);
    expect(await signUp("grace2@example.com")).toBe("422 invitation_invalid");
    expect((await ada.api.listOrganizationInvitations({ params: { id: organizationId } })).total).toBe(0);
  });

  it("is good for its own address only, and makes no user otherwise", async () => {
    expect(await signUp("mallory@example.com")).toBe("422 invitation_invalid");
    expect(await logIn("mallory@example.com", PASSWORD)).toBe("401 invalid_credentials");
    const eve = await harness.newUser("eve@example.com");
    expect(
      await outcome(
        eve.api.createOrganizationUser({ params: { id: organizationId }, body: { invitation_token: token } }),
      ),
    ).toBe("422 invitation_invalid");
    expect(
      await outcome(
        harness.anonymous.authenticate({
          body: { email: "eve@example.com", password: PASSWORD, invitation_token: token },
        }),
      ),
    ).toBe("422 invitation_invalid");
    expect(await members()).toEqual(["ada@example.com"]);
  });

  it("is accepted at login by a user who is there already", async () => {
    await harness.newUser("grace@example.com");
    expect(
      (
        await harness.anonymous.authenticate({
          body: { email: "grace@example.com", password: PASSWORD, invitation_token: token },
        })
      ).status,
    ).toBe(201);
    expect(await members()).toEqual(["ada@example.com", "grace@example.com"]);
    expect(
      await outcome(
        ada.api.createInvitation({ body: { email: "grace@example.com", organization_id: organizationId } }),
      ),
    ).toBe("409 conflict");
  });

  it("lends a new user its address and the names that its sender said, and no more", async () => {
    await ada.api.createInvitation({
      body: { email: "mary@example.com", first_name: "Mary", last_name: "Jackson", organization_id: organizationId },
    });
    const invitation_token = (await mailed("mary@example.com"))!;
    const { body: mary } = await harness.anonymous.createUser({ body: { password: PASSWORD, invitation_token } });
    expect(mary).toMatchObject({ email: "mary@example.com", name: "Mary Jackson" });
    expect(await outcome(harness.anonymous.createUser({ body: { password: PASSWORD, invitation_token: token } }))).toBe(
      "422 invalid_request",
    );
    const { body } = await harness.anonymous.createUser({
      body: { password: PASSWORD, invitation_token: token, first_name: "Grace", last_name: "Hopper" },
    });
    expect(body.email).toBe("grace@example.com");
    const refused = await fetch(`${harness.url}/api/v1/users`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ password: PASSWORD }),
    });
    expect(((await refused.json()) as { errors: { path: string }[] }).errors.map(({ path }) => path)).toEqual([
      "email",
      "first_name",
      "last_name",
    ]);
  });

  it("accepted many times at once is accepted once, and the others are told that it is used", async () => {
    const grace = await harness.newUser("grace@example.com");
    const join = async () =>
      outcome(grace.api.createOrganizationUser({ params: { id: organizationId }, body: { invitation_token: token } }));
    expect((await Promise.all(Array.from({ length: 6 }, join))).sort()).toEqual([
      ...Array<string>(5).fill("422 invitation_invalid"),
      "ok",
    ]);
  });

  it("names an application beside the organization only where the one is the other's", async () => {
    const application_id = (await ada.api.createApplication({ body: {} })).body.id;
    const invite = async () =>
      outcome(
        ada.api.createInvitation({
          body: { email: "new@example.com", organization_id: organizationId, application_id },
        }),
      );
    expect(await invite()).toBe("404 not_found");
    await ada.api.createApplicationOrganization({
      params: { id: application_id },
      body: { organization_id: organizationId },
    });
    expect(await invite()).toBe("ok");
  });

  it("is void after a day, once taken back, once another is sent, and once its sender may not grant any more", async () => {
    await ada.api.createInvitation({ body: { email: "grace@example.com", organization_id: organizationId } });
    expect(await signUp("grace@example.com")).toBe("422 invitation_invalid");
    const second = (await mailed("grace@example.com"))!;
    const {
      body: [listed],
    } = await ada.api.listOrganizationInvitations({ params: { id: organizationId } });
    const eve = await harness.newUser("eve@example.com");
    expect(await outcome(eve.api.deleteInvitation({ params: { id: listed!.id } }))).toBe("404 not_found");
    expect((await ada.api.deleteInvitation({ params: { id: listed!.id } })).status).toBe(204);
    expect(await signUp("grace@example.com", second)).toBe("422 invitation_invalid");
    await ada.api.createInvitation({ body: { email: "grace@example.com", organization_id: organizationId } });
    const third = (await mailed("grace@example.com"))!;
    harness.clock.advanceSec(24 * 3600);
    expect(await signUp("grace@example.com", third)).toBe("422 invitation_invalid");
  });

  it("answers the same whether the address has an account, and refuses what the sender does not hold", async () => {
    await harness.newUser("bob@example.com");
    const create = async (email: string, permissions?: number) =>
      outcome(
        ada.api.createInvitation({
          body: { email, organization_id: organizationId, ...(permissions === undefined ? {} : { permissions }) },
        }),
      );
    expect([await create("bob@example.com"), await create("unknown@example.com")]).toEqual(["ok", "ok"]);
    expect(await create("x@example.com", PERMISSIONS.sudo)).toBe("403 permission_escalation");
    expect(await create("no address")).toBe("422 invalid_email");
    expect(await outcome(ada.api.createInvitation({ body: { email: "x@example.com", permissions: 2 } }))).toBe(
      "403 permission_escalation",
    );
  });

  it("can ask for an organization that is associated with the inviting application", async () => {
    const application = (await ada.api.createApplication({ body: { name: "Engine" } })).body.id;
    await ada.api.createInvitation({
      body: { email: "bob@example.com", application_id: application, params: { is_organization_invite: true } },
    });
    const invitation = (await mailed("bob@example.com"))!;
    const bob = await harness.newUser("bob@example.com");
    expect(
      await outcome(ada.api.createOrganization({ body: { name: "Not Bob's", invitation_token: invitation } })),
    ).toBe("422 invitation_invalid");
    const { body } = await bob.api.createOrganization({ body: { name: "Bob's", invitation_token: invitation } });
    expect(
      (await ada.api.listApplicationOrganizations({ params: { id: application } })).body.map(({ id }) => id),
    ).toEqual([body.id]);
    expect(await outcome(bob.api.createOrganization({ body: { name: "Again", invitation_token: invitation } }))).toBe(
      "422 invitation_invalid",
    );
  });
});

describe("a personal access token", () => {
  it("carries a part of its owner's permissions, is shown once, and tells when it was last used", async () => {
    const { body } = await ada.api.createPersonalToken({
      body: { name: "nightly", permissions: PERMISSIONS.read, expires_in_days: 1 },
    });
    const api = harness.as(body.access_token);
    expect(await harness.identity.authenticate(body.access_token)).toMatchObject({
      subject: { kind: "user", id: ada.id },
      permissions: 2,
    });
    expect((await api.listUsers({})).total).toBe(1);
    expect(await outcome(api.createApplication({ body: {} }))).toBe("403 forbidden");
    expect(await outcome(api.createPersonalToken({ body: { name: "more" } }))).toBe("403 forbidden");
    const row = async () => (await ada.api.listTokens({})).body.find((token) => token.id === body.id);
    // Written beside the request, which does not wait for it.
    await expect.poll(row).toMatchObject({
      kind: "personal",
      name: "nightly",
      permissions: 2,
      last_used_at: new Date(harness.clock.ms).toISOString(),
    });
    expect(JSON.stringify(harness.store.range([]))).not.toContain(body.access_token);
    harness.clock.advanceSec(24 * 3600);
    expect(await alive(body.access_token)).toBe(false);
  });

  it("cannot hold what its maker does not", async () => {
    expect(await outcome(ada.api.createPersonalToken({ body: { name: "x", permissions: PERMISSIONS.sudo } }))).toBe(
      "403 permission_escalation",
    );
    const wide = harness.as((await ada.api.createPersonalToken({ body: { name: "wide" } })).body.access_token);
    expect(await outcome(wide.createToken({ body: { scope: "offline_access" } }))).toBe("403 forbidden");
  });

  it("is void at once when revoked, and in no second spelling good", async () => {
    const { body } = await ada.api.createPersonalToken({ body: { name: "x" } });
    expect(await alive(body.access_token)).toBe(true);
    for (const text of [
      `${body.access_token} `,
      body.access_token.toUpperCase(),
      body.access_token.slice(0, -1),
      `${body.access_token}A`,
      body.access_token.replace("ppt_", "prt_"),
    ])
      expect(await alive(text), text.slice(0, 4)).toBe(false);
    await ada.api.deleteToken({ params: { id: body.id } });
    expect(await alive(body.access_token)).toBe(false);
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
    const root = await administrator();
    await root.api.deleteUser({ params: { id: ada.id } });
    expect([await alive(body.access_token), await alive(ofOrganization)]).toEqual([false, false]);
  });
});

describe("revoking", () => {
  it("one session leaves the others, all leaves none, and another's is not there", async () => {
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
    expect([await alive(other.token.access_token), await alive(ada.token)]).toEqual([false, true]);
    await ada.api.deleteTokens({});
    expect([await alive(ada.token), await alive(eve.token)]).toEqual([false, true]);
  });

  it("of another user is for administrators", async () => {
    const root = await administrator();
    expect((await root.api.listTokens({ query: { user_id: ada.id } })).total).toBe(1);
    await root.api.deleteTokens({ query: { user_id: ada.id } });
    expect([await alive(ada.token), await alive(root.token)]).toEqual([false, true]);
  });
});

describe("the first administrator", () => {
  it("is made with the token in a private file, once, within an hour, when there are no users", async () => {
    const empty = await openHttpHarness();
    try {
      const { bootstrap } = empty.identity.services;
      const path = join(mkdtempSync(join(tmpdir(), "bootstrap-")), "bootstrap-token");
      expect(await bootstrap.offer(path)).toBe(true);
      expect(statSync(path).mode & 0o777).toBe(0o600);
      const first = readFileSync(path, "utf8").trim();
      expect(await bootstrap.offer(path)).toBe(true);
      const token = readFileSync(path, "utf8").trim();
      const body = { email: "root@example.com", first_name: "R", last_name: "T", password: PASSWORD };
      expect(await outcome(empty.as(first).createUser({ body }))).toBe("401 unauthorized");
      expect(await outcome(empty.as(token).createUser({ body: { ...body, password: "short" } }))).toBe(
        "422 weak_password",
      );
      expect((await empty.as(token).createUser({ body })).body.permissions).toBe(ADMINISTRATOR_PERMISSIONS);
      expect(await outcome(empty.as(token).createUser({ body: { ...body, email: "second@example.com" } }))).toBe(
        "401 unauthorized",
      );
      expect(await bootstrap.offer(path)).toBe(false);
    } finally {
      await empty.server.stop({ graceMs: 0 });
    }
  });

  it("is nobody by being first, and the token is over after an hour", async () => {
    const empty = await openHttpHarness();
    try {
      const path = join(mkdtempSync(join(tmpdir(), "bootstrap-")), "bootstrap-token");
      await empty.identity.services.bootstrap.offer(path);
      empty.clock.advanceSec(3600);
      const body = { email: "root@example.com", first_name: "R", last_name: "T", password: PASSWORD };
      expect(await outcome(empty.as(readFileSync(path, "utf8").trim()).createUser({ body }))).toBe("401 unauthorized");
      expect((await empty.identity.services.users.create(body, ADDRESS)).permissions).toBe(NEW_USER_PERMISSIONS);
    } finally {
      await empty.server.stop({ graceMs: 0 });
    }
  });
});
