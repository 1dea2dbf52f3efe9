/** What requests keep in the commit by which they make applications and organizations. */
import { afterEach, beforeEach, expect, it } from "vitest";
import { identityRoutes } from "../../../src/identity/routes.js";
import type { FirstVault } from "../../../src/identity/tenants/organizations.js";
import type { AnyReply } from "../../../src/platform/contract/route.js";
import { cutOff, replayed, type CutOff } from "../../support/cut-off-answers.js";
import { openHttpHarness, type HttpHarness, type Person } from "../http-support.js";

const NOW = "2026-01-01T00:00:00.000Z";
const FIRST_VAULT = { puts: [{ key: ["vault", "of the organization"], value: NOW }] };

let harness: HttpHarness;
let ada: Person;
/** What the vault area does when an organization asks for its vault. */
let firstVault: FirstVault;

beforeEach(async () => {
  firstVault = () => Promise.resolve(FIRST_VAULT);
  harness = await openHttpHarness({}, { firstVault: async (...asked) => await firstVault(...asked) });
  ada = await harness.newUser("ada@example.com");
});

afterEach(async () => {
  await harness.server.stop({ graceMs: 0 });
});

async function cut(id: "createApplication" | "createOrganization", person: Person, body: object): Promise<CutOff> {
  const principal = await harness.identity.authenticate(person.token);
  const handler = harness.identity.handlers[id] as unknown as (request: object) => Promise<AnyReply>;
  return await cutOff(harness.store, identityRoutes[id], async (once) => await handler({ principal, body, once }));
}

it.each([
  ["createApplication", "application", ["application", "membership"]],
  ["createOrganization", "organization", ["membership", "organization", "vault"]],
] as const)("%s keeps its answer in the commit that makes the record", async (id, kind, made) => {
  const { reply, repeat, keeping } = await cut(id, ada, { name: "Engine" });
  const { id: madeId } = reply.body as { id: string };
  expect(reply).toMatchObject({ status: 201, headers: { location: `/api/v1/${kind}s/${madeId}` } });
  expect(repeat).toEqual(replayed(reply));
  expect(keeping.map((tables) => tables.filter((table) => table !== "subject_state"))).toEqual([made]);
});

it("the organization of an invitation is kept as the try made it that succeeded", async () => {
  const { id } = (await ada.api.createApplication({ body: {} })).body;
  const email = "bob@example.com";
  await ada.api.createInvitation({ body: { email, application_id: id, params: { is_organization_invite: true } } });
  const invitation_token = await harness.mailedToken(email);
  const bob = await harness.newUser(email);
  let tries = 0;
  firstVault = () => {
    tries += 1;
    return Promise.resolve(tries === 1 ? { checks: [{ key: ["vault"], version: 7 }] } : FIRST_VAULT);
  };
  const { reply, repeat } = await cut("createOrganization", bob, { name: "Bob's", invitation_token });
  expect(tries).toBe(2);
  expect(repeat).toEqual(replayed(reply));
  expect((await ada.api.listApplicationOrganizations({ params: { id } })).body.map((row) => row.id)).toEqual([
    (reply.body as { id: string }).id,
  ]);
});
