/**
 * Applications, organizations, their access lists, and tokens made for them: what is allowed, what is not, and that
 * nobody sees across.
 */
import { randomUUID } from "node:crypto";
import { decodeJwt } from "jose";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ApiError } from "../../src/client.js";
import {
  ASSOCIATE_PERMISSIONS,
  ORGANIZATION_MEMBER_PERMISSIONS,
  PERMISSIONS,
  TENANT_PERMISSIONS,
} from "../../src/platform/auth/permissions.js";
import { TenantRepository } from "../../src/identity/tenants/tenant-repository.js";
import { openHttpHarness, type HttpHarness, type IdentityApi } from "./http-support.js";

interface Person {
  readonly id: string;
  readonly token: string;
  readonly api: IdentityApi;
}

let harness: HttpHarness;
let ada: Person;
let eve: Person;

beforeEach(async () => {
  harness = await openHttpHarness();
  ada = await harness.newUser("ada@example.com");
  eve = await harness.newUser("eve@example.com");
});

afterEach(async () => {
  await harness.server.stop({ graceMs: 0 });
});

/** Status and code of a call that must fail, or "ok". */
/** All of the store but the event log, which is history and keeps to its own age. */
function recordsLeft(): string {
  return JSON.stringify(harness.store.range([]).filter(({ key }) => !String(key[0]).startsWith("events")));
}

async function outcome(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return "ok";
  } catch (error) {
    if (error instanceof ApiError) return `${String(error.status)} ${error.code}`;
    throw error;
  }
}

async function application(person: Person): Promise<string> {
  return (await person.api.createApplication({ body: {} })).body.id;
}

async function organization(person: Person): Promise<string> {
  return (await person.api.createOrganization({ body: { name: "Works" } })).body.id;
}

async function tokenFor(
  api: IdentityApi,
  body: Parameters<IdentityApi["createToken"]>[0]["body"],
): Promise<{ token: string; api: IdentityApi; permissions: number; id: string; refresh: string | undefined }> {
  const { body: token } = await api.createToken({ body });
  return {
    token: token.access_token,
    api: harness.as(token.access_token),
    permissions: token.permissions,
    id: token.id,
    refresh: token.refresh_token,
  };
}

/** Brings a user into an organization by its mailed invitation. */
async function join(person: Person, organizationId: string, email: string, permissions?: number): Promise<void> {
  await ada.api.createInvitation({
    body: { email, organization_id: organizationId, ...(permissions === undefined ? {} : { permissions }) },
  });
  await harness.identity.services.outbox.idle();
  const invitation_token = /pit_\S+/.exec(harness.mails.at(-1)!.text)![0];
  await person.api.createOrganizationUser({ params: { id: organizationId }, body: { invitation_token } });
}

async function alive(token: string): Promise<boolean> {
  try {
    await harness.identity.authenticate(token);
    return true;
  } catch {
    return false;
  }
}

