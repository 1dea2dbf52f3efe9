/**
 * The vault behind the real HTTP front: a token is the id of a user that holds all permissions but those it leaves out.
 */
import { randomUUID } from "node:crypto";
import { PERMISSIONS, permissionBits, type PermissionName } from "../../src/platform/auth/permissions.js";
import type { Principal } from "../../src/platform/auth/principal.js";
import type { RequireTenant } from "../../src/platform/auth/said-owner.js";
import { systemClock } from "../../src/platform/clock.js";
import { bindRoutes } from "../../src/platform/contract/route.js";
import { notFound } from "../../src/platform/errors.js";
import { createServer } from "../../src/platform/http/server.js";
import { testDriver } from "../support/http-driver.js";
import { vaultHandlers } from "../../src/vault/handlers.js";
import { vaultRoutes } from "../../src/vault/routes.js";
import { quietLog } from "../platform/auth/support.js";
import { openTestVault, type TestVault, type TestVaultOptions } from "./support.js";

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown> & {
    errors?: { code: string; path?: string; message: string }[];
    batch?: Record<string, unknown>[];
  };
}

export interface VaultServer {
  readonly test: TestVault;
  /** `127.0.0.1:port` */
  readonly host: string;
  /** A token of a new user. */
  token(options?: { readonly without?: PermissionName }): string;
  call(method: string, path: string, body?: unknown, token?: string): Promise<Answer>;
  /**
   * As `call`, with the text of the body: JSON.stringify cannot write a number that JSON.parse would round.
   */
  callText(method: string, path: string, text: string): Promise<Answer>;
  /** Creates a vault for the default user. */
  newVault(): Promise<string>;
  /** Creates a key for the default user; its path and record. */
  newKey(spec: string, vaultId?: string, more?: object): Promise<{ path: string; key: Record<string, string> }>;
  close(): Promise<void>;
}

/** The organization that every user of this server may act for; others are not found. */
export const OWN_ORGANIZATION = randomUUID();
const requireTenant: RequireTenant = (_principal, { kind, id }) => {
  if (id !== OWN_ORGANIZATION) throw notFound(kind);
};

export async function startVaultServer(options: TestVaultOptions = {}): Promise<VaultServer> {
  const test = await openTestVault(options);
  const principals = new Map<string, Principal>();
  const token: VaultServer["token"] = ({ without } = {}) => {
    const id = randomUUID();
    const names = (Object.keys(PERMISSIONS) as PermissionName[]).filter((name) => name !== without);
    principals.set(id, {
      subject: { kind: "user", id },
      permissions: permissionBits(names),
      tokenId: id,
      sessionId: id,
      expiresAtSec: 2 ** 40,
    });
    return id;
  };
  const authenticate = (bearer: string): Principal => {
    const principal = principals.get(bearer);
    if (principal === undefined) throw new Error("tests use known tokens");
    return principal;
  };
  const server = createServer(
    { host: "127.0.0.1", port: 0, limits: { rateLimits: false } },
    {
      driver: testDriver,
      routes: bindRoutes(vaultRoutes, vaultHandlers({ vault: test.vault, requireTenant })),
      authenticate,
      isUnsealed: () => test.vault.isUnsealed(),
      log: quietLog,
      clock: systemClock,
    },
  );
  const host = `127.0.0.1:${(await server.listen()).port}`;
  const own = token();
  const send = async (method: string, path: string, body: string | undefined, bearer: string): Promise<Answer> => {
    const answer = await fetch(`http://${host}${path}`, {
      method,
      headers: {
        authorization: `bearer ${bearer}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body }),
    });
    const text = await answer.text();
    return {
      status: answer.status,
      headers: answer.headers,
      body: (text === "" ? {} : JSON.parse(text)) as Answer["body"],
    };
  };
  const call: VaultServer["call"] = async (method, path, body, bearer = own) =>
    await send(method, path, JSON.stringify(body), bearer);
  const newVault = async (): Promise<string> =>
    String((await call("POST", "/api/v1/vaults", { name: "v" })).body["id"]);
  let shared: string | undefined;
  return {
    test,
    host,
    token,
    call,
    newVault,
    callText: async (method, path, text) => await send(method, path, text, own),
    newKey: async (spec, vaultId, more = {}) => {
      const vault = vaultId ?? (shared ??= await newVault());
      const { status, body } = await call("POST", `/api/v1/vaults/${vault}/keys`, { spec, name: "k", ...more });
      if (status !== 201) throw new Error(`${spec}: ${status} ${JSON.stringify(body)}`);
      return {
        path: `/api/v1/vaults/${vault}/keys/${String(body["id"])}`,
        key: body as unknown as Record<string, string>,
      };
    },
    close: async () => {
      await server.stop({ graceMs: 0 });
      await test.close();
    },
  };
}
