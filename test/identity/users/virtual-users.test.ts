/** Virtual users: each within its application, and nobody else's. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { PERMISSIONS } from "../../../src/platform/auth/permissions.js";
import { openHttpHarness, outcome, type HttpHarness, type Person } from "../http-support.js";
import { newApplication, tokenFor } from "../tenants/support.js";

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

describe("a virtual user", () => {
  it("has an address that is unique only within its application", async () => {
    const [one, two] = [
      await tokenFor(harness, ada.api, { application_id: await newApplication(ada) }),
      await tokenFor(harness, eve.api, { application_id: await newApplication(eve) }),
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
    const one = await tokenFor(harness, ada.api, { application_id: await newApplication(ada) });
    const two = await tokenFor(harness, eve.api, { application_id: await newApplication(eve) });
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

  it("gets no more permissions than the restricted token of its application carries", async () => {
    const application_id = await newApplication(ada);
    const whole = await tokenFor(harness, ada.api, { application_id });
    const lesser = await tokenFor(harness, ada.api, {
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
    const token = await tokenFor(harness, ada.api, { application_id: await newApplication(ada) });
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
