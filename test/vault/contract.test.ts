// The vault through its route definitions: bodies by the front's own validators, answers by the declared schemas.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TSchema } from "typebox";
import { Value } from "typebox/value";
import { permissionBits } from "../../src/platform/auth/permissions.js";
import type { Principal } from "../../src/platform/auth/principal.js";
import { JsonText } from "../../src/platform/json/json-text.js";
import { compileRoute } from "../../src/platform/contract/validate.js";
import { AppError } from "../../src/platform/errors.js";
import { vaultHandlers } from "../../src/vault/handlers.js";
import { vaultRoutes } from "../../src/vault/routes.js";
import { codeOf, openTestVault, PHRASE, sealBody, subject, type TestVault } from "./support.js";

type RouteName = keyof typeof vaultRoutes;

const principal: Principal = {
  subject: subject(),
  permissions: permissionBits(["create"]),
  tokenId: "t",
  sessionId: "s",
  expiresAtSec: 0,
};
let test: TestVault;

beforeAll(async () => {
  test = await openTestVault();
});
afterAll(async () => {
  await test.close();
});

async function call(
  name: RouteName,
  request: { params?: object; query?: object; body?: unknown } = {},
): Promise<{ status: number; body?: unknown; bytes?: Uint8Array; total?: number }> {
  const handler = vaultHandlers({ vault: test.vault, requireTenant: () => undefined })[name] as (
    request: unknown,
  ) => unknown;
  const given = (await handler({ principal, params: {}, query: { page: 1, rpp: 25 }, ...request })) as {
    status: number;
    body?: unknown;
    bytes?: Uint8Array;
  };
  const reply =
    given.body instanceof JsonText
      ? { ...given, body: JSON.parse(Buffer.from(given.body.text).toString()) as unknown }
      : given;
  const declared = (vaultRoutes[name].responses as Readonly<Record<number, { schema?: TSchema }>>)[reply.status];
  expect(declared, `${name} answers ${reply.status}`).toBeDefined();
  const body: unknown = given.bytes === undefined ? reply.body : JSON.parse(Buffer.from(given.bytes).toString());
  if (declared?.schema !== undefined) expect([...Value.Errors(declared.schema, body)], name).toEqual([]);
  return reply;
}

function bodyCode(name: RouteName, body: unknown): string {
  try {
    compileRoute(vaultRoutes[name]).body(body);
    return "accepted";
  } catch (error) {
    if (error instanceof AppError) return `${error.code} ${error.details.map((detail) => detail.message).join("; ")}`;
    throw error;
  }
}

describe("answers", () => {
  it("are of the declared status and shape on every route", async () => {
    const vault = (await call("createVault", { body: { name: "v" } })).body as { id: string };
    const params = { id: vault.id };
    const key = (
      await call("createKey", {
        params,
        body: { spec: "ChaCha20", type: "symmetric", usage: "encrypt/decrypt", name: "k", description: "d" },
      })
    ).body as { id: string };
    const keyParams = { ...params, key_id: key.id };
    const secret = (await call("createSecret", { params, body: { name: "n", type: "t", value: "v" } })).body as {
      id: string;
    };
    const secretParams = { ...params, secret_id: secret.id };
    await call("deriveKey", { params: keyParams, body: { nonce: 1, context: "c", name: "child" } });
    const sealed = (await call("encrypt", { params: keyParams, body: { message: "hello" } })).body as { data: string };
    expect((await call("decrypt", { params: keyParams, body: { message: sealed.data } })).body).toEqual({
      data: "hello",
    });
    for (const name of ["listVaults", "getVault", "listKeys", "listSecrets", "getSealStatus"] as const)
      expect((await call(name, { params })).status).toBe(200);
    expect((await call("listKeys", { params })).total).toBe(3);
    await call("getKey", { params: keyParams });
    expect((await call("getSecret", { params: secretParams })).body).toMatchObject({ value: "v" });
    const issued = await call("createUnsealerKey");
    expect(issued.status).toBe(201);
    expect(JSON.parse(Buffer.from(issued.bytes!).toString())).toMatchObject({
      validation_hash: expect.stringMatching(/^0x[0-9a-f]{64}$/) as string,
    });
    for (const [name, at] of [
      ["deleteSecret", secretParams],
      ["deleteKey", keyParams],
      ["deleteVault", params],
    ] as const)
      expect((await call(name, { params: at })).status).toBe(204);
    expect((await call("seal", { body: sealBody(PHRASE) })).status).toBe(204);
    expect((await call("unseal", { body: sealBody(PHRASE) })).status).toBe(204);
  });
});

describe("bodies", () => {
  it("with members that nobody may set are refused by name", () => {
    expect(bodyCode("encrypt", { data: "x", nonce: "000000000000" })).toMatch(/^unknown_member .*nonce/);
    for (const member of ["public_key", "private_key", "vault_id", "mnemonic", "seed", "ephemeral", "id"]) {
      expect(bodyCode("createKey", { spec: "ChaCha20", name: "k", [member]: "x" })).toMatch(
        new RegExp(`^unknown_member .*${member}`),
      );
    }
    for (const member of ["user_id", "application_id", "organization_id"])
      expect(bodyCode("createVault", { name: "v", [member]: "x" })).toMatch(/^invalid_request .*UUID/);
    expect(bodyCode("createSecret", { name: "n", type: "t", value: "v", vault_id: "x" })).toMatch(
      /^unknown_member .*vault_id/,
    );
  });

  it("are held to their types and limits", () => {
    expect(bodyCode("deriveKey", { context: "c", name: "n" })).toBe("accepted");
    for (const nonce of [0, 1, 2 ** 32 - 1])
      expect(bodyCode("deriveKey", { nonce, context: "c", name: "n" })).toBe("accepted");
    for (const nonce of [-1, 2 ** 32, 0.5, "1", null])
      expect(bodyCode("deriveKey", { nonce, context: "c", name: "n" })).toMatch(/^invalid_request/);
    for (const body of [
      { context: "", name: "n" },
      { context: 1, name: "n" },
      { context: "c", name: "" },
    ])
      expect(bodyCode("deriveKey", body)).toMatch(/^invalid_request/);
    for (const body of [
      {},
      { name: "" },
      { name: 1 },
      { name: "a\u0000" },
      { name: "v", description: 1 },
      [],
      null,
      "v",
    ])
      expect(bodyCode("createVault", body)).toMatch(/^invalid_request/);
    for (const body of [
      { name: "n", type: "t" },
      { name: "n", value: "v" },
      { type: "t", value: "v" },
      { name: "n", type: "t", value: "" },
    ])
      expect(bodyCode("createSecret", body)).toMatch(/^invalid_request/);
    expect(bodyCode("createKey", { name: "k" })).toMatch(/^invalid_request .*spec/);
  });
});

describe("routes", () => {
  it("need a token, but for the state of the seal, and an open vault wherever data is", () => {
    for (const route of Object.values(vaultRoutes)) {
      const isData = /^\/api\/v1\/(vaults|verify|bls)/.test(route.path);
      expect("needsUnsealed" in route && route.needsUnsealed, route.id).toBe(isData);
      expect(route.auth === "public", route.id).toBe(route.id === "getSealStatus");
    }
  });

  it("take the phrase as bytes only", async () => {
    for (const name of ["seal", "unseal"] as const) {
      expect(vaultRoutes[name].rawBody).toBe(true);
      expect(await codeOf(async () => await call(name, { body: Buffer.from("{}") }))).toBe("invalid_request");
    }
  });
});
