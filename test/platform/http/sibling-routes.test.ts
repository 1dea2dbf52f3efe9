/** Two routes under one path, told apart by the body; and a token that comes in a form (RFC 6750 section 2.2). */
import Type from "typebox";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../../src/platform/clock.js";
import { bindRoutes, defineRoute } from "../../../src/platform/contract/route.js";
import { closed } from "../../../src/platform/contract/schemas.js";
import { AppError } from "../../../src/platform/errors.js";
import { createServer, type Server } from "../../../src/platform/http/server.js";
import { testDriver } from "../../support/http-driver.js";
import { recordedLog } from "../../support/silent-log.js";

const responses = { 200: { description: "who", schema: closed({ who: Type.String() }) } } as const;
const routes = {
  login: defineRoute({
    id: "login",
    area: "identity",
    method: "POST",
    path: "/things",
    summary: "log in",
    auth: "public",
    body: closed({ name: Type.String() }),
    bodyBytesMax: 200,
    responses,
  }),
  make: defineRoute({
    id: "make",
    area: "chain",
    method: "POST",
    path: "/made",
    summary: "make",
    auth: { permissions: [] },
    body: closed({ color: Type.String() }),
    bodyBytesMax: 1000,
    responses,
  }),
  ask: defineRoute({
    id: "ask",
    area: "identity",
    method: "POST",
    path: "/ask",
    summary: "ask",
    auth: { permissions: [] },
    form: true,
    bearerInForm: true,
    bodyBytesMax: 300,
    body: Type.Object({ access_token: Type.Optional(Type.String()) }, { additionalProperties: true }),
    bodyOptional: true,
    responses,
  }),
} as const;

let server: Server;
let url: string;
/** Areas for which tokens were verified. */
const areas: string[] = [];

beforeAll(async () => {
  const [login, make, ask] = bindRoutes(routes, {
    login: ({ body }) => ({ status: 200 as const, body: { who: `login ${body.name}` } }),
    make: ({ principal }) => ({ status: 200 as const, body: { who: principal.subject.id } }),
    ask: ({ principal }) => ({ status: 200 as const, body: { who: principal.subject.id } }),
  });
  if (login === undefined || make === undefined || ask === undefined) throw new Error("all are bound");
  const isMeant = (body: unknown): boolean => typeof body === "object" && body !== null && "color" in body;
  server = createServer(
    // Nothing is earned back within the test: one request at most, and another by its burst.
    { host: "127.0.0.1", port: 0, limits: { writesPerSec: 0.5 } },
    {
      routes: [{ ...login, sibling: { bound: make, isMeant } }, ask],
      authenticate: (token, area) => {
        areas.push(area);
        if (!token.startsWith("user:")) throw new AppError("unauthorized", { message: "unauthorized" });
        const subject = { kind: "user", id: token.slice("user:".length) } as const;
        return { subject, permissions: 0, sessionId: "s", tokenId: "t", expiresAtSec: 2_000_000_000 };
      },
      driver: testDriver,
      isUnsealed: () => true,
      log: recordedLog(),
      clock: { ...systemClock, monotonicMs: () => 1 },
    },
  );
  url = `http://127.0.0.1:${String((await server.listen()).port)}`;
});
afterAll(async () => {
  await server.stop({ graceMs: 0 });
});

async function post(
  path: string,
  {
    token,
    body,
    type = "application/json",
  }: { readonly token?: string; readonly body: string; readonly type?: string },
) {
  const headers = { "content-type": type, ...(token === undefined ? {} : { authorization: `bearer ${token}` }) };
  const answer = await fetch(`${url}${path}`, { method: "POST", headers, body });
  const json = (await answer.json()) as { who?: string; errors?: { code: string }[] };
  return `${String(answer.status)} ${json.who ?? json.errors?.[0]?.code ?? ""}`;
}
const FORM = "application/x-www-form-urlencoded";
const token = (n: number): string => `user:00000000-0000-4000-8000-00000000000${String(n)}`;
const id = (n: number): string => token(n).slice("user:".length);
const red = JSON.stringify({ color: "red" });

describe("the sibling of a route", () => {
  it("has its own caller, rate and limits", async () => {
    areas.length = 0;
    expect(await post("/things", { token: token(1), body: red })).toBe(`200 ${id(1)}`);
    expect(await post("/things", { token: token(1), body: red })).toBe("429 too_many_requests");
    expect(await post("/things", { token: token(2), body: red })).toBe(`200 ${id(2)}`);
    expect(areas).toEqual(["chain", "chain", "chain"]);
    // The address has its whole rate left.
    expect(await post("/things", { body: JSON.stringify({ name: "Ada" }) })).toBe("200 login Ada");
    expect(await post("/things", { body: JSON.stringify({ name: "Ada" }) })).toBe("429 too_many_requests");
    expect(await post("/things", { token: token(3), body: `${red}${" ".repeat(900)}` })).toBe(`200 ${id(3)}`);
    expect(await post("/things", { token: token(4), body: `${red}${" ".repeat(1000)}` })).toBe("413 body_too_large");
    expect(await post("/things", { body: `${red}${" ".repeat(900)}` })).toBe("413 body_too_large");
    expect(await post("/things", { token: "forged", body: `${red}${" ".repeat(900)}` })).toBe("413 body_too_large");
    const login = JSON.stringify({ name: "x".repeat(900) });
    expect(await post("/things", { token: token(4), body: login })).toBe("413 body_too_large");
  });

  it("needs a token, and its schema", async () => {
    expect(await post("/things", { body: red })).toBe("401 unauthorized");
    expect(await post("/things", { token: token(5), body: JSON.stringify({ color: 1 }) })).toBe("422 invalid_request");
  });
});

describe("a token in a form", () => {
  it("is that of the request", async () => {
    const access_token = token(6);
    expect(await post("/ask", { type: FORM, body: new URLSearchParams({ access_token }).toString() })).toBe(
      `200 ${id(6)}`,
    );
    expect(await post("/ask", { token: token(7), type: FORM, body: "" })).toBe(`200 ${id(7)}`);
    expect(await post("/ask", { token: token(8), type: FORM, body: "a=b" })).toBe(`200 ${id(8)}`);
  });

  it("is refused when it is wrong, missing, given more than once, or no form's", async () => {
    const form = new URLSearchParams({ access_token: token(9) }).toString();
    expect(await post("/ask", { type: FORM, body: "access_token=forged" })).toBe("401 unauthorized");
    expect(await post("/ask", { type: FORM, body: "a=b" })).toBe("401 unauthorized");
    expect(await post("/ask", { type: FORM, body: `${form}&${form}` })).toBe("400 malformed_request");
    expect(await post("/ask", { token: token(9), type: FORM, body: form })).toBe("400 malformed_request");
    expect(await post("/ask", { body: JSON.stringify({ access_token: token(9) }) })).toBe("401 unauthorized");
    expect(await post("/ask", { type: FORM, body: `${form}&pad=${"x".repeat(400)}` })).toBe("413 body_too_large");
  });
});