describe("an application", () => {
  it("is created from an empty object, and belongs to its creator by its access list alone", async () => {
    const { body, headers } = await ada.api.createApplication({ body: {} });
    expect(headers.get("location")).toBe(`/api/v1/applications/${body.id}`);
    expect(body).toMatchObject({
      name: `Application ${body.id.slice(0, 8)}`,
      user_id: ada.id,
      hidden: false,
      config: {},
    });
    const token = await tokenFor(ada.api, { application_id: body.id });
    await join(eve, await organization(ada), "eve@example.com");
    await ada.api.createApplicationUser({ params: { id: body.id }, body: { user_id: eve.id } });
    await token.api.deleteApplicationUser({ params: { id: body.id, user_id: ada.id } });
    expect(await outcome(ada.api.getApplication({ params: { id: body.id } }))).toBe("404 not_found");
    expect((await ada.api.listApplications({})).total).toBe(0);
    expect(await outcome(ada.api.createToken({ body: { application_id: body.id } }))).toBe("404 not_found");
    expect(await alive(token.token)).toBe(false);
  });

  it("is not there for anybody else, on any route, and answers as a random id does", async () => {
    const id = await application(ada);
    const absent = randomUUID();
    const calls = (api: IdentityApi, target: string): Promise<unknown>[] => [
      api.getApplication({ params: { id: target } }),
      api.updateApplication({ params: { id: target }, body: { name: "mine" } }),
      api.deleteApplication({ params: { id: target } }),
      api.listApplicationUsers({ params: { id: target } }),
      api.createApplicationUser({ params: { id: target }, body: { user_id: eve.id } }),
      api.updateApplicationUser({ params: { id: target, user_id: ada.id }, body: { permissions: 2 } }),
      api.deleteApplicationUser({ params: { id: target, user_id: ada.id } }),
      api.listApplicationOrganizations({ params: { id: target } }),
      api.listApplicationTokens({ params: { id: target } }),
      api.deleteApplicationTokens({ params: { id: target } }),
      api.getApplicationClient({ params: { id: target } }),
      api.updateApplicationClient({ params: { id: target }, body: { permissions: 2 } }),
      api.deleteApplicationClient({ params: { id: target } }),
      api.createApplicationClientSecret({ params: { id: target } }),
      api.createToken({ body: { application_id: target } }),
      api.listApplicationInvitations({ params: { id: target } }),
      api.createInvitation({ body: { email: "x@example.com", application_id: target } }),
    ];
    const own = await tokenFor(eve.api, { application_id: await application(eve) });
    for (const api of [eve.api, own.api]) {
      const foreign = await Promise.all(calls(api, id).map(outcome));
      expect(foreign).toEqual(await Promise.all(calls(api, absent).map(outcome)));
      expect(new Set(foreign)).toEqual(new Set(["404 not_found"]));
    }
    expect((await eve.api.listApplications({})).body.map((row) => row.id)).not.toContain(id);
  });

  it("keeps its primary network, and says so", async () => {
    const network_id = randomUUID();
    const { body } = await ada.api.createApplication({ body: { network_id } });
    expect(
      await outcome(ada.api.updateApplication({ params: { id: body.id }, body: { network_id: randomUUID() } })),
    ).toBe("409 conflict");
    expect(
      (await ada.api.updateApplication({ params: { id: body.id }, body: { network_id, name: "Engine" } })).status,
    ).toBe(204);
    expect((await ada.api.createApplication({ body: { config: { network_id } } })).body.network_id).toBe(network_id);
  });

  it("is listed by filters, hidden ones apart", async () => {
    const network_id = randomUUID();
    await ada.api.createApplication({ body: { type: "message_bus", network_id } });
    await ada.api.createApplication({ body: { hidden: true } });
    expect((await ada.api.listApplications({})).total).toBe(1);
    expect((await ada.api.listApplications({ query: { hidden: true } })).total).toBe(1);
    expect((await ada.api.listApplications({ query: { type: "message_bus", network_id } })).total).toBe(1);
    expect((await ada.api.listApplications({ query: { type: "other" } })).total).toBe(0);
  });

  it("goes with everything of its own: users, tokens, secret, invitations", async () => {
    const id = await application(ada);
    const {
      body: { client_secret },
    } = await ada.api.createApplicationClientSecret({ params: { id } });
    const token = await tokenFor(ada.api, { application_id: id, scope: "offline_access" });
    const virtual = (await token.api.createUser({ body: { email: "v@example.com", first_name: "V", last_name: "U" } }))
      .body;
    await ada.api.createInvitation({ body: { email: "x@example.com", application_id: id } });
    await ada.api.deleteApplication({ params: { id } });
    expect(await alive(token.token)).toBe(false);
    expect(
      await outcome(
        harness.anonymous.createToken({ body: { grant_type: "client_credentials", client_id: id, client_secret } }),
      ),
    ).toBe("401 invalid_client");
    expect(
      await outcome(
        harness.anonymous.createToken({ body: { grant_type: "refresh_token", refresh_token: token.refresh! } }),
      ),
    ).toBe("401 invalid_grant");
    const left = recordsLeft();
    expect([left.includes(id), left.includes(virtual.id)]).toEqual([false, false]);
  });
});

