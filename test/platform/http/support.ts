/** A server with routes that do one thing each, and a raw socket beside `fetch`, for the tests of src/platform/http. */
import net from "node:net";
import Type from "typebox";
import { vi } from "vitest";
import type { Principal } from "../../../src/platform/auth/principal.js";
import { PERMISSIONS, permissionBits, type PermissionName } from "../../../src/platform/auth/permissions.js";
import { systemClock, type Clock } from "../../../src/platform/clock.js";
import {
  bindRoutes,
  defineRoute,
  type BoundRoute,
  type FileAnswer,
  type HandlersFor,
} from "../../../src/platform/contract/route.js";
import { IdParams, Uuid, closed, nullable } from "../../../src/platform/contract/schemas.js";
import { AppError } from "../../../src/platform/errors.js";
import type { LogFields } from "../../../src/platform/log.js";
import type { HttpMetrics } from "../../../src/platform/http/response/request-log.js";
import type { IdempotencyStore } from "../../../src/platform/http/limits/idempotency.js";
import type { HttpLimits } from "../../../src/platform/http/limits/limits.js";
import type { HttpDriver } from "../../../src/platform/http/drivers/driver.js";
import { createServer, type Server, type ServerOptions } from "../../../src/platform/http/server.js";
import { untilAborted } from "../../support/aborted.js";
import { testDriver } from "../../support/http-driver.js";

const READ = { permissions: ["read"] } as const;
const Thing = closed({ id: Uuid, name: Type.String() });
export const THING_ID = "7a4c1f2e-1111-4222-8333-000000000001";
/** Cap of the route `echo`. */
export const ECHO_BYTES_MAX = 1000;

