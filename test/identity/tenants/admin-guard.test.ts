/** The last member that can grant cannot leave an application or organization. */
import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { PERMISSIONS, TENANT_PERMISSIONS } from "../../../src/platform/auth/permissions.js";
import { mergeCommits } from "../../../src/platform/store/commits.js";
import { TenantRepository } from "../../../src/identity/tenants/tenant-repository.js";
import { openHttpHarness, outcome, type HttpHarness, type Person } from "../http-support.js";
import { joinByInvitation, newApplication, newOrganization, tokenFor } from "./support.js";

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

describe("the last member who can grant", () => {
  const CANNOT_GRANT = PERMISSIONS.read | PERMISSIONS.revoke;

  it("stays in an application until another one can grant, whoever removes it", async () => {
    const id = await newApplication(ada);
    const works = await newOrganization(ada);
    await joinByInvitation(harness, ada, eve, { organization_id: works, email: "eve@example.com" });
    await ada.api.createApplicationUser({ params: { id }, body: { user_id: eve.id, permissions: CANNOT_GRANT } });
    const { api: itself } = await tokenFor(harness, ada.api, { application_id: id });
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
    const { api: asWorks } = await tokenFor(harness, ada.api, { organization_id: works });
    const params = { id, organization_id: works };
    expect(await outcome(asWorks.updateApplicationOrganization({ params, body: { permissions: CANNOT_GRANT } }))).toBe(
      "409 last_granter",
    );
    expect(await outcome(asWorks.deleteApplicationOrganization({ params }))).toBe("409 last_granter");
  });

  it("is found among a thousand members who cannot grant", async () => {
    const id = await newApplication(ada);
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
    await harness.store.commit(mergeCommits(...rows.map((row) => tenants.insertMembershipCommit(row))));
    // The one that could grant has no record of its own, so it does not count.
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
      const works = await newOrganization(ada);
      await joinByInvitation(harness, ada, eve, {
        organization_id: works,
        email: "eve@example.com",
        permissions: TENANT_PERMISSIONS,
      });
      for (let round = 0; round < 6; round += 1) {
        const id = kind === "organization" ? await newOrganization(ada) : await newApplication(ada);
        if (kind === "organization")
          await joinByInvitation(harness, ada, eve, {
            organization_id: id,
            email: "eve@example.com",
            permissions: TENANT_PERMISSIONS,
          });
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
