/** Applications: who sees and changes them, and what goes with a deleted one. */
import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openHttpHarness, outcome, type HttpHarness, type IdentityApi, type Person } from "../http-support.js";
import { ABSENT_NETWORK } from "../support.js";
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

describe("an application", () => {
  it("is created from an empty object, and its creator has access by membership alone", async () => {
    const { body, headers } = await ada.api.createApplication({ body: {} });
    expect(headers.get("location")).toBe(`/api/v1/applications/${body.id}`);
    expect(body).toMatchObject({
      name: `Application ${body.id.slice(0, 8)}`,
      user_id: ada.id,
      hidden: false,
      config: {},
    });
    const token = await tokenFor(harness, ada.api, { application_id: body.id });
    await joinByInvitation(harness, ada, eve, {
      organization_id: await newOrganization(ada),
      email: "eve@example.com",
    });
    await ada.api.createApplicationUser({ params: { id: body.id }, body: { user_id: eve.id } });
    await token.api.deleteApplicationUser({ params: { id: body.id, user_id: ada.id } });
    expect(await outcome(ada.api.getApplication({ params: { id: body.id } }))).toBe("404 not_found");
    expect((await ada.api.listApplications({})).total).toBe(0);
    expect(await outcome(ada.api.createToken({ body: { application_id: body.id } }))).toBe("404 not_found");
    expect(await harness.isAlive(token.token)).toBe(false);
  });

  it("does not exist for other users on any route, exactly as an unknown id", async () => {
    const id = await newApplication(ada);
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
    const own = await tokenFor(harness, eve.api, { application_id: await newApplication(eve) });
    for (const api of [eve.api, own.api]) {
      const foreign = await Promise.all(calls(api, id).map(outcome));
      expect(foreign).toEqual(await Promise.all(calls(api, absent).map(outcome)));
      expect(new Set(foreign)).toEqual(new Set(["404 not_found"]));
    }
    expect((await eve.api.listApplications({})).body.map((row) => row.id)).not.toContain(id);
  });

  it("keeps its primary network, and rejects another one", async () => {
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

  it("cannot name a network that its creator cannot see", async () => {
    for (const body of [{ network_id: ABSENT_NETWORK }, { config: { network_id: ABSENT_NETWORK } }])
      expect(await outcome(ada.api.createApplication({ body }))).toBe("404 not_found");
    expect((await ada.api.listApplications({})).total).toBe(0);
  });

  it("names an organization only where its creator may create", async () => {
    const organization_id = await newOrganization(ada);
    const create = async (person: Person): Promise<string> =>
      outcome(person.api.createApplication({ body: { organization_id } }));
    expect([await create(ada), await create(eve)]).toEqual(["ok", "404 not_found"]);
    await joinByInvitation(harness, ada, eve, { organization_id, email: "eve@example.com" });
    expect(await create(eve)).toBe("403 forbidden");
    expect((await eve.api.listApplications({})).total).toBe(0);
  });

  it("is listed by filters, and a hidden one only on request", async () => {
    const network_id = randomUUID();
    await ada.api.createApplication({ body: { type: "message_bus", network_id } });
    await ada.api.createApplication({ body: { hidden: true } });
    expect((await ada.api.listApplications({})).total).toBe(1);
    expect((await ada.api.listApplications({ query: { hidden: true } })).total).toBe(1);
    expect((await ada.api.listApplications({ query: { type: "message_bus", network_id } })).total).toBe(1);
    expect((await ada.api.listApplications({ query: { type: "other" } })).total).toBe(0);
  });

  it("is deleted with everything that only it owns: users, tokens, secret, invitations", async () => {
    const id = await newApplication(ada);
    const {
      body: { client_secret },
    } = await ada.api.createApplicationClientSecret({ params: { id } });
    const token = await tokenFor(harness, ada.api, { application_id: id, scope: "offline_access" });
    const virtual = (await token.api.createUser({ body: { email: "v@example.com", first_name: "V", last_name: "U" } }))
      .body;
    await ada.api.createInvitation({ body: { email: "x@example.com", application_id: id } });
    await ada.api.deleteApplication({ params: { id } });
    expect(await harness.isAlive(token.token)).toBe(false);
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
    const left = recordsLeft(harness);
    expect([left.includes(id), left.includes(virtual.id)]).toEqual([false, false]);
  });
});
