/** Organizations: who founds, sees and deletes them. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  ORGANIZATION_MEMBER_PERMISSIONS,
  PERMISSIONS,
  TENANT_PERMISSIONS,
} from "../../../src/platform/auth/permissions.js";
import { openHttpHarness, outcome, type HttpHarness, type Person } from "../http-support.js";
import { joinByInvitation, newApplication, newOrganization, recordsLeft, tokenFor } from "./support.js";

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

describe("an organization", () => {
  it("never loses its last member who can grant", async () => {
    const id = await newOrganization(ada);
    expect(await outcome(ada.api.deleteOrganizationUser({ params: { id, user_id: ada.id } }))).toBe("409 last_granter");
    expect(
      await outcome(
        ada.api.updateOrganizationUser({
          params: { id, user_id: ada.id },
          body: { permissions: PERMISSIONS.read | PERMISSIONS.revoke },
        }),
      ),
    ).toBe("409 last_granter");
    await joinByInvitation(harness, ada, eve, {
      organization_id: id,
      email: "eve@example.com",
      permissions: TENANT_PERMISSIONS,
    });
    expect((await ada.api.deleteOrganizationUser({ params: { id, user_id: ada.id } })).status).toBe(204);
    expect(await outcome(ada.api.getOrganization({ params: { id } }))).toBe("404 not_found");
  });

  it("shows its members to each other, and only to them", async () => {
    const id = await newOrganization(ada);
    expect((await eve.api.listUsers({})).body.map((user) => user.id)).toEqual([eve.id]);
    expect(await outcome(eve.api.getUser({ params: { id: ada.id } }))).toBe("404 not_found");
    await joinByInvitation(harness, ada, eve, { organization_id: id, email: "eve@example.com" });
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

  it("is founded by an application for the user for whom it acts, and joins the application", async () => {
    const id = await newApplication(ada);
    const token = await tokenFor(harness, ada.api, { application_id: id });
    const { body } = await token.api.createOrganization({ body: { name: "Branch" } });
    expect(body.user_id).toBe(ada.id);
    expect((await token.api.listApplicationOrganizations({ params: { id } })).body.map((row) => row.id)).toEqual([
      body.id,
    ]);
    expect((await ada.api.getOrganization({ params: { id: body.id } })).body.name).toBe("Branch");
    expect((await token.api.listOrganizations({})).body).toEqual([body]);
    expect((await token.api.getOrganization({ params: { id: body.id } })).body).toEqual(body);
    expect(
      await Promise.all([
        outcome(token.api.getOrganization({ params: { id: await newOrganization(ada) } })),
        outcome(token.api.listOrganizationUsers({ params: { id: body.id } })),
        outcome(token.api.updateOrganization({ params: { id: body.id }, body: { name: "Mine" } })),
      ]),
    ).toEqual(["404 not_found", "404 not_found", "404 not_found"]);
    const {
      body: { client_secret },
    } = await ada.api.createApplicationClientSecret({ params: { id } });
    const alone = await tokenFor(harness, harness.anonymous, {
      grant_type: "client_credentials",
      client_id: id,
      client_secret,
    });
    expect(await outcome(alone.api.createOrganization({ body: { name: "Nobody's" } }))).toBe("403 forbidden");
  });

  it("is deleted with its members' access and tokens", async () => {
    const id = await newOrganization(ada);
    const token = await tokenFor(harness, ada.api, { organization_id: id });
    await ada.api.deleteOrganization({ params: { id } });
    expect(await harness.isAlive(token.token)).toBe(false);
    expect(await outcome(ada.api.getOrganization({ params: { id } }))).toBe("404 not_found");
    expect(recordsLeft(harness)).not.toContain(id);
  });
});
