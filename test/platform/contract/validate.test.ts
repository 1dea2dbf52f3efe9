/** Validators of a route: what they accept, what they reject, and how the rejection is explained. */
import Type from "typebox";
import { describe, expect, it } from "vitest";
import { FINDINGS_MAX, explainRefusal } from "../../../src/platform/contract/explain.js";
import { RefusedItem } from "../../../src/platform/contract/refused-item.js";
import { defineRoute } from "../../../src/platform/contract/route.js";
import { Uuid, closed, nullable } from "../../../src/platform/contract/schemas.js";
import { compileRoute } from "../../../src/platform/contract/validate.js";
import { AppError, type ErrorDetail } from "../../../src/platform/errors.js";

const UPPER = "7A4C1F2E-1111-4222-8333-00000000000A";
const validator = compileRoute(
  defineRoute({
    id: "x",
    area: "prover",
    method: "POST",
    path: "/x/:id/:index",
    summary: "x",
    auth: "public",
    params: closed({ id: Uuid, index: Type.Integer({ minimum: 0, maximum: 10 }) }),
    query: closed({
      flag: Type.Optional(Type.Boolean()),
      count: Type.Optional(Type.Integer({ default: 3 })),
      ids: Type.Optional(Type.Array(Type.Integer(), { maxItems: 2 })),
      kind: Type.Optional(Type.Union([Type.Literal("a"), Type.Literal("b")])),
      limit: Type.Optional(nullable(Type.Integer())),
      ratio: Type.Optional(Type.Number({ minimum: 0 })),
      meta: Type.Optional(
        Type.Record(Type.String({ pattern: "^[a-z]+$" }), Type.String({ maxLength: 3 }), {
          maxProperties: 2,
          additionalProperties: false,
        }),
      ),
    }),
    body: closed({
      owner_id: Type.Optional(nullable(Uuid)),
      kind: Type.Union([Type.Literal("a"), Type.Literal("b")]),
      items: Type.Optional(Type.Array(closed({ n: Type.Integer({ minimum: 1 }) }), { maxItems: 30 })),
      source: Type.Optional(Type.Union([Type.String({ maxLength: 3 }), Type.Record(Type.String(), Type.String())])),
      email: Type.Optional(Type.String({ format: "email" })),
      code: Type.Optional(Type.String({ pattern: "^a+$" })),
    }),
    responses: { 204: { description: "x" } },
  }),
);

