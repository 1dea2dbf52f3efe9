/**
 * Every `Ident` method of npm provide-js 1.10.0, unchanged, against a real server: also those that the original
 * answered 404 or 501. SOURCE: the client's own code; a method that is not called here fails the test.
 */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { Ident, identClientFactory } from "provide-js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startServer, type TestServer } from "../support/server.js";

const PASSWORD = "a long phrase of my own";
const DIGEST = "9c22ff5f21f0b81b113e63f7db6da94fedef11b2119b4088b89664fb9a3cb658";

type Json = Record<string, unknown> & { id: string };
interface Listed {
  results: Json[];
  totalResultsCount: number;
}

const called = new Set<string>();
let server: TestServer;
let host: string;

beforeAll(async () => {
  server = await startServer();
  host = server.url.replace("http://", "");
});

afterAll(async () => {
  await server.dispose();
});

/**
 * The client, noting which methods are called; answers as plain JSON, because its own types are narrower than its
 * answers.
 */
function client(token: string): Record<string, (...args: unknown[]) => Promise<Json & Listed>> {
  return noted(identClientFactory(token, "http", host));
}

function noted(target: object): Record<string, (...args: unknown[]) => Promise<Json & Listed>> {
  return new Proxy(target, {
    get: (object, name) => {
      const method: unknown = Reflect.get(object, name);
      if (typeof method === "function") called.add(String(name));
      return typeof method === "function" ? (method.bind(object) as unknown) : method;
    },
  }) as never;
}

const statics = noted(Ident);

async function newUser(email: string): Promise<{ id: string; token: string; refresh: string }> {
  await statics.createUser!({ email, first_name: "Ada", last_name: "Lovelace", password: PASSWORD }, "http", host);
  const answer = (await statics.authenticate!(
    { email, password: PASSWORD, scope: "offline_access" },
    "http",
    host,
  )) as unknown as { user: { id: string }; token: { access_token: string; refresh_token: string } };
  return { id: answer.user.id, token: answer.token.access_token, refresh: answer.token.refresh_token };
}

/** The token in the last mail to an address, from the development mail folder. */
async function mailedToken(to: string): Promise<string> {
  const folder = join(server.dataDir, "mail");
  for (;;) {
    const names = ((): string[] => {
      try {
        return readdirSync(folder).sort();
      } catch {
        return [];
      }
    })();
    const texts = names
      .map((name) => readFileSync(join(folder, name), "utf8"))
      .filter((text) => text.includes(`To: ${to}`));
    const found = /^ {2}(p[a-z]{2}_\S+)$/m.exec(texts.at(-1) ?? "")?.[1];
    if (found !== undefined) return found;
    await new Promise((resolve) => {
      setTimeout(resolve, 20);
    });
  }
}

