/**
 * Tokens of an external OpenID Connect issuer, from a double on this machine: who gets in, as whom, and what is
 * fetched.
 */
import { createServer as createHttpServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { SignJWT, exportJWK, generateKeyPair, type CryptoKey, type JWK } from "jose";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { IdentityRepository } from "../../../src/identity/repository.js";
import { TenantAccess } from "../../../src/identity/tenants/tenant-access.js";
import { TenantRepository } from "../../../src/identity/tenants/tenant-repository.js";
import { ExternalUsers } from "../../../src/identity/users/external-users.js";
import { ExternalIssuers, type TrustedIssuer } from "../../../src/platform/auth/external-issuers.js";
import { NEW_USER_PERMISSIONS, PERMISSIONS } from "../../../src/platform/auth/permissions.js";
import { quietLog } from "../../platform/auth/support.js";
import { codeOf, logIn, openHarness, signUp, type Harness } from "../support.js";

const ISSUER = "https://login.example.com/realm";
const AUDIENCE = "proofwright";

let jwksServer: Server;
let fetches: number;
let publicJwk: JWK;
let privateKey: CryptoKey;
let harness: Harness;
let jwksUrl: string;
/** What the issuer answers in place of its keys. */
let broken: { readonly status: number; readonly body: string } | undefined;

beforeEach(async () => {
  const pair = await generateKeyPair("ES256", { extractable: true });
  privateKey = pair.privateKey;
  publicJwk = { ...(await exportJWK(pair.publicKey)), kid: "one", alg: "ES256" };
  fetches = 0;
  broken = undefined;
  jwksServer = createHttpServer((_request, response) => {
    fetches += 1;
    if (broken !== undefined) response.statusCode = broken.status;
    response.setHeader("content-type", "application/json").end(broken?.body ?? JSON.stringify({ keys: [publicJwk] }));
  });
  await new Promise<void>((resolve) => {
    jwksServer.listen(0, "127.0.0.1", resolve);
  });
  jwksUrl = `http://127.0.0.1:${String((jwksServer.address() as AddressInfo).port)}/jwks`;
  harness = await openWith({});
});

afterEach(async () => {
  await new Promise((resolve) => {
    jwksServer.close(resolve);
  });
});

async function openWith(changes: Partial<TrustedIssuer>): Promise<Harness> {
  return openHarness({ trustedIssuers: [{ issuer: ISSUER, jwks_url: jwksUrl, audience: AUDIENCE, ...changes }] });
}

function payload(changes: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  const nowSec = Math.floor(harness.clock.ms / 1000);
  return {
    iss: ISSUER,
    aud: AUDIENCE,
    sub: "abc|123",
    iat: nowSec,
    exp: nowSec + 300,
    email: "Ada@example.com",
    given_name: "Ada",
    family_name: "L",
    ...changes,
  };
}

async function token(
  changes: Readonly<Record<string, unknown>> = {},
  header: Readonly<Record<string, unknown>> = {},
  key: CryptoKey | Uint8Array = privateKey,
): Promise<string> {
  return new SignJWT(payload(changes)).setProtectedHeader({ alg: "ES256", kid: "one", ...header }).sign(key);
}

async function verdict(text: string): Promise<string> {
  return codeOf(async () => harness.identity.authenticate(text, "prover"));
}

describe("a token of a trusted issuer", () => {
  it("stands for one local user, made at the first visit, by issuer and subject", async () => {
    const first = await harness.identity.authenticate(await token(), "vault");
    expect(first).toMatchObject({ subject: { kind: "user" }, permissions: NEW_USER_PERMISSIONS });
    expect((await harness.identity.authenticate(await token({ email: "other@example.com" }))).subject).toEqual(
      first.subject,
    );
    expect((await harness.identity.authenticate(await token({ sub: "abc|124" }))).subject).not.toEqual(first.subject);
    expect(harness.identity.services.users.get(first, first.subject.id)).toMatchObject({
      first_name: "Ada",
      email: "ada@example.com",
      metadata: { email_verified: false },
    });
  });

  it("opens no account with the same address, and does not block the address", async () => {
    const ada = await signUp(harness, "ada@example.com");
    const external = await harness.identity.authenticate(await token());
    expect(external.subject.id).not.toBe(ada.id);
    expect((await logIn(harness, "ada@example.com")).user.id).toBe(ada.id);
    expect(await codeOf(() => signUp(harness, "ada@example.com"))).toBe("email_taken");
  });

  it("used in several first requests at once creates one user", async () => {
    const tokens = await Promise.all(Array.from({ length: 6 }, async (_, i) => token({ jti: String(i) })));
    const principals = await Promise.all(tokens.map(async (text) => harness.identity.authenticate(text)));
    expect(new Set(principals.map(({ subject }) => subject.id)).size).toBe(1);
  });

  it("maps claims and permissions as the operator configured, and creates no user where that is off", async () => {
    harness = await openWith({ claims: { subject: "oid", email: "upn" }, permissions: PERMISSIONS.read });
    const mapped = await harness.identity.authenticate(await token({ oid: "object-1", upn: "x@example.com" }));
    expect(mapped.permissions).toBe(PERMISSIONS.read);
    harness = await openWith({ create_users: false });
    expect(await verdict(await token())).toBe("unauthorized");
    expect(harness.store.range(["user"])).toEqual([]);
  });

  it("is void once it has expired, and once its user's tokens are voided", async () => {
    const text = await token();
    const { subject } = await harness.identity.authenticate(text);
    expect(await verdict(text)).toBe("ok");
    await harness.identity.services.tokens.revokeAllOf(subject);
    expect(await verdict(text)).toBe("unauthorized");
    const next = await token({ jti: "next" });
    expect(await verdict(next)).toBe("ok");
    harness.clock.advanceSec(331);
    expect(await verdict(next)).toBe("unauthorized");
  });
});

describe("a token that was verified", () => {
  it("is verified again after a minute, and not before", async () => {
    const repository = new IdentityRepository({ store: harness.store });
    const access = new TenantAccess({ repository, tenants: new TenantRepository({ store: harness.store }) });
    const issuers = new ExternalIssuers(
      { issuers: [{ issuer: ISSUER, jwks_url: jwksUrl, audience: AUDIENCE }] },
      { clock: harness.clock, log: quietLog },
    );
    const verify = vi.spyOn(issuers, "verify");
    const users = new ExternalUsers({ issuers, repository, access, clock: harness.clock, log: quietLog });
    const text = await token();
    for (const [seconds, verifications] of [
      [0, 1],
      [59, 1],
      [2, 2],
    ] as const) {
      harness.clock.advanceSec(seconds);
      await users.authenticate(text);
      expect(verify).toHaveBeenCalledTimes(verifications);
    }
  });
});

describe("a token that only claims to be of a trusted issuer", () => {
  const cases: readonly (readonly [string, () => Promise<string>])[] = [
    ["for another audience", () => token({ aud: "other" })],
    ["without audience", () => token({ aud: undefined })],
    ["expired", () => token({ exp: Math.floor(harness.clock.ms / 1000) - 60 })],
    ["without expiry", () => token({ exp: undefined })],
    ["without issue time", () => token({ iat: undefined })],
    ["issued a day ago", () => token({ iat: Math.floor(harness.clock.ms / 1000) - 25 * 3600 })],
    ["not valid yet", () => token({ nbf: Math.floor(harness.clock.ms / 1000) + 600 })],
    ["of an issuer that is spelled alike", () => token({ iss: `${ISSUER}/` })],
    ["without subject", () => token({ sub: undefined })],
    ["with an empty subject", () => token({ sub: "" })],
    ["with a subject of another type", () => token({ sub: 7 })],
    ["with a subject that is too long", () => token({ sub: "x".repeat(256) })],
    [
      "signed with the public key as a secret",
      () => token({}, { alg: "HS256" }, Buffer.from(JSON.stringify(publicJwk))),
    ],
    ["signed by a key of the forger", async () => token({}, {}, (await generateKeyPair("ES256")).privateKey)],
    [
      "without signature",
      async () =>
        `${Buffer.from('{"alg":"none"}').toString("base64url")}.${Buffer.from(JSON.stringify(payload())).toString("base64url")}.`,
    ],
  ];

  it.each(cases)("%s is refused, and makes no user", async (_name, make) => {
    expect(await verdict(await make())).toBe("unauthorized");
    expect(harness.store.range(["user"])).toEqual([]);
  });

  it("causes no request to an address that it names, and few for unknown key ids", async () => {
    const trap = createHttpServer((_request, response) => {
      fetches += 1000;
      response.end("{}");
    });
    await new Promise<void>((resolve) => {
      trap.listen(0, "127.0.0.1", resolve);
    });
    const url = `http://127.0.0.1:${String((trap.address() as AddressInfo).port)}/`;
    try {
      for (let i = 0; i < 10; i++)
        expect(await verdict(await token({}, { kid: `unknown ${String(i)}`, jku: url, x5u: url }))).toBe(
          "unauthorized",
        );
      expect(fetches).toBeLessThanOrEqual(2);
      await verdict(await token({ iss: url }));
      expect(fetches).toBeLessThanOrEqual(2);
    } finally {
      await new Promise((resolve) => {
        trap.close(resolve);
      });
    }
  });
});

describe("an issuer whose keys cannot be had", () => {
  it.each([
    { status: 500, body: "{}" },
    { status: 200, body: "<html>" },
    { status: 200, body: '{"keys":1}' },
    { status: 200, body: `{"keys":[],"pad":"${"x".repeat(2 ** 18)}"}` },
  ])("is asked again after a while only, and then lets its users in ($status $body.length)", async (answer) => {
    broken = answer;
    for (let tried = 0; tried < 5; tried += 1)
      expect(await verdict(await token({ jti: String(tried) }))).toBe("unauthorized");
    expect(fetches).toBe(1);
    broken = undefined;
    harness.clock.advanceSec(9);
    expect([await verdict(await token()), fetches]).toEqual(["unauthorized", 1]);
    harness.clock.advanceSec(1);
    expect([await verdict(await token()), fetches]).toEqual(["ok", 2]);
  });

  it("keeps users whose key is known, while unknown key ids cause no more fetches", async () => {
    const known = await token();
    expect(await verdict(known)).toBe("ok");
    await new Promise((resolve) => {
      jwksServer.close(resolve);
    });
    for (let tried = 0; tried < 5; tried += 1)
      expect(await verdict(await token({}, { kid: `unknown ${String(tried)}` }))).toBe("unauthorized");
    expect([await verdict(await token({ jti: "next" })), fetches]).toEqual(["ok", 1]);
  });
});