function refusal(run: () => unknown): AppError {
  try {
    run();
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error("was not refused");
}
const findings = (body: unknown): readonly ErrorDetail[] => refusal(() => validator.body(body)).details;

describe("path parameters", () => {
  it("become values of their types, UUIDs in lower case", () => {
    expect(validator.params({ id: UPPER, index: "10" })).toEqual({ id: UPPER.toLowerCase(), index: 10 });
  });

  it.each(["11", "-1", "01", "1.0", "1e1", "", "x"])("refuses the index %s", (index) => {
    expect(refusal(() => validator.params({ id: UPPER, index })).code).toBe("malformed_path");
  });
});

describe("query members", () => {
  it("become values of their types", () => {
    expect(validator.query("flag=true&ids=1&ids=2&kind=b&limit=5&ratio=0.5").members).toEqual({
      count: 3,
      flag: true,
      ids: [1, 2],
      kind: "b",
      limit: 5,
      ratio: 0.5,
    });
    expect(validator.query("").members).toEqual({ count: 3 });
    expect(validator.query("count=undefined&&").members).toEqual({ count: 3 });
  });

  it("become maps by a name with a key", () => {
    expect(validator.query("meta[a]=x&meta%5Bconstructor%5D=&count=1").members).toEqual({
      count: 1,
      meta: { a: "x", constructor: "" },
    });
  });

  it("that may be a UUID or another text keep the case of the other", () => {
    const either = compileRoute(
      defineRoute({
        id: "y",
        area: "prover",
        method: "GET",
        path: "/y/:id",
        summary: "y",
        auth: "public",
        params: closed({ id: Type.Union([Uuid, Type.String({ pattern: "^[A-Za-z]+:[A-Za-z]+$" })]) }),
        responses: { 204: { description: "y" } },
      }),
    );
    expect([either.params({ id: UPPER }), either.params({ id: "Name:Tag" })]).toEqual([
      { id: UPPER.toLowerCase() },
      { id: "Name:Tag" },
    ]);
  });

  it.each([
    "meta=x",
    "meta=x&meta[a]=y",
    "meta[a]=x&meta[a]=x",
    "meta[A]=x",
    "meta[]=x",
    "meta[__proto__]=x",
    "meta[a]=long",
    "meta[a]=1&meta[b]=1&meta[c]=1",
    "meta[a][b]=x",
    "flag[a]=true",
    "flag=1",
    "flag=TRUE",
    "flag=",
    "count=1.5",
    "count=9007199254740993",
    "ids=1&ids=x",
    "ids=1&ids=2&ids=3",
    "kind=c",
    "kind=a&kind=a",
    "nothing=1",
    "ratio=-1",
    "ratio=Infinity",
    "ratio=0x1",
  ])("refuses %s", (query) => {
    expect(refusal(() => validator.query(query)).status).toBe(422);
  });

  it.each(["flag=%", "flag=%zz", "flag=%C3"])("cannot read %s", (query) => {
    expect(refusal(() => validator.query(query)).code).toBe("malformed_request");
  });
});

describe("bodies", () => {
  it("pass when they have the declared form", () => {
    expect(
      validator.body({ kind: "a", owner_id: UPPER, items: [{ n: 1 }], source: { "main.circom": "x" } }).body,
    ).toMatchObject({ owner_id: UPPER.toLowerCase() });
    expect(validator.body({ kind: "b", owner_id: null, source: "abc" }).body).toBeTruthy();
  });

  it.each([
    [null, "the body: expected an object", undefined],
    [[], "the body: expected an object", undefined],
    ["x", "the body: expected an object", undefined],
    [{}, "kind: is missing", "kind"],
    [{ kind: "c" }, 'kind: expected one of "a", "b"', "kind"],
    [{ kind: "a", owner_id: 5 }, "owner_id: expected a UUID or null", "owner_id"],
    [{ kind: "a", owner_id: "5" }, "owner_id: expected a UUID", "owner_id"],
    [{ kind: "a", items: [{ n: 1 }, { n: 0 }] }, "items[1].n: must be at least 1", "items[1].n"],
    [{ kind: "a", items: [{ n: 1, m: 2 }] }, "items[0].m: is not a member of this request", "items[0].m"],
    [{ kind: "a", items: {} }, "items: expected a list", "items"],
    [{ kind: "a", source: "abcd" }, "source: must have at most 3 characters", "source"],
    [{ kind: "a", source: { x: 5 } }, "source.x: expected a string", "source.x"],
    [{ kind: "a", source: 5 }, "source: expected a string or an object", "source"],
    [{ kind: "a", email: "x" }, "email: expected an e-mail address", "email"],
    [{ kind: "a", code: "b" }, "code: has characters or a form that are not allowed here", "code"],
    [{ kind: "a", items: [{ n: 1.5 }] }, "items[0].n: expected an integer", "items[0].n"],
  ])("refuses %j", (body, message, path) => {
    const [first] = findings(body);
    expect(first?.message).toBe(message);
    expect(first?.path).toBe(path);
  });

  it("has the code unknown_member only when nothing else is wrong", () => {
    expect(refusal(() => validator.body({ kind: "a", x: 1 })).code).toBe("unknown_member");
    expect(refusal(() => validator.body({ kind: 5, x: 1 })).code).toBe("invalid_request");
  });

  it("bounds the findings, and the names that it repeats", () => {
    const many = Object.fromEntries(Array.from({ length: 1000 }, (_unused, n) => [`x${String(n)}`, 1]));
    expect(findings({ kind: "a", ...many }).length).toBe(FINDINGS_MAX);
    const [odd] = findings({ kind: "a", ["y".repeat(200)]: 1 });
    expect(odd?.path?.length).toBeLessThan(80);
    expect(findings({ kind: "a", "a\u0000\u001b[31m": 1 })[0]?.path).toBe("a??[31m");
  });

  it("never repeats a value", () => {
    const leak = "LEAK-ME";
    for (const body of [
      { kind: leak },
      { kind: "a", owner_id: leak },
      { kind: "a", source: leak },
      { kind: "a", email: leak },
      { kind: "a", code: leak },
      { kind: "a", items: leak },
      leak,
      [leak],
    ]) {
      expect(JSON.stringify(findings(body))).not.toContain(leak);
    }
  });

  it("treats a member named like a method of Object like any other", () => {
    for (const name of ["toString", "hasOwnProperty", "valueOf"])
      expect(findings({ kind: "a", [name]: 1 })[0]?.code).toBe("unknown_member");
    expect(findings(JSON.parse('{"kind":"a","__proto__":{"owner_id":null}}'))[0]?.code).toBe("unknown_member");
  });

  it("reports no valid member, whatever unions its schema has", () => {
    const schema = closed({
      id: Type.Integer(),
      place: nullable(Type.Union([Type.String({ pattern: "^0x[0-9a-f]{4}$" }), Type.Literal("0x"), Type.Literal("")])),
    });
    const paths = (value: unknown): (string | undefined)[] =>
      explainRefusal(schema, value, "the body").map(({ path }) => path);
    for (const place of ["0xab12", "0x", "", null]) expect(paths({ id: "x", place })).toEqual(["id"]);
    for (const place of ["0xab1", "zz", 1]) expect(paths({ id: 1, place })).toEqual(["place"]);
    expect(explainRefusal(schema, { id: 1, place: "zz" }, "the body")[0]?.message).toBe(
      'place: expected a string or "0x" or "" or null',
    );
  });

  it("says how to give a number beyond 2^53, where a text is allowed", () => {
    const integer = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
    const schema = closed({
      value: Type.Optional(Type.Union([integer, Type.String({ pattern: "^[0-9]+$" })])),
      nonce: Type.Optional(integer),
    });
    const message = (value: unknown): string | undefined => explainRefusal(schema, value, "the body")[0]?.message;
    for (const value of [2 ** 53, 1e20])
      expect(message({ value })).toBe(
        "value: is a number beyond 2^53 - 1, which is not exact in JSON: give it as a string",
      );
    expect(message({ value: -1 })).toBe("value: must be at least 0");
    expect(message({ value: 0.5 })).toBe("value: expected an integer or a string");
    expect(message({ nonce: 2 ** 53 })).toBe("nonce: must be at most 9007199254740991");
  });

  it("adds the schema's description when a text has the wrong form", () => {
    const text = Type.String({ pattern: "^[0-9]+$" });
    const schema = closed({
      value: Type.Union([Type.Integer(), text], { description: "an integer, or its decimal text" }),
      plain: Type.Optional(text),
    });
    const messages = (value: unknown): string[] =>
      explainRefusal(schema, value, "the body").map(({ message }) => message);
    expect(messages({ value: "1 ether" })).toEqual([
      "value: has characters or a form that are not allowed here (an integer, or its decimal text)",
    ]);
    expect(messages({ value: 1, plain: "x" })).toEqual(["plain: has characters or a form that are not allowed here"]);
  });

  it("says something even about a keyword that it does not know", () => {
    expect(explainRefusal(Type.String({ contentEncoding: "x" }), "y", "the body")).toEqual([
      { message: "the body: does not have the form that this route expects", code: "invalid_request" },
    ]);
  });
});

describe("batches whose items fail alone", () => {
  const items = closed({ n: Type.Optional(Type.Integer({ minimum: 1 })) });
  const batches = compileRoute(
    defineRoute({
      id: "x",
      area: "prover",
      method: "POST",
      path: "/x",
      summary: "x",
      auth: "public",
      body: closed({
        n: Type.Optional(Type.Integer()),
        batch: Type.Optional(Type.Array(items, { minItems: 1, maxItems: 200 })),
      }),
      itemsFailAlone: true,
      responses: { 204: { description: "x" } },
    }),
  );
  const read = (batch: readonly unknown[]): readonly unknown[] =>
    (batches.body({ batch }).body as { batch: readonly unknown[] }).batch;

  it("hold a refusal in the place of each refused item, which no body can pass for", () => {
    const [first, second, third] = read([{ n: 1 }, { n: "1" }, { refused: [] }]);
    expect(first).toEqual({ n: 1 });
    expect(second).toBeInstanceOf(RefusedItem);
    expect(second).toEqual(
      new RefusedItem([{ code: "invalid_request", message: "n: expected an integer", path: "n" }]),
    );
    expect(third).toEqual(new RefusedItem([expect.objectContaining({ code: "unknown_member", path: "refused" })]));
    expect(batches.body({ n: 1 }).body).toEqual({ n: 1 });
  });

  it("are refused as a whole where the batch itself is wrong", () => {
    for (const body of [{ batch: [] }, { batch: {} }, { batch: Array(201).fill({}) }, { batch: [{}], m: 1 }, []])
      expect(refusal(() => batches.body(body)).status, JSON.stringify(body)).toBe(422);
  });

  it("explain the first hundred refusals", () => {
    const refused = read(Array(150).fill({ n: 0 })) as RefusedItem[];
    expect(refused.map((item) => item.refused[0]!.path)).toEqual([
      ...Array<string>(100).fill("n"),
      ...Array<undefined>(50).fill(undefined),
    ]);
  });
});

describe("messages", () => {
  it("name the forms of a union of texts, and a member without a name", () => {
    const Reference = Type.Union([Uuid, Type.String({ pattern: "^\\w+:\\w+$", description: "`name:tag`" })]);
    const [id] = explainRefusal(Type.Object({ id: Reference }), { id: "cube" }, "the path");
    expect(id?.message).toBe("id: expected a UUID or `name:tag`");
    const Filter = Type.Record(Type.String({ pattern: "^[a-z]+$" }), Type.String(), { additionalProperties: false });
    const [meta] = explainRefusal(Type.Object({ meta: Filter }), { meta: { "": "1" } }, "the query");
    expect(meta).toMatchObject({ message: "meta[]: is not a member of this request", path: "meta[]" });
  });
});