describe("an access list", () => {
  it("gives 510 by default and never more than the granter holds", async () => {
    const id = await application(ada);
    const works = await organization(ada);
    await join(eve, works, "eve@example.com");
    await ada.api.createApplicationUser({
      params: { id },
      body: { user_id: eve.id, permissions: PERMISSIONS.read | PERMISSIONS.grant },
    });
    const permissionsOf = async (userId: string) =>
      (await ada.api.listApplicationUsers({ params: { id } })).body.find((row) => row.id === userId)?.permissions;
    expect(await permissionsOf(ada.id)).toBe(TENANT_PERMISSIONS);
    const bob = await harness.newUser("bob@example.com");
    await join(bob, works, "bob@example.com");
    expect(
      await outcome(
        eve.api.createApplicationUser({
          params: { id },
          body: { user_id: bob.id, permissions: PERMISSIONS.read | PERMISSIONS.delete },
        }),
      ),
    ).toBe("403 permission_escalation");
    await eve.api.createApplicationUser({ params: { id }, body: { user_id: bob.id } });
    expect(await permissionsOf(bob.id)).toBe(PERMISSIONS.read | PERMISSIONS.grant);
    expect(
      await outcome(
        eve.api.updateApplicationUser({
          params: { id, user_id: bob.id },
          body: { permissions: ASSOCIATE_PERMISSIONS },
        }),
      ),
    ).toBe("403 permission_escalation");
    expect(
      await outcome(
        eve.api.updateApplicationUser({ params: { id, user_id: ada.id }, body: { permissions: PERMISSIONS.read } }),
      ),
    ).toBe("403 forbidden");
    expect(await outcome(eve.api.deleteApplicationUser({ params: { id, user_id: ada.id } }))).toBe("403 forbidden");
    expect(await outcome(eve.api.updateApplication({ params: { id }, body: { name: "x" } }))).toBe("403 forbidden");
    expect((await eve.api.deleteApplicationUser({ params: { id, user_id: eve.id } })).status).toBe(204);
    expect(await outcome(eve.api.getApplication({ params: { id } }))).toBe("404 not_found");
  });

  it("takes nobody whom the granter cannot see, and does not tell whether there is such a one", async () => {
    const id = await application(ada);
    const works = await organization(ada);
    const theirs = await organization(eve);
    for (const stranger of [eve.id, randomUUID()]) {
      expect(await outcome(ada.api.createApplicationUser({ params: { id }, body: { user_id: stranger } }))).toBe(
        "404 not_found",
      );
      expect(
        await outcome(ada.api.createOrganizationUser({ params: { id: works }, body: { user_id: stranger } })),
      ).toBe("404 not_found");
    }
    for (const stranger of [theirs, randomUUID()]) {
      expect(
        await outcome(ada.api.createApplicationOrganization({ params: { id }, body: { organization_id: stranger } })),
      ).toBe("404 not_found");
    }
    expect((await ada.api.listApplicationUsers({ params: { id } })).total).toBe(1);
  });

  it("is met twice with silence, and with a conflict for other permissions", async () => {
    const id = await application(ada);
    expect((await ada.api.createApplicationUser({ params: { id }, body: { user_id: ada.id } })).status).toBe(204);
    expect(
      await outcome(ada.api.createApplicationUser({ params: { id }, body: { user_id: ada.id, permissions: 2 } })),
    ).toBe("409 conflict");
  });
});