export const testRoutes = {
  listThings: defineRoute({
    id: "listThings",
    area: "prover",
    method: "GET",
    path: "/api/v1/things",
    summary: "List things",
    auth: READ,
    list: true,
    query: closed({
      name: Type.Optional(Type.String({ maxLength: 50 })),
      old: Type.Optional(Type.Boolean({ default: true })),
      tag: Type.Optional(Type.Array(Type.String(), { maxItems: 3 })),
      meta: Type.Optional(Type.Record(Type.String(), Type.String())),
    }),
    responses: { 200: { description: "Things", schema: Type.Array(Thing) } },
  }),
  createThing: defineRoute({
    id: "createThing",
    area: "prover",
    method: "POST",
    path: "/api/v1/things",
    summary: "Create a thing",
    auth: { permissions: ["read", "create"] },
    creates: true,
    body: closed({
      name: Type.String({ minLength: 1, maxLength: 20 }),
      owner_id: Type.Optional(nullable(Uuid)),
      email: Type.Optional(Type.String({ format: "email", maxLength: 100 })),
    }),
    responses: { 201: { description: "The thing", schema: Thing } },
    errors: ["conflict"],
    example: { body: { name: "spoon" } },
  }),
  getThing: defineRoute({
    id: "getThing",
    area: "prover",
    method: "GET",
    path: "/api/v1/things/:id",
    summary: "Read a thing",
    auth: READ,
    params: IdParams,
    responses: { 200: { description: "The thing", schema: Thing } },
    errors: ["not_found"],
  }),
  deleteThing: defineRoute({
    id: "deleteThing",
    area: "prover",
    method: "DELETE",
    path: "/api/v1/things/:id",
    summary: "Delete a thing",
    auth: READ,
    params: IdParams,
    needsUnsealed: true,
    responses: { 204: { description: "Deleted" } },
  }),
  echo: defineRoute({
    id: "echo",
    area: "prover",
    method: "POST",
    path: "/api/v1/echo",
    summary: "Echo",
    auth: READ,
    body: Type.Unknown(),
    bodyOptional: true,
    bodyBytesMax: ECHO_BYTES_MAX,
    errorMembers: { proof: null },
    responses: { 200: { description: "The same", schema: Type.Unknown() } },
  }),
  emptyPost: defineRoute({
    id: "emptyPost",
    area: "vault",
    method: "POST",
    path: "/api/v1/empty",
    summary: "Take nothing",
    auth: READ,
    responses: { 204: { description: "Done" } },
  }),
  rawPost: defineRoute({
    id: "rawPost",
    area: "vault",
    method: "POST",
    path: "/api/v1/raw",
    summary: "Take bytes",
    auth: READ,
    body: closed({ key: Type.String() }),
    rawBody: true,
    bodyBytesMax: 100_000,
    responses: { 200: { description: "How many", schema: closed({ bytes: Type.Integer() }) } },
  }),
  newSecret: defineRoute({
    id: "newSecret",
    area: "vault",
    method: "POST",
    path: "/api/v1/secret",
    summary: "Make a secret",
    auth: READ,
    responses: {
      201: {
        description: "The secret",
        bytes: "application/json; charset=UTF-8",
        schema: closed({ key: Type.String() }),
      },
    },
  }),
  getFile: defineRoute({
    id: "getFile",
    area: "prover",
    method: "GET",
    path: "/api/v1/file",
    summary: "A file",
    auth: READ,
    responses: { 200: { description: "The file", file: "application/octet-stream" } },
  }),
  getBig: defineRoute({
    id: "getBig",
    area: "prover",
    method: "GET",
    path: "/api/v1/big",
    summary: "A long answer",
    auth: READ,
    query: closed({ length: Type.Integer({ minimum: 0, maximum: 8_000_000 }) }),
    responses: { 200: { description: "Long", schema: Type.String() } },
  }),
  slow: defineRoute({
    id: "slow",
    area: "prover",
    method: "POST",
    path: "/api/v1/slow",
    summary: "Wait for the gate",
    auth: READ,
    deadlineMs: 60_000,
    responses: { 200: { description: "Done", schema: Type.Integer() } },
  }),
  brief: defineRoute({
    id: "brief",
    area: "prover",
    method: "GET",
    path: "/api/v1/brief",
    summary: "Wait for longer than it may",
    auth: READ,
    deadlineMs: 150,
    responses: { 200: { description: "Never", schema: Type.Null() } },
  }),
  fail: defineRoute({
    id: "fail",
    area: "prover",
    method: "GET",
    path: "/api/v1/fail",
    summary: "Fail",
    auth: READ,
    query: closed({ how: Type.String() }),
    responses: { 200: { description: "Never", schema: Type.Null() } },
  }),
  open: defineRoute({
    id: "open",
    area: "identity",
    method: "POST",
    path: "/api/v1/open",
    summary: "Public",
    auth: "public",
    body: closed({ n: Type.Integer() }),
    bodyOptional: true,
    responses: { 200: { description: "What came", schema: Type.Unknown() } },
  }),
  forApplications: defineRoute({
    id: "forApplications",
    area: "prover",
    method: "GET",
    path: "/api/v1/applications-only",
    summary: "Applications only",
    auth: { permissions: ["read"], subjects: ["application"] },
    responses: { 204: { description: "Yes" } },
  }),
} as const;

export interface Harness {
  /** Lets the slow route finish. */
  openGate(): void;
  /** Resolves with the signal of the slow or the brief route once its handler runs. */
  entered(): Promise<AbortSignal>;
  file: FileAnswer | undefined;
  /** The buffer that rawPost was given last. */
  rawBody: Uint8Array | undefined;
  secret: Buffer | undefined;
  created: number;
  unsealed: boolean;
  readonly logged: { level: string; message: string; fields: LogFields | undefined }[];
  readonly ended: { route: string; status: number }[];
}

