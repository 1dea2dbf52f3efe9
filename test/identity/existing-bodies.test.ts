/** Bodies that existing clients send, and lists by name. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openHttpHarness, outcome, type HttpHarness, type Person } from "./http-support.js";
import { PASSWORD } from "./support.js";

let harness: HttpHarness;
let ada: Person;
let bob: Person;
beforeEach(async () => {
  harness = await openHttpHarness();
  ada = await harness.newUser("ada@example.com");
  bob = await harness.newUser("bob@example.com");
});
afterEach(async () => {
  await harness.server.stop({ graceMs: 0 });
});

/** Sends a body as it stands, whatever the typed client would allow. */
async function send(person: Person, method: string, path: string, body?: object): Promise<Response> {
  return await fetch(`${harness.url}/api/v1/${path}`, {
    method,
    headers: { authorization: `bearer ${person.token}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

const read = async (person: Person, path: string): Promise<Record<string, unknown>> =>
  (await (await send(person, "GET", path)).json()) as Record<string, unknown>;
const statusAndPath = async (answer: Response): Promise<unknown[]> => {
  const { errors } = (await answer.json()) as { errors: { path?: string }[] };
  return [answer.status, errors[0]?.path];
};
/** A record as Go and JavaScript clients spell it. */
const camel = (record: object): object =>
  Object.fromEntries(
    Object.entries(record).map(([name, value]) => [
      name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()),
      value as unknown,
    ]),
  );

describe.each(["applications", "organizations"])("%s", (kind) => {
  it("take the caller as owner, and no other user", async () => {
    for (const owner of [ada.id, null, undefined])
      expect((await send(ada, "POST", kind, { name: "Engines", user_id: owner })).status).toBe(201);
    for (const owner of [bob.id, "00000000-0000-4000-8000-000000000000"])
      expect(await statusAndPath(await send(ada, "POST", kind, { name: "Engines", user_id: owner }))).toEqual([
        404,
        "user_id",
      ]);
  });

  it("take back what a client read, in either spelling, and refuse another id or owner", async () => {
    const { id } = (await (await send(ada, "POST", kind, { name: "Engines", userId: ada.id })).json()) as {
      id: string;
    };
    const record = await read(ada, `${kind}/${id}`);
    for (const body of [record, camel(record)])
      expect((await send(ada, "PUT", `${kind}/${id}`, { ...body, name: "Cards" })).status).toBe(204);
    expect(await read(ada, `${kind}/${id}`)).toEqual({ ...record, name: "Cards" });
    for (const member of ["id", "user_id"])
      expect(await statusAndPath(await send(ada, "PUT", `${kind}/${id}`, { ...record, [member]: bob.id }))).toEqual([
        422,
        member,
      ]);
    expect(await statusAndPath(await send(ada, "PUT", `${kind}/${id}`, { colour: "red" }))).toEqual([422, "colour"]);
  });

  it("are listed by name, with the number of all that have it", async () => {
    for (const name of ["Looms", "Looms", "Other"]) await send(ada, "POST", kind, { name });
    const answer = await send(ada, "GET", `${kind}?name=Looms&rpp=1`);
    expect(answer.headers.get("x-total-results-count")).toBe("2");
    expect(await answer.json()).toHaveLength(1);
    expect(await (await send(ada, "GET", `${kind}?name=loom`)).json()).toEqual([]);
  });
});

describe("an application", () => {
  it("records an organization that the caller may see, and no other", async () => {
    const { id } = (await (await send(ada, "POST", "organizations", { name: "Mine" })).json()) as { id: string };
    const made = await send(ada, "POST", "applications", { name: "A", Organization_id: id });
    expect([made.status, ((await made.json()) as { organization_id: string }).organization_id]).toEqual([201, id]);
    expect(await statusAndPath(await send(bob, "POST", "applications", { name: "A", organization_id: id }))).toEqual([
      404,
      "organization_id",
    ]);
  });

  it("keeps what it does not know inside config", async () => {
    const config = { webhook: { url: "https://example.com" }, colours: ["red"], nothing: null };
    const made = (await (await send(ada, "POST", "applications", { config })).json()) as { id: string };
    expect((await read(ada, `applications/${made.id}`))["config"]).toEqual(config);
  });
});

describe("a user", () => {
  it("takes back what a client read, and one name for two", async () => {
    const record = await read(ada, `users/${ada.id}`);
    for (const body of [record, camel(record), { ...record, name: "Augusta Ada King" }])
      expect((await send(ada, "PUT", `users/${ada.id}`, body)).status).toBe(204);
    // The members of the record win over its `name`.
    expect(await read(ada, `users/${ada.id}`)).toEqual(record);
    expect((await send(ada, "PUT", `users/${ada.id}`, { name: "Augusta Ada King" })).status).toBe(204);
    expect(await read(ada, `users/${ada.id}`)).toMatchObject({ first_name: "Augusta", last_name: "Ada King" });
    expect((await send(ada, "PUT", `users/${ada.id}`, { ...record, id: bob.id })).status).toBe(422);
    expect((await send(ada, "PUT", `users/${ada.id}`, record)).status).toBe(204);
  });

  it("is found by name, by administrators and among members", async () => {
    const root = await harness.newAdministrator();
    await harness.anonymous.createUser({
      body: { email: "grace@example.com", password: PASSWORD, first_name: "Grace", last_name: "Hopper" },
    });
    const found = await root.api.listUsers({ query: { name: "Grace Hopper" } });
    expect([found.total, found.body.map(({ email }) => email)]).toEqual([1, ["grace@example.com"]]);
    expect((await bob.api.listUsers({ query: { name: "Grace Hopper" } })).total).toBe(0);
    const { body: place } = await bob.api.createOrganization({ body: { name: "Place" } });
    for (const [name, count] of [
      ["Ada Lovelace", 1],
      ["Nobody", 0],
    ] as const)
      expect((await bob.api.listOrganizationUsers({ params: { id: place.id }, query: { name } })).total).toBe(count);
  });
});

describe("an invitation", () => {
  it("takes the caller as inviter, and no other user", async () => {
    const body = { email: "joan@example.com", first_name: "Joan", name: "Ada Lovelace", invitor_name: null };
    for (const user_id of [ada.id, null])
      expect((await send(ada, "POST", "invitations", { ...body, user_id })).status).toBe(204);
    expect(await statusAndPath(await send(ada, "POST", "invitations", { ...body, user_id: bob.id }))).toEqual([
      404,
      "user_id",
    ]);
    expect((await ada.api.listInvitations({})).body).toMatchObject([{ name: "Joan", first_name: "Joan" }]);
  });

  it("says nothing in its mail that a client chose as the inviter's name", async () => {
    const body = { email: "joan@example.com", name: "Your bank", invitor_name: "Your bank" };
    expect((await send(ada, "POST", "invitations", body)).status).toBe(204);
    await harness.identity.services.outbox.idle();
    const [mail] = harness.mails.filter(({ to }) => to === body.email);
    expect(mail?.text).toMatch(/invit/);
    expect(JSON.stringify(mail)).not.toContain("bank");
  });
});

describe("a list of invitations", () => {
  it("is filtered by name", async () => {
    await ada.api.createInvitation({ body: { email: "joan@example.com", first_name: "Joan", last_name: "Clarke" } });
    expect((await ada.api.listInvitations({ query: { name: "Joan Clarke" } })).total).toBe(1);
    expect((await ada.api.listInvitations({ query: { name: "Joan" } })).total).toBe(0);
    expect(await outcome(ada.api.listInvitations({ query: { name: "x".repeat(202) } }))).toBe("422 invalid_request");
  });
});

describe("a list of tokens", () => {
  it("is filtered by the name of personal access tokens, of a user and of a tenant", async () => {
    const create = async (api: Person["api"], name: string) => api.createPersonalToken({ body: { name } });
    for (const name of ["nightly", "nightly", "other"]) await create(ada.api, name);
    const all = (await ada.api.listTokens({})).total;
    const found = await ada.api.listTokens({ query: { name: "nightly", rpp: 1 } });
    expect([all, found.total, found.body.map(({ name }) => name)]).toEqual([4, 2, ["nightly"]]);
    for (const name of ["night", "", "Nightly", "session"])
      expect((await ada.api.listTokens({ query: { name } })).total, name).toBe(0);
    const root = await harness.newAdministrator();
    expect((await root.api.listTokens({ query: { name: "other", user_id: ada.id } })).total).toBe(1);
    expect((await root.api.listTokens({ query: { name: "other" } })).total).toBe(0);
    for (const [kind, member] of [
      ["applications", "application_id"],
      ["organizations", "organization_id"],
    ] as const) {
      const { id } = (await (await send(ada, "POST", kind, { name: "Engines" })).json()) as { id: string };
      const tenant = (await ada.api.createToken({ body: { [member]: id } })).body.access_token;
      await create(harness.as(tenant), "deploy");
      const count = async (query: string) =>
        (await send(ada, "GET", `${kind}/${id}/tokens${query}`)).headers.get("x-total-results-count");
      expect([await count(""), await count("?name=deploy"), await count("?name=other")]).toEqual(["2", "1", "0"]);
    }
  });

  it("is revoked as a whole only: a name is refused and revokes nothing", async () => {
    expect(await statusAndPath(await send(ada, "DELETE", "tokens?name=nightly"))).toEqual([422, "name"]);
    expect(await harness.isAlive(ada.token)).toBe(true);
  });
});

it("the list of published keys says how many there are", async () => {
  const answer = await fetch(`${harness.url}/.well-known/keys`);
  expect(answer.headers.get("x-total-results-count")).toBe(String(((await answer.json()) as unknown[]).length));
});