describe("the last member who can grant", () => {
  const CANNOT_GRANT = PERMISSIONS.read | PERMISSIONS.revoke;

  it("stays in an application, whoever would take it away, until another one can grant", async () => {
    const id = await application(ada);
    const works = await organization(ada);
    await join(eve, works, "eve@example.com");
    await ada.api.createApplicationUser({ params: { id }, body: { user_id: eve.id, permissions: CANNOT_GRANT } });
    const { api: itself } = await tokenFor(ada.api, { application_id: id });
    for (const api of [ada.api, eve.api, itself])
      expect(await outcome(api.deleteApplicationUser({ params: { id, user_id: ada.id } }))).toBe("409 last_granter");
    expect(
      await outcome(
        ada.api.updateApplicationUser({ params: { id, user_id: ada.id }, body: { permissions: CANNOT_GRANT } }),
      ),
    ).toBe("409 last_granter");
    expect(await outcome(ada.api.deleteApplicationUser({ params: { id, user_id: eve.id } }))).toBe("ok");
    // An organization that can grant is as good as a user.
    await ada.api.createApplicationOrganization({ params: { id }, body: { organization_id: works } });
    expect(await outcome(ada.api.deleteApplicationUser({ params: { id, user_id: ada.id } }))).toBe("ok");
    const { api: asWorks } = await tokenFor(ada.api, { organization_id: works });
    const params = { id, organization_id: works };
    expect(await outcome(asWorks.updateApplicationOrganization({ params, body: { permissions: CANNOT_GRANT } }))).toBe(
      "409 last_granter",
    );
    expect(await outcome(asWorks.deleteApplicationOrganization({ params }))).toBe("409 last_granter");
  });

  it("is found behind a thousand others who cannot grant", async () => {
    const id = await application(ada);
    const tenant = { kind: "application", id } as const;
    const { memberships } = harness.identity.services;
    const tenants = new TenantRepository({ store: harness.store });
    const rows = Array.from({ length: 1001 }, (_, at) =>
      memberships.newMembership(
        tenant,
        { kind: "user", id: randomUUID() },
        at < 1000 ? PERMISSIONS.read : TENANT_PERMISSIONS,
      ),
    );
    const leave = async (): Promise<string> =>
      await outcome(ada.api.deleteApplicationUser({ params: { id, user_id: ada.id } }));
    for (const row of rows) await harness.store.commit(tenants.insertMembershipCommit(row));
    // Without a record of its own whoever is named there is nobody.
    expect(await leave()).toBe("409 last_granter");
    await harness.store.commit(
      tenants.insertMembershipCommit(
        memberships.newMembership(tenant, { kind: "user", id: eve.id }, TENANT_PERMISSIONS),
      ),
    );
    expect(await leave()).toBe("ok");
  });

  it.each(["application", "organization"] as const)(
    "stays in an %s when the last two go at once, in whichever way",
    async (kind) => {
      const works = await organization(ada);
      await join(eve, works, "eve@example.com", TENANT_PERMISSIONS);
      for (let round = 0; round < 6; round += 1) {
        const id = kind === "organization" ? await organization(ada) : await application(ada);
        if (kind === "organization") await join(eve, id, "eve@example.com", TENANT_PERMISSIONS);
        else
          await ada.api.createApplicationUser({
            params: { id },
            body: { user_id: eve.id, permissions: TENANT_PERMISSIONS },
          });
        const leaves = (person: Person): Promise<unknown> =>
          (kind === "organization" ? person.api.deleteOrganizationUser : person.api.deleteApplicationUser)({
            params: { id, user_id: person.id },
          });
        const stepsDown = (person: Person): Promise<unknown> =>
          (kind === "organization" ? person.api.updateOrganizationUser : person.api.updateApplicationUser)({
            params: { id, user_id: person.id },
            body: { permissions: CANNOT_GRANT },
          });
        const second = round % 2 === 0 ? leaves : stepsDown;
        expect((await Promise.all([leaves(ada), second(eve)].map(outcome))).sort(), `round ${String(round)}`).toEqual([
          "409 last_granter",
          "ok",
        ]);
      }
    },
  );
});

describe("an organization", () => {
  it("never loses its last member who can grant", async () => {
    const id = await organization(ada);
    expect(await outcome(ada.api.deleteOrganizationUser({ params: { id, user_id: ada.id } }))).toBe("409 last_granter");
    expect(
      await outcome(
        ada.api.updateOrganizationUser({
          params: { id, user_id: ada.id },
          body: { permissions: PERMISSIONS.read | PERMISSIONS.revoke },
        }),
      ),
    ).toBe("409 last_granter");
    await join(eve, id, "eve@example.com", TENANT_PERMISSIONS);
    expect((await ada.api.deleteOrganizationUser({ params: { id, user_id: ada.id } })).status).toBe(204);
    expect(await outcome(ada.api.getOrganization({ params: { id } }))).toBe("404 not_found");
  });

  it("shows its members to each other, and only to them", async () => {
    const id = await organization(ada);
    expect((await eve.api.listUsers({})).body.map((user) => user.id)).toEqual([eve.id]);
    expect(await outcome(eve.api.getUser({ params: { id: ada.id } }))).toBe("404 not_found");
    await join(eve, id, "eve@example.com");
    expect(new Set((await eve.api.listUsers({})).body.map((user) => user.id))).toEqual(new Set([ada.id, eve.id]));
    expect((await eve.api.getUser({ params: { id: ada.id } })).body.email).toBe("ada@example.com");
    expect(await outcome(eve.api.updateUser({ params: { id: ada.id }, body: { first_name: "E" } }))).toBe(
      "403 forbidden",
    );
    expect(await outcome(eve.api.deleteUser({ params: { id: ada.id } }))).toBe("403 forbidden");
    expect(
      (await ada.api.listOrganizationUsers({ params: { id } })).body.find((row) => row.id === eve.id)?.permissions,
    ).toBe(ORGANIZATION_MEMBER_PERMISSIONS);
  });

  it("is founded by an application for the user whom it acts for, and is associated with it", async () => {
    const id = await application(ada);
    const token = await tokenFor(ada.api, { application_id: id });
    const { body } = await token.api.createOrganization({ body: { name: "Branch" } });
    expect(body.user_id).toBe(ada.id);
    expect((await token.api.listApplicationOrganizations({ params: { id } })).body.map((row) => row.id)).toEqual([
      body.id,
    ]);
    expect((await ada.api.getOrganization({ params: { id: body.id } })).body.name).toBe("Branch");
    const {
      body: { client_secret },
    } = await ada.api.createApplicationClientSecret({ params: { id } });
    const alone = await tokenFor(harness.anonymous, { grant_type: "client_credentials", client_id: id, client_secret });
    expect(await outcome(alone.api.createOrganization({ body: { name: "Nobody's" } }))).toBe("403 forbidden");
  });

  it("is deleted with its members' access and tokens", async () => {
    const id = await organization(ada);
    const token = await tokenFor(ada.api, { organization_id: id });
    await ada.api.deleteOrganization({ params: { id } });
    expect(await alive(token.token)).toBe(false);
    expect(await outcome(ada.api.getOrganization({ params: { id } }))).toBe("404 not_found");
    expect(recordsLeft()).not.toContain(id);
  });
});