function handlersOf(
  harness: Harness,
  gate: Promise<void>,
  enter: (signal: AbortSignal) => void,
): HandlersFor<typeof testRoutes> {
  return {
    listThings: ({ query }) => ({ status: 200, total: 60, body: [{ id: THING_ID, name: JSON.stringify(query) }] }),
    createThing: ({ body }) => {
      harness.created += 1;
      if (body.name === "taken") throw new AppError("conflict", { message: "taken" });
      return {
        status: 201,
        body: { id: THING_ID, name: `${body.name} ${String(harness.created)} ${String(body.owner_id)}` },
        headers: { Location: `/api/v1/things/${THING_ID}` },
      };
    },
    getThing: ({ params }) => ({ status: 200, body: { id: params.id, name: "thing" } }),
    deleteThing: () => ({ status: 204 }),
    echo: ({ body }) => ({ status: 200, body: body ?? null }),
    emptyPost: () => ({ status: 204 }),
    rawPost: ({ body }) => {
      harness.rawBody = body;
      return { status: 200, body: { bytes: body.filter((byte) => byte !== 0).length } };
    },
    newSecret: () => {
      harness.secret = Buffer.from('{"key":"abandon abandon art"}');
      return { status: 201, bytes: harness.secret };
    },
    getFile: () => ({ status: 200, file: harness.file! }),
    getBig: ({ query }) => ({ status: 200, body: "x".repeat(query.length) }),
    slow: async ({ signal }) => {
      enter(signal);
      await gate;
      return { status: 200, body: 1 };
    },
    brief: async ({ signal }) => {
      enter(signal);
      await untilAborted(signal).catch(() => undefined);
      throw new Error("too late to matter");
    },
    fail: failing,
    open: ({ body, bearer, address, preferWaitSec, principal }) => ({
      status: 200,
      body: { n: body?.n ?? null, bearer: bearer ?? null, address, preferWaitSec, known: principal !== undefined },
    }),
    forApplications: () => ({ status: 204 }),
  };
}

async function failing({ query }: { query: { how: string } }): Promise<never> {
  if (query.how === "later")
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  if (query.how === "app") throw new AppError("conflict", { message: "as it was to be" });
  if (query.how === "beyond")
    throw new AppError("network_unreachable", {
      message: "the node cannot be reached",
      cause: new Error("connect ECONNREFUSED"),
    });
  if (query.how === "busy") throw new AppError("overloaded", { message: "queue full", retryAfterSec: 6.2 });
  if (query.how === "string") throw "not an error" as unknown as Error;
  throw new Error("secret words of a library");
}

export interface FrontOptions {
  readonly limits?: Partial<HttpLimits>;
  readonly server?: Partial<ServerOptions>;
  readonly idempotency?: IdempotencyStore;
  readonly clock?: Clock;
  readonly routes?: readonly BoundRoute[];
  readonly driver?: HttpDriver;
}

export interface Front extends Harness {
  readonly server: Server;
  readonly port: number;
  readonly url: string;
}

const SUBJECTS: ReadonlyMap<string, "user" | "application"> = new Map([
  ["user", "user"],
  ["app", "application"],
]);

/** Tokens are `<user|app>-<permission>+<permission>`. */
function authenticate(token: string): Principal {
  const [kind = "", names = ""] = token.split("-");
  const subjectKind = SUBJECTS.get(kind);
  if (subjectKind === undefined) throw new AppError("unauthorized", { message: "unauthorized" });
  const permissions = permissionBits(
    names.split("+").filter((name): name is PermissionName => Object.hasOwn(PERMISSIONS, name)),
  );
  return {
    subject: { kind: subjectKind, id: "7a4c1f2e-0000-4000-8000-00000000000a" },
    permissions,
    tokenId: "t",
    sessionId: "s",
    expiresAtSec: 2_000_000_000,
  };
}

export const TOKEN = "user-read+create";
export const BEARER = { Authorization: `bearer ${TOKEN}` };
export const JSON_HEADERS = { ...BEARER, "Content-Type": "application/json" };

