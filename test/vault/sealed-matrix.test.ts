// Every route of the API x {unconfigured, sealed, unsealed} x {no token, a token that lacks the permission, an ordinary
// token}.
import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROUTE_LIST } from "../../src/api.js";
import { holdsAll, NEW_USER_PERMISSIONS, permissionBits } from "../../src/platform/auth/permissions.js";
import type { RouteSpec } from "../../src/platform/contract/route.js";
import { ERROR_STATUS } from "../../src/platform/errors.js";
import { startServer, type TestServer } from "../support/server.js";
import { textOf } from "../support/response.js";
import { PHRASE, PHRASE_HASH } from "./support.js";
import { newFolder } from "../support/temporary-folder.js";

type State = "unconfigured" | "sealed" | "unsealed";
const STATES: Readonly<Record<State, Readonly<Record<string, string>>>> = {
  unconfigured: { PROOFWRIGHT_MODE: "production" },
  sealed: { SEAL_UNSEAL_VALIDATION_HASH: PHRASE_HASH },
  unsealed: { SEAL_UNSEAL_VALIDATION_HASH: PHRASE_HASH, SEAL_UNSEAL_KEY: PHRASE },
};
/** What any route may answer to a request without a body and with ids of nothing. */
const COMMON = [400, 404, 409, 413, 415, 422, 429];

interface Running {
  readonly server: TestServer;
  readonly logIn: () => Promise<string>;
  readonly folder: string;
}
const running = new Map<State, Running>();

beforeAll(async () => {
  await Promise.all(
    (Object.keys(STATES) as State[]).map(async (state) => {
      const folder = newFolder("matrix");
      const server = await startServer({ env: STATES[state], dataDir: folder });
      const { email, password } = await server.newUser();
      const logIn = async (): Promise<string> =>
        (await server.anonymous.authenticate({ body: { email, password } })).body.token.access_token;
      running.set(state, { server, folder, logIn });
    }),
  );
});
afterAll(async () => {
  for (const { server, folder } of running.values()) {
    await server.dispose();
    rmSync(folder, { recursive: true, force: true });
  }
});

/** Sends a request with ids of nothing; a sealed vault must answer before it looks them up. */
async function send(
  state: State,
  route: RouteSpec,
  token: string | undefined,
  ids: (name: string) => string = () => randomUUID(),
): Promise<{ status: number; text: string; code: string | undefined }> {
  const path = route.path.replace(/:([a-z_]+)/g, (_all, name: string) => ids(name));
  const response = await fetch(`${running.get(state)!.server.url}${path}`, {
    method: route.method,
    redirect: "manual",
    headers: token === undefined ? {} : { authorization: `bearer ${token}` },
  });
  const text = await textOf(response);
  const code = /^\{.*"code":"([a-z_]+)"/s.exec(text)?.[1];
  return { status: response.status, text, code };
}

function mayCall(route: RouteSpec): boolean {
  if (route.auth === "public") return true;
  return (
    holdsAll(NEW_USER_PERMISSIONS, permissionBits(route.auth.permissions)) &&
    (route.auth.subjects === undefined || route.auth.subjects.includes("user"))
  );
}

function documented(route: RouteSpec): number[] {
  return [
    ...Object.keys(route.responses).map(Number),
    ...(route.errors ?? []).map((code) => ERROR_STATUS[code]),
    ...COMMON,
    ...(route.auth === "public" ? [401] : []),
  ];
}

describe.each(Object.keys(STATES) as State[])("while %s", (state) => {
  it("every route answers 401 without a token, but for the public ones", async () => {
    for (const route of ROUTE_LIST.filter(({ auth }) => auth !== "public")) {
      const { status, code } = await send(state, route, undefined);
      expect([route.id, status, code]).toEqual([route.id, 401, "unauthorized"]);
    }
  });

  it("every route answers exactly what it declares", async () => {
    const { logIn } = running.get(state)!;
    let token = await logIn();
    let mayHaveEnded = false;
    for (const route of ROUTE_LIST) {
      // Some of identity's routes end all of the caller's sessions.
      if (mayHaveEnded) token = await logIn();
      mayHaveEnded = route.area === "identity" && route.method !== "GET";
      const { status, code } = await send(state, route, route.auth === "public" ? undefined : token);
      if (!mayCall(route)) expect([route.id, status, code]).toEqual([route.id, 403, "forbidden"]);
      else if (route.needsUnsealed === true && state !== "unsealed")
        expect([route.id, status, code]).toEqual([route.id, 503, "vault_sealed"]);
      // While sealed, readiness is the only route that answers 503 for a reason of its own.
      else if (route.id !== "readyz")
        expect(documented(route), `${route.id} answered ${String(status)} ${code ?? ""}`).toContain(status);
    }
  });
});

it("covers the routes that need keys: all of the vault's data, and proving", () => {
  const needing = ROUTE_LIST.filter(({ needsUnsealed }) => needsUnsealed === true).map(({ id }) => id);
  for (const id of [
    "createVault",
    "listVaults",
    "getSecret",
    "encrypt",
    "decrypt",
    "rotateKey",
    "createProver",
    "prove",
  ])
    expect(needing).toContain(id);
});

it("does not tell while sealed whether anything exists", async () => {
  const { server, folder, logIn } = running.get("unsealed")!;
  const token = await logIn();
  const api = server.as(token);
  const vault = await api.createVault({ body: { name: "v" } });
  const key = await api.createKey({ params: { id: vault.body.id }, body: { spec: "ChaCha20", name: "k" } });
  const secret = await api.createSecret({ params: { id: vault.body.id }, body: { name: "n", type: "t", value: "v" } });
  await server.end();
  const again = await startServer({ dataDir: folder, env: STATES.sealed });
  running.set("unsealed", { server: again, folder, logIn });
  const real = (name: string): string =>
    name === "key_id" ? key.body.id : name === "secret_id" ? secret.body.id : vault.body.id;
  const strip = (text: string): string => text.replace(/[0-9a-f-]{36}/g, "");
  for (const route of ROUTE_LIST.filter(
    (candidate) => candidate.needsUnsealed === true && candidate.path.includes("/vaults/"),
  )) {
    const [existing, missing] = [await send("unsealed", route, token, real), await send("unsealed", route, token)];
    expect([route.id, existing.status, strip(existing.text)]).toEqual([route.id, missing.status, strip(missing.text)]);
    expect(existing.status === 503 || existing.status === 403, route.id).toBe(true);
  }
});