describe("a token of an application or organization", () => {
  it("is made for members only, names whom it acts for, and carries what that one holds there", async () => {
    const id = await organization(ada);
    expect(await outcome(eve.api.createToken({ body: { organization_id: id } }))).toBe("404 not_found");
    await join(eve, id, "eve@example.com");
    const token = await tokenFor(eve.api, { organization_id: id });
    expect(token.permissions).toBe(ORGANIZATION_MEMBER_PERMISSIONS);
    expect(decodeJwt(token.token)).toMatchObject({
      sub: `organization:${id}`,
      act: eve.id,
      perm: ORGANIZATION_MEMBER_PERMISSIONS,
    });
    expect(await outcome(token.api.updateOrganization({ params: { id }, body: { name: "x" } }))).toBe("403 forbidden");
    expect(await outcome(token.api.createToken({ body: { user_id: ada.id } }))).toBe("404 not_found");
  });

  it("dies with the membership by which it acts, refresh and all", async () => {
    const id = await organization(ada);
    await join(eve, id, "eve@example.com");
    const theirs = await tokenFor(eve.api, { organization_id: id, scope: "offline_access" });
    const mine = await tokenFor(ada.api, { organization_id: id });
    await ada.api.deleteOrganizationUser({ params: { id, user_id: eve.id } });
    expect([await alive(theirs.token), await alive(mine.token)]).toEqual([false, true]);
    expect(
      await outcome(
        harness.anonymous.createToken({ body: { grant_type: "refresh_token", refresh_token: theirs.refresh! } }),
      ),
    ).toBe("401 invalid_grant");
  });

  it("dies too where it was made through an organization that its user left", async () => {
    const app = await application(ada);
    const works = await organization(ada);
    await ada.api.createApplicationOrganization({ params: { id: app }, body: { organization_id: works } });
    await join(eve, works, "eve@example.com");
    const forWorks = await tokenFor(eve.api, { organization_id: works });
    const forApp = await tokenFor(forWorks.api, { application_id: app });
    expect(forApp.permissions).toBe(ORGANIZATION_MEMBER_PERMISSIONS & ASSOCIATE_PERMISSIONS);
    await ada.api.deleteOrganizationUser({ params: { id: works, user_id: eve.id } });
    expect([await alive(forWorks.token), await alive(forApp.token)]).toEqual([false, false]);
  });

  it("can be cut down and not widened", async () => {
    const id = await application(ada);
    const small = await tokenFor(ada.api, { application_id: id, permissions: PERMISSIONS.read | PERMISSIONS.create });
    expect(small.permissions).toBe(6);
    expect(await outcome(ada.api.createToken({ body: { application_id: id, permissions: PERMISSIONS.sudo } }))).toBe(
      "403 permission_escalation",
    );
    expect(await outcome(small.api.createToken({ body: { permissions: PERMISSIONS.read | PERMISSIONS.delete } }))).toBe(
      "403 permission_escalation",
    );
    expect((await tokenFor(small.api, {})).permissions).toBe(6);
    expect(await outcome(small.api.createToken({ body: { scope: "offline_access" } }))).toBe("403 forbidden");
  });

  it("of one application is nothing to another", async () => {
    const [mine, other] = [await application(ada), await application(ada)];
    const token = await tokenFor(ada.api, { application_id: mine });
    expect(await outcome(token.api.createToken({ body: { application_id: other } }))).toBe("404 not_found");
    expect((await token.api.listApplications({})).body.map((row) => row.id)).toEqual([mine]);
  });
});

