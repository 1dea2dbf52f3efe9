/** Invitations by mail, and their abuses. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { PERMISSIONS, TENANT_PERMISSIONS } from "../../../src/platform/auth/permissions.js";
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

describe("an invitation", () => {
  let organizationId: string;
  let token: string;

  beforeEach(async () => {
    organizationId = (await ada.api.createOrganization({ body: { name: "Works" } })).body.id;
    await ada.api.createInvitation({
      body: { email: " Grace@Example.com", organization_id: organizationId, permissions: PERMISSIONS.read },
    });
    token = (await harness.mailedToken("grace@example.com"))!;
  });

  const grace = { first_name: "Grace", last_name: "Hopper", password: PASSWORD };
  const signUp = async (email: string, invitation_token = token) =>
    outcome(harness.anonymous.createUser({ body: { ...grace, email, invitation_token } }));
  const members = async () =>
    (await ada.api.listOrganizationUsers({ params: { id: organizationId } })).body.map(({ email }) => email).sort();

  it("lets a new user join once, with a verified address", async () => {
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

  it("is good only for its own address, and creates no user for another", async () => {
    expect(await signUp("mallory@example.com")).toBe("422 invitation_invalid");
    expect(await harness.logIn("mallory@example.com", PASSWORD)).toBe("401 invalid_credentials");
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

  it("gives a new user its address and the names that its sender gave, and nothing else", async () => {
    await ada.api.createInvitation({
      body: { email: "mary@example.com", first_name: "Mary", last_name: "Jackson", organization_id: organizationId },
    });
    const invitation_token = (await harness.mailedToken("mary@example.com"))!;
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

  it("accepted many times at once joins once, and the other requests get invitation_invalid", async () => {
    const grace = await harness.newUser("grace@example.com");
    const join = async () =>
      outcome(grace.api.createOrganizationUser({ params: { id: organizationId }, body: { invitation_token: token } }));
    expect((await Promise.all(Array.from({ length: 6 }, join))).sort()).toEqual([
      ...Array<string>(5).fill("422 invitation_invalid"),
      "ok",
    ]);
  });

  it("names an application and an organization only where the organization is a member of it", async () => {
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

  it("is void after a day, once revoked, and once another is sent", async () => {
    await ada.api.createInvitation({ body: { email: "grace@example.com", organization_id: organizationId } });
    expect(await signUp("grace@example.com")).toBe("422 invitation_invalid");
    const second = (await harness.mailedToken("grace@example.com"))!;
    const {
      body: [listed],
    } = await ada.api.listOrganizationInvitations({ params: { id: organizationId } });
    const eve = await harness.newUser("eve@example.com");
    expect(await outcome(eve.api.deleteInvitation({ params: { id: listed!.id } }))).toBe("404 not_found");
    expect((await ada.api.deleteInvitation({ params: { id: listed!.id } })).status).toBe(204);
    expect(await signUp("grace@example.com", second)).toBe("422 invitation_invalid");
    await ada.api.createInvitation({ body: { email: "grace@example.com", organization_id: organizationId } });
    const third = (await harness.mailedToken("grace@example.com"))!;
    harness.clock.advanceSec(24 * 3600);
    expect(await signUp("grace@example.com", third)).toBe("422 invitation_invalid");
  });

  it("is void once its sender may no longer grant", async () => {
    const eve = await harness.newUser("eve@example.com");
    await ada.api.createInvitation({
      body: { email: "eve@example.com", organization_id: organizationId, permissions: TENANT_PERMISSIONS },
    });
    const body = { invitation_token: (await harness.mailedToken("eve@example.com"))! };
    await eve.api.createOrganizationUser({ params: { id: organizationId }, body });
    await eve.api.createInvitation({ body: { email: "mary@example.com", organization_id: organizationId } });
    const invitation = (await harness.mailedToken("mary@example.com"))!;
    await ada.api.updateOrganizationUser({
      params: { id: organizationId, user_id: eve.id },
      body: { permissions: PERMISSIONS.read },
    });
    expect(await signUp("mary@example.com", invitation)).toBe("422 invitation_invalid");
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
    const invitation = (await harness.mailedToken("bob@example.com"))!;
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