export async function startFront(options: FrontOptions = {}): Promise<Front> {
  let openGate = (): void => undefined;
  const gate = new Promise<void>((resolve) => {
    openGate = resolve;
  });
  let enter: (signal: AbortSignal) => void = () => undefined;
  let entry = new Promise<AbortSignal>((resolve) => {
    enter = resolve;
  });
  const logged: Harness["logged"] = [];
  const ended: Harness["ended"] = [];
  const harness: Harness = {
    openGate: () => {
      openGate();
    },
    entered: async () => {
      const signal = await entry;
      entry = new Promise((resolve) => {
        enter = resolve;
      });
      return signal;
    },
    file: undefined,
    rawBody: undefined,
    secret: undefined,
    created: 0,
    unsealed: true,
    logged,
    ended,
  };
  const keep =
    (level: string) =>
    (message: string, fields?: LogFields): void => {
      logged.push({ level, message, fields });
    };
  const metrics: HttpMetrics = {
    requestEnded: (route, _method, status) => {
      ended.push({ route, status });
    },
    requestsInFlight: () => undefined,
  };
  const routes =
    options.routes ??
    bindRoutes(
      testRoutes,
      handlersOf(harness, gate, (signal) => {
        enter(signal);
      }),
    );
  const server = createServer(
    { host: "127.0.0.1", port: 0, limits: { rateLimits: false, ...options.limits }, ...options.server },
    {
      routes,
      driver: options.driver ?? testDriver,
      authenticate,
      metrics,
      isUnsealed: () => harness.unsealed,
      clock: options.clock ?? systemClock,
      log: {
        error: keep("error"),
        warn: keep("warn"),
        info: keep("info"),
        debug: (message, fields) => {
          keep("debug")(message, fields?.());
        },
      },
      ...(options.idempotency === undefined ? {} : { idempotency: options.idempotency }),
    },
  );
  const { port } = await server.listen();
  return Object.assign(harness, { server, port, url: `http://127.0.0.1:${String(port)}` });
}

/** Sends bytes as they are and resolves to everything that comes back until the connection closes. */
export async function rawExchange(port: number, ...pieces: readonly (string | Buffer)[]): Promise<string> {
  return await exchange(port, pieces, false);
}

/** The same, but the client ends its side after the last byte, so that the server sees a cut-off request as aborted. */
export async function rawExchangeAndEnd(port: number, ...pieces: readonly (string | Buffer)[]): Promise<string> {
  return await exchange(port, pieces, true);
}

async function exchange(port: number, pieces: readonly (string | Buffer)[], ends: boolean): Promise<string> {
  return await new Promise((resolve) => {
    const socket = net.connect(port, "127.0.0.1");
    let received = "";
    socket.on("data", (chunk: Buffer) => {
      received += chunk.toString("latin1");
    });
    socket.on("error", () => undefined);
    socket.on("close", () => {
      resolve(received);
    });
    for (const piece of pieces) socket.write(piece);
    if (ends) socket.end();
  });
}

/** A request as text, with Host, a token and `Connection: close` unless told otherwise. */
export function requestText(line: string, headers: readonly string[] = [], body = "", keepsOpen = false): string {
  return [
    `${line} HTTP/1.1`,
    "Host: x",
    BEARER_LINE,
    ...headers,
    ...(keepsOpen ? [] : ["Connection: close"]),
    "",
    body,
  ].join("\r\n");
}
const BEARER_LINE = `Authorization: bearer ${TOKEN}`;

/** Resolves when the condition holds; fails with the condition's text when it does not within two minutes. */
export async function until(condition: () => boolean): Promise<void> {
  await vi.waitFor(
    () => {
      if (!condition()) throw new Error(`still not true: ${condition.toString()}`);
    },
    { interval: 5, timeout: 120_000 },
  );
}

export interface ErrorForm {
  message: string;
  errors: { message: string; code: string; path?: string }[];
  [member: string]: unknown;
}

export async function errorOf(response: Response): Promise<ErrorForm> {
  return (await response.json()) as ErrorForm;
}