describe("a virtual user", () => {
  it("lives in its application's own namespace of addresses", async () => {
    const [one, two] = [
      await tokenFor(ada.api, { application_id: await application(ada) }),
      await tokenFor(eve.api, { application_id: await application(eve) }),
    ];
    const body = { email: "ada@example.com", first_name: "V", last_name: "U", password: "a different long phrase" };
    const first = (await one.api.createUser({ body })).body;
    const second = (await two.api.createUser({ body })).body;
    expect(new Set([first.id, second.id, ada.id]).size).toBe(3);
    expect(await outcome(one.api.createUser({ body }))).toBe("409 email_taken");
    const application_id = (await one.api.listApplications({})).body[0]!.id;
    const login = await harness.anonymous.authenticate({
      body: { email: body.email, password: body.password, application_id },
    });
    expect(login.body.user.id).toBe(first.id);
    expect(
      await outcome(harness.anonymous.authenticate({ body: { email: body.email, password: body.password } })),
    ).toBe("401 invalid_credentials");
  });

  it("is logged in by its own application only, and only without a password of its own", async () => {
    const one = await tokenFor(ada.api, { application_id: await application(ada) });
    const two = await tokenFor(eve.api, { application_id: await application(eve) });
    await one.api.createUser({ body: { email: "free@example.com", first_name: "V", last_name: "U" } });
    await one.api.createUser({
      body: { email: "locked@example.com", first_name: "V", last_name: "U", password: "a different long phrase" },
    });
    expect((await one.api.authenticate({ body: { email: "free@example.com" } })).status).toBe(201);
    expect(await outcome(two.api.authenticate({ body: { email: "free@example.com" } }))).toBe(
      "401 invalid_credentials",
    );
    expect(await outcome(one.api.authenticate({ body: { email: "locked@example.com" } }))).toBe(
      "401 invalid_credentials",
    );
    expect(await outcome(one.api.authenticate({ body: { email: "ada@example.com" } }))).toBe("401 invalid_credentials");
    expect(await outcome(ada.api.authenticate({ body: { email: "free@example.com" } }))).toBe("403 forbidden");
    expect(await outcome(harness.anonymous.authenticate({ body: { email: "free@example.com" } }))).toBe(
      "422 invalid_request",
    );
  });

  it("gets from a lesser token of its application no more than that holds", async () => {
    const application_id = await application(ada);
    const whole = await tokenFor(ada.api, { application_id });
    const lesser = await tokenFor(ada.api, {
      application_id,
      permissions: PERMISSIONS.create | PERMISSIONS.update | PERMISSIONS.read,
    });
    const user = (await whole.api.createUser({ body: { email: "v@example.com", first_name: "V", last_name: "U" } }))
      .body;
    expect((await whole.api.authenticate({ body: { email: user.email } })).body.token.permissions).toBe(
      user.permissions,
    );
    const { token } = (await lesser.api.authenticate({ body: { email: user.email } })).body;
    expect(token.permissions).toBe(
      PERMISSIONS.authenticate | PERMISSIONS.create | PERMISSIONS.update | PERMISSIONS.read,
    );
    expect(
      await outcome(lesser.api.updateUser({ params: { id: user.id }, body: { password: "a different long phrase" } })),
    ).toBe("403 permission_escalation");
    expect(
      await outcome(whole.api.updateUser({ params: { id: user.id }, body: { password: "a different long phrase" } })),
    ).toBe("ok");
  });

  it("is changed and deleted by its application, and by no other member of it", async () => {
    const token = await tokenFor(ada.api, { application_id: await application(ada) });
    const user = (await token.api.createUser({ body: { email: "v@example.com", first_name: "V", last_name: "U" } }))
      .body;
    expect(
      (
        await token.api.updateUser({
          params: { id: user.id },
          body: { first_name: "W", password: "a different long phrase" },
        })
      ).status,
    ).toBe(204);
    expect(await outcome(token.api.deleteUser({ params: { id: ada.id } }))).toBe("403 forbidden");
    expect((await token.api.deleteUser({ params: { id: user.id } })).status).toBe(204);
    expect(await outcome(token.api.getUser({ params: { id: user.id } }))).toBe("404 not_found");
  });
});
