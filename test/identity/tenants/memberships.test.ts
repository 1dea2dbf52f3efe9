/** Access lists: nobody grants more than it holds, or to a stranger. */
import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ASSOCIATE_PERMISSIONS, PERMISSIONS, TENANT_PERMISSIONS } from "../../../src/platform/auth/permissions.js";
import { openHttpHarness, outcome, type HttpHarness, type Person } from "../http-support.js";
import { joinByInvitation, newApplication, newOrganization } from "./support.js";

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

describe("an access list", () => {
  it("gives 510 by default and never more than the granter holds", async () => {
    const id = await newApplication(ada);
    const works = await newOrganization(ada);
    await joinByInvitation(harness, ada, eve, { organization_id: works, email: "eve@example.com" });
    await ada.api.createApplicationUser({
      params: { id },
      body: { user_id: eve.id, permissions: PERMISSIONS.read | PERMISSIONS.grant },
    });
    const permissionsOf = async (userId: string) =>
      (await ada.api.listApplicationUsers({ params: { id } })).body.find((row) => row.id === userId)?.permissions;
    expect(await permissionsOf(ada.id)).toBe(TENANT_PERMISSIONS);
    const bob = await harness.newUser("bob@example.com");
    await joinByInvitation(harness, ada, bob, { organization_id: works, email: "bob@example.com" });
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

  it("rejects users and organizations that the granter cannot see exactly as unknown ids", async () => {
    const id = await newApplication(ada);
    const works = await newOrganization(ada);
    const theirs = await newOrganization(eve);
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

  it("accepts an existing member again, and answers other permissions with a conflict", async () => {
    const id = await newApplication(ada);
    expect((await ada.api.createApplicationUser({ params: { id }, body: { user_id: ada.id } })).status).toBe(204);
    expect(
      await outcome(ada.api.createApplicationUser({ params: { id }, body: { user_id: ada.id, permissions: 2 } })),
    ).toBe("409 conflict");
  });
});