describe("provide-js Ident", () => {
  it("serves users, login, legal documents and status", async () => {
    const ada = await newUser("ada@example.com");
    const ident = client(ada.token);
    expect(await ident.fetchUsers!()).toMatchObject({ totalResultsCount: 1, results: [{ id: ada.id }] });
    expect(await ident.fetchUserDetails!(ada.id)).toMatchObject({
      id: ada.id,
      firstName: "Ada",
      metadata: { user_id: ada.id },
    });
    expect(await ident.updateUser!(ada.id, {})).toEqual({});
    await ident.updateUser!(ada.id, { first_name: "Augusta", privacy_policy_agreed_at: "2026-01-02T03:04:05.678901Z" });
    expect(await ident.fetchUserDetails!(ada.id)).toMatchObject({
      firstName: "Augusta",
      privacyPolicyAgreedAt: "2026-01-02T03:04:05.678Z",
    });
    expect(await statics.fetchPrivacyPolicy!("http", host)).toEqual({ content: null, href: null });
    expect(await statics.fetchTermsOfService!("http", host)).toEqual({ content: null, href: null });
    expect(await statics.fetchStatus!("http", host)).toMatchObject({ status: "ok" });
    expect(await statics.requestPasswordReset!("ada@example.com", "http", host)).toEqual({});
    expect(
      await statics.resetPassword!(await mailedToken("ada@example.com"), "another long phrase", "http", host),
    ).toEqual({});
    await expect(ident.fetchUsers!()).rejects.toMatchObject({ response: { status: 401 } });
    expect(
      await statics.authenticate!({ email: "ada@example.com", password: "another long phrase" }, "http", host),
    ).toMatchObject({ user: { id: ada.id } });
  });

  it("serves applications with their users, organizations, invitations and tokens", async () => {
    const owner = await newUser("owner@example.com");
    const ident = client(owner.token);
    const application = await ident.createApplication!({
      name: "Engine",
      description: "cards",
      config: { webhook_url: "https://example.com" },
    });
    expect(application).toMatchObject({ name: "Engine", userId: owner.id, hidden: false });
    expect((await ident.createApplication!({})).id).toBeDefined();
    expect(await ident.updateApplication!(application.id, { description: "gears" })).toEqual({});
    expect(await ident.fetchApplicationDetails!(application.id)).toMatchObject({
      description: "gears",
      config: { webhook_url: "https://example.com" },
    });
    expect(await ident.fetchApplications!({ page: 1, rpp: 10 })).toMatchObject({ totalResultsCount: 2 });

    const token = await ident.createToken!({ application_id: application.id, scope: "offline_access" });
    expect(token).toMatchObject({
      id: expect.any(String) as string,
      accessToken: expect.any(String) as string,
      refreshToken: expect.any(String) as string,
      expiresIn: 3600,
    });
    const app = client(String(token["accessToken"]));
    const virtual = await app.createUser!({ email: "virtual@example.com", first_name: "V", last_name: "User" });
    const session = (await app.authenticateApplicationUser!("virtual@example.com")) as unknown as {
      user: { id: string };
      token: { access_token: string };
    };
    expect(session.user.id).toBe(virtual.id);
    expect(await client(session.token.access_token).fetchUserDetails!(virtual.id)).toMatchObject({ id: virtual.id });

    expect(await app.fetchApplicationUsers!(application.id, {})).toMatchObject({ totalResultsCount: 2 });
    expect(await app.updateApplicationUser!(application.id, virtual.id, { permissions: 6 })).toEqual({});
    expect(await app.deleteApplicationUser!(application.id, virtual.id)).toBeUndefined();
    expect(await ident.createApplicationUser!(application.id, { user_id: owner.id })).toEqual({});
    expect(await app.fetchApplicationUsers!(application.id, {})).toMatchObject({ totalResultsCount: 1 });

    const organization = await ident.createOrganization!({ name: "Works" });
    expect(await app.createApplicationOrganization!(application.id, { organization_id: organization.id })).toEqual({});
    expect(await app.fetchApplicationOrganizations!(application.id, {})).toMatchObject({
      totalResultsCount: 1,
      results: [{ id: organization.id }],
    });
    expect(await app.updateApplicationOrganization!(application.id, organization.id, { permissions: 2 })).toEqual({});
    expect(await app.deleteApplicationOrganization!(application.id, organization.id)).toBeUndefined();

    expect(await ident.createInvitation!({ email: "guest@example.com", application_id: application.id })).toEqual({});
    expect(await ident.fetchApplicationInvitations!(application.id, {})).toMatchObject({
      results: [{ email: "guest@example.com" }],
    });
    expect(await ident.fetchApplicationTokens!(application.id, {})).toMatchObject({
      totalResultsCount: 1,
      results: [{ id: token.id }],
    });
    await expect(statics.fetchOAuthApplicationDetails!(application.id, "http", host)).rejects.toMatchObject({
      response: { status: 404 },
    });
    await server.as(owner.token).updateApplicationClient({
      params: { id: application.id },
      body: { redirect_uris: ["https://app.example.com/cb"] },
    });
    expect(await statics.fetchOAuthApplicationDetails!(application.id, "http", host)).toMatchObject({
      clientId: application.id,
      name: "Engine",
    });

    expect(await ident.fetchTokens!({})).toMatchObject({ totalResultsCount: 1 });
    expect(await app.fetchTokenDetails!(token.id)).toMatchObject({
      id: token.id,
      subject: `application:${application.id}`,
    });
    expect(await app.deleteToken!(token.id)).toBeUndefined();
    await expect(app.fetchTokens!({})).rejects.toMatchObject({ response: { status: 401 } });
    expect(await client(owner.refresh).createToken!({ grant_type: "refresh_token" })).toMatchObject({ expiresIn: 900 });
  });

  it("serves organizations with their members, invitations and vaults", async () => {
    const founder = await newUser("founder@example.com");
    const ident = client(founder.token);
    const organization = await ident.createOrganization!({ name: "Union", metadata: { country: "GB" } });
    expect(await ident.fetchOrganizations!({})).toMatchObject({ totalResultsCount: 1 });
    expect(await ident.fetchOrganizationDetails!(organization.id)).toMatchObject({
      name: "Union",
      metadata: { country: "GB" },
    });
    expect(await ident.updateOrganization!(organization.id, { name: "Grand Union" })).toEqual({});

    const guest = await newUser("member@example.com");
    expect(await ident.createInvitation!({ email: "member@example.com", organization_id: organization.id })).toEqual(
      {},
    );
    expect(await ident.fetchOrganizationInvitations!(organization.id, {})).toMatchObject({
      results: [{ email: "member@example.com" }],
    });
    expect(
      await client(guest.token).createOrganizationUser!(organization.id, {
        user_id: guest.id,
        invitation_token: await mailedToken("member@example.com"),
      }),
    ).toEqual({});
    expect(await ident.fetchOrganizationUsers!(organization.id, {})).toMatchObject({
      totalResultsCount: 2,
      results: [{ id: founder.id }, { id: guest.id, email: "member@example.com", permissions: 386 }],
    });
    expect(await ident.updateOrganizationUser!(organization.id, guest.id, { permissions: 2 })).toEqual({});
    expect(await ident.deleteOrganizationUser!(organization.id, guest.id)).toBeUndefined();

    const vaults = await ident.fetchOrganizationVaults!(organization.id, {});
    expect(vaults).toMatchObject({ totalResultsCount: 1, results: [{ name: "Union vault" }] });
    const vaultId = vaults.results[0]!.id;
    const key = await ident.createOrganizationVaultKey!(organization.id, vaultId, {
      type: "asymmetric",
      usage: "sign/verify",
      spec: "secp256k1",
      name: "signer",
    });
    expect(await ident.fetchOrganizationVaultKeys!(organization.id, vaultId, {})).toMatchObject({
      totalResultsCount: 2,
    });
    const { signature } = await ident.organizationVaultKeySignMessage!(organization.id, vaultId, key.id, DIGEST);
    expect(
      await ident.organizationVaultKeyVerifySignature!(organization.id, vaultId, key.id, DIGEST, signature),
    ).toMatchObject({ verified: true });
    expect(await ident.deleteOrganizationVaultKey!(organization.id, vaultId, key.id)).toBeUndefined();
    const secret = await ident.createOrganizationVaultSecret!(organization.id, vaultId, {
      name: "pin",
      type: "pin",
      value: "1234",
    });
    expect(await ident.fetchOrganizationVaultSecrets!(organization.id, vaultId, {})).toMatchObject({
      totalResultsCount: 1,
      results: [{ id: secret.id }],
    });
    expect(await ident.deleteOrganizationVaultSecret!(organization.id, vaultId, secret.id)).toBeUndefined();
  });

  it("was called whole: no method is left out", () => {
    const methods = Object.getOwnPropertyNames(Ident.prototype).filter((name) => name !== "constructor");
    const staticMethods = Object.getOwnPropertyNames(Ident).filter(
      (name) => typeof Reflect.get(Ident, name) === "function" && !/clientFactory/i.test(name),
    );
    expect([...methods, ...staticMethods].filter((name) => !called.has(name))).toEqual([]);
  });
});
