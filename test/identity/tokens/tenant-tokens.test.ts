/** Tokens of applications and organizations: for members only, and bounded by their permissions. */
import { decodeJwt } from "jose";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  ASSOCIATE_PERMISSIONS,
  ORGANIZATION_MEMBER_PERMISSIONS,
  PERMISSIONS,
} from "../../../src/platform/auth/permissions.js";
import { openHttpHarness, outcome, type HttpHarness, type Person } from "../http-support.js";
import { joinByInvitation, newApplication, newOrganization, tokenFor } from "../tenants/support.js";

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

describe("a token of an application or organization", () => {
  it("is made only for members, names the user for whom it acts, and carries that user's permissions there", async () => {
    const id = await newOrganization(ada);
    expect(await outcome(eve.api.createToken({ body: { organization_id: id } }))).toBe("404 not_found");
    await joinByInvitation(harness, ada, eve, { organization_id: id, email: "eve@example.com" });
    const token = await tokenFor(harness, eve.api, { organization_id: id });
    expect(token.permissions).toBe(ORGANIZATION_MEMBER_PERMISSIONS);
    expect(decodeJwt(token.token)).toMatchObject({
      sub: `organization:${id}`,
      act: eve.id,
      perm: ORGANIZATION_MEMBER_PERMISSIONS,
    });
    expect(await outcome(token.api.updateOrganization({ params: { id }, body: { name: "x" } }))).toBe("403 forbidden");
    expect(await outcome(token.api.createToken({ body: { user_id: ada.id } }))).toBe("404 not_found");
  });

  it("ends with the membership by which it acts, and so does its refresh token", async () => {
    const id = await newOrganization(ada);
    await joinByInvitation(harness, ada, eve, { organization_id: id, email: "eve@example.com" });
    const theirs = await tokenFor(harness, eve.api, { organization_id: id, scope: "offline_access" });
    const mine = await tokenFor(harness, ada.api, { organization_id: id });
    await ada.api.deleteOrganizationUser({ params: { id, user_id: eve.id } });
    expect([await harness.isAlive(theirs.token), await harness.isAlive(mine.token)]).toEqual([false, true]);
    expect(
      await outcome(
        harness.anonymous.createToken({ body: { grant_type: "refresh_token", refresh_token: theirs.refresh! } }),
      ),
    ).toBe("401 invalid_grant");
  });

  it("ends also at an application, where it was made through an organization that its user left", async () => {
    const app = await newApplication(ada);
    const works = await newOrganization(ada);
    await ada.api.createApplicationOrganization({ params: { id: app }, body: { organization_id: works } });
    await joinByInvitation(harness, ada, eve, { organization_id: works, email: "eve@example.com" });
    const forWorks = await tokenFor(harness, eve.api, { organization_id: works });
    const forApp = await tokenFor(harness, forWorks.api, { application_id: app });
    expect(forApp.permissions).toBe(ORGANIZATION_MEMBER_PERMISSIONS & ASSOCIATE_PERMISSIONS);
    await ada.api.deleteOrganizationUser({ params: { id: works, user_id: eve.id } });
    expect([await harness.isAlive(forWorks.token), await harness.isAlive(forApp.token)]).toEqual([false, false]);
  });

  it("can be restricted and not widened", async () => {
    const id = await newApplication(ada);
    const small = await tokenFor(harness, ada.api, {
      application_id: id,
      permissions: PERMISSIONS.read | PERMISSIONS.create,
    });
    expect(small.permissions).toBe(6);
    expect(await outcome(ada.api.createToken({ body: { application_id: id, permissions: PERMISSIONS.sudo } }))).toBe(
      "403 permission_escalation",
    );
    expect(await outcome(small.api.createToken({ body: { permissions: PERMISSIONS.read | PERMISSIONS.delete } }))).toBe(
      "403 permission_escalation",
    );
    expect((await tokenFor(harness, small.api, {})).permissions).toBe(6);
    expect(await outcome(small.api.createToken({ body: { scope: "offline_access" } }))).toBe("403 forbidden");
  });

  it("of one application gives no access to another", async () => {
    const [mine, other] = [await newApplication(ada), await newApplication(ada)];
    const token = await tokenFor(harness, ada.api, { application_id: mine });
    expect(await outcome(token.api.createToken({ body: { application_id: other } }))).toBe("404 not_found");
    expect((await token.api.listApplications({})).body.map((row) => row.id)).toEqual([mine]);
  });
});
