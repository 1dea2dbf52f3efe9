import Type from "typebox";
import { describe, expect, it } from "vitest";
import { requireUnchanged } from "../../../src/platform/contract/client-names.js";
import type { RouteSpec } from "../../../src/platform/contract/route.js";
import { closed, keptObject, nullable, Uuid } from "../../../src/platform/contract/schemas.js";
import { compileRoute } from "../../../src/platform/contract/validate.js";
import { AppError } from "../../../src/platform/errors.js";

const ID = "0f7ed7b3-7a4c-4f2e-8b3e-5f4a4a5b6c7d";
const Thing = closed({
  id: Uuid,
  created_at: Type.String(),
  network_id: nullable(Uuid),
  name: Type.String(),
  first_name: Type.String(),
});
const ROUTE: RouteSpec = {
  id: "updateThing",
  area: "chain",
  method: "PUT",
  path: "/api/v1/things/:id",
  summary: "Change a thing",
  auth: "public",
  params: closed({ id: Uuid }),
  body: closed({ name: Type.Optional(Type.String()), first_name: Type.Optional(Type.String()) }),
  responses: { 204: { description: "Changed" } },
};
const update = compileRoute({ ...ROUTE, sendsBack: Thing });
const strict = compileRoute(ROUTE);
const lenient = compileRoute({ ...ROUTE, anyCase: true });

function refusal(run: () => unknown): AppError {
  try {
    run();
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error("accepted");
}

describe("a PUT whose clients send back what they read", () => {
  it("takes the record as its GET answers it, and as a client in camel case has it", () => {
    const own = { name: "n", first_name: "f" };
    const rest = { id: ID, created_at: "2026-01-01T00:00:00.000Z", network_id: null };
    expect(update.body({ ...own, ...rest })).toEqual({ body: own, sentBack: rest });
    expect(update.body({ name: "n", firstName: "f", id: ID, createdAt: rest.created_at, networkId: null })).toEqual({
      body: own,
      sentBack: rest,
    });
  });

  it("changes what is sent in camel case, with the checks of its own name", () => {
    expect(update.body({ firstName: "Ada" }).body).toEqual({ first_name: "Ada" });
    expect(refusal(() => update.body({ firstName: 5 }))).toMatchObject({
      code: "invalid_request",
      details: [{ path: "first_name" }],
    });
  });

  it("refuses a member that is given in two spellings, and one that is of neither", () => {
    expect(refusal(() => update.body({ first_name: "a", firstName: "b" }))).toMatchObject({
      code: "invalid_request",
      details: [{ path: "first_name" }],
    });
    expect(refusal(() => update.body({ createdAt: "a", created_at: "b" })).code).toBe("invalid_request");
    expect(refusal(() => update.body({ frist_name: "a" })).code).toBe("unknown_member");
  });

  it("keeps what cannot change, in any case of an id", () => {
    const current = { id: ID, network_id: null, type: "a" };
    const names = ["id", "network_id", "type"] as const;
    for (const sentBack of [{}, { id: ID.toUpperCase() }, { network_id: null, type: "a", created_at: "whenever" }])
      expect(() => {
        requireUnchanged(sentBack, current, names);
      }).not.toThrow();
    for (const sentBack of [{ id: "other" }, { network_id: ID }, { type: null }, { type: ["a"] }])
      expect(
        refusal(() => {
          requireUnchanged(sentBack, current, names);
        }),
      ).toMatchObject({ code: "invalid_request", details: [{ path: Object.keys(sentBack)[0] }] });
  });
});

describe("other routes", () => {
  it("take only their own names unless they say otherwise", () => {
    expect(refusal(() => strict.body({ firstName: "a" })).code).toBe("unknown_member");
    expect(refusal(() => strict.body({ name: "n", id: ID })).code).toBe("unknown_member");
    expect(lenient.body({ First_name: "a" }).body).toEqual({ first_name: "a" });
    expect(refusal(() => lenient.body({ name: "n", id: ID })).code).toBe("unknown_member");
  });
});

describe("an object that keeps what it does not know", () => {
  const kept = compileRoute({
    ...ROUTE,
    body: keptObject(
      { max_fee_per_gas: Type.Optional(Type.String()), api_key: Type.Optional(Type.String()) },
      { patternProperties: { "^is_[a-z]+$": Type.Boolean() } },
    ),
  });

  it("keeps unknown members of any form", () => {
    const members = { image: "provide/ident", layer2: false, nested: { a: [1, null] }, token_symbol: "T", is_x: true };
    expect(kept.body({ ...members, api_key: "k" }).body).toEqual({ ...members, api_key: "k" });
  });

  it.each(["maxFeePerGas", "Max_fee_per_gas", "max_fee_pergas", "API_KEY", "apiKey"])(
    "refuses %s: a known member in another spelling would have no effect",
    (name) => {
      expect(refusal(() => kept.body({ [name]: "1" }))).toMatchObject({
        code: "unknown_member",
        details: [{ path: name }],
      });
    },
  );

  it.each(["password", "dbPassword", "client_secret", "privateKey", "wallet_mnemonic", "x_api_key", "access_token"])(
    "refuses %s: a secret would be stored and answered as plain text",
    (name) => {
      expect(refusal(() => kept.body({ [name]: "1" })).code).toBe("unknown_member");
    },
  );

  it.each(
    [
      "api-key",
      "token",
      "Token",
      "tokens",
      "rpc_token",
      "secretKey",
      "secret-key",
      "passwordHash",
      "password_hash",
    ].concat(["X-Api-Key", "x-auth-token", "passwords", "PRIVATE_KEYS", "credential", "aws_secret_access_key"]),
  )("refuses %s too, at every level", (name) => {
    for (const body of [
      { [name]: "1" },
      { a: { [name]: "1" } },
      { a: [{ [name]: "1" }] },
      { a: { b: [{ [name]: 1 }] } },
    ])
      expect(refusal(() => kept.body(body)).code, JSON.stringify(body)).toBe("unknown_member");
  });

  it.each(["token_symbol", "gas_token", "feeToken", "tokenomics", "secretary", "hash", "key", "public_key"])(
    "keeps %s, which names no secret, at every level",
    (name) => {
      const body = { [name]: "1", a: { [name]: ["1", null] }, b: [[{ [name]: { c: true } }]] };
      expect(kept.body(body).body).toEqual(body);
    },
  );

  it("refuses what lies too deep to be searched", () => {
    const nested = (levels: number): unknown => (levels === 0 ? 1 : { a: nested(levels - 1) });
    expect(kept.body({ m: nested(4) }).body).toEqual({ m: nested(4) });
    expect(refusal(() => kept.body({ m: nested(5) })).code).toBe("invalid_request");
  });

  it("bounds the number of members", () => {
    const many = Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`m${String(index)}`, index]));
    expect(refusal(() => kept.body(many)).code).toBe("invalid_request");
  });
});
