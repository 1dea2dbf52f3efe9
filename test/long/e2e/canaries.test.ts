/**
 * T24: texts that are nowhere else, put into every member of every route's body in sound and broken forms, into
 * queries, paths and headers, and through the whole way of inputs of proofs and of connectors' credentials. None may be
 * in what the server prints, in an error, in the audit log; secret ones not in any file either, and what the server
 * gives out (tokens, phrases) the same.
 */
import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { CompactEncrypt, importJWK } from "jose";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ROUTE_LIST } from "../../../src/api.js";
import { auditLines } from "../../../src/platform/audit/audit-log.js";
import type { RouteSpec } from "../../../src/platform/contract/route.js";
import { openStoreReader } from "../../../src/platform/store/lmdb/lmdb-store.js";
import { startKubo, type KuboDouble } from "../../support/kubo-double.js";
import { provisioned, startServer, type Api, type TestServer } from "../../support/server.js";
import { textOf } from "../../support/response.js";
import { PHRASE, PHRASE_HASH } from "../../vault/support.js";
import { newFolder } from "../../support/temporary-folder.js";

const ENV = {
  SEAL_UNSEAL_VALIDATION_HASH: PHRASE_HASH,
  SEAL_UNSEAL_KEY: PHRASE,
  PROOFWRIGHT_EGRESS_ALLOW: "127.0.0.1",
};
/** Order of the scalar field of BN254. */
const FIELD_ORDER = 21888242871839275222246405745257275088548364400416034343698204186575808495617n;
/** Members that hold secrets, whatever is in them or below them. */
const SECRET_MEMBERS: ReadonlySet<string> = new Set([
  "value",
  "password",
  "current_password",
  "key",
  "data",
  "message",
  "witness",
  "credentials",
  "refresh_token",
  "client_secret",
  "code",
  "code_verifier",
  "token",
  "batch",
  "signature",
  "proof",
  "private_key",
  "mnemonic",
]);

interface SignedForCircuit {
  readonly inputs: { readonly S: string };
}

/** Anywhere but in the caller's own hands. */
const hidden: string[] = [];
/** Such as names: kept as they are, but not talked about. */
const quiet: string[] = [];
const errors: string[] = [];
/** Secret numbers as bytes, in both orders. */
const hiddenBytes: Buffer[] = [];

let dataDir: string;
let server: TestServer;
let kubo: KuboDouble;
let token: string;
let api: Api;
const credential = canary(hidden);

beforeAll(async () => {
  kubo = await startKubo({ authorization: `Bearer ${credential}` });
  dataDir = newFolder("canaries");
  server = await startServer({ dataDir, env: ENV, flags: ["--log-level=debug"] });
  const user = await server.newUser();
  ({ token, api } = user);
  hidden.push(token, user.password, user.refreshToken!, PHRASE);
});
afterAll(async () => {
  await server.dispose();
  await kubo.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

function canary(list: string[]): string {
  const text = `canary${randomBytes(12).toString("hex")}`;
  list.push(text);
  return text;
}

const listOf = (member: string, isSecret: boolean): string[] =>
  isSecret || SECRET_MEMBERS.has(member) ? hidden : quiet;

type Schema = Readonly<Record<string, unknown>>;

/** A value in the form of a schema, with a canary for each text. */
function shaped(schema: Schema, member = "", isSecret = false): unknown {
  const secret = isSecret || SECRET_MEMBERS.has(member);
  const alternatives = (schema["anyOf"] ?? schema["oneOf"]) as readonly Schema[] | undefined;
  if (alternatives !== undefined) return shaped(alternatives[0]!, member, secret);
  switch (schema["type"]) {
    case "object": {
      const properties = Object.entries(
        (schema["properties"] ?? schema["patternProperties"] ?? {}) as Record<string, Schema>,
      );
      return Object.fromEntries(
        properties.map(([name, inner]) => [name.startsWith("^") ? "password" : name, shaped(inner, name, secret)]),
      );
    }
    case "array":
      return [shaped((schema["items"] ?? { type: "string" }) as Schema, member, secret)];
    case "integer":
    case "number":
      return 1;
    case "boolean":
      return true;
    default:
      return canary(listOf(member, secret));
  }
}

/** The same value with each text that is in it replaced, one at a time. */
function oneByOne(example: unknown): unknown[] {
  if (typeof example !== "object" || example === null) return [];
  return Object.entries(example).flatMap(([member, value]): unknown[] => {
    if (typeof value === "string") return [{ ...example, [member]: canary(listOf(member, false)) }];
    if (typeof value !== "object" || value === null || Array.isArray(value)) return [];
    return oneByOne(value).map((inner) => ({ ...example, [member]: inner }));
  });
}

async function send(
  route: RouteSpec,
  path: string,
  body: string | Uint8Array | undefined,
  headers: Readonly<Record<string, string>> = {},
): Promise<void> {
  const response = await fetch(`${server.url}${path}`, {
    method: route.method,
    redirect: "manual",
    headers: {
      authorization: `bearer ${token}`,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body }),
  });
  const text = await textOf(response);
  if (response.status >= 400) errors.push(`${route.id} ${String(response.status)} ${text}`);
  expect(response.status, `${route.id}: ${text}`).not.toBe(500);
}

const pathOf = (route: RouteSpec, ids: Readonly<Record<string, string>>): string =>
  route.path.replace(/:([a-z_]+)/g, (_all, name: string) => ids[name] ?? canary(quiet));

/** Every form of a body that a route may be sent. */
async function sendBodies(route: RouteSpec, ids: Readonly<Record<string, string>>): Promise<void> {
  const path = pathOf(route, ids);
  const sound = shaped(route.body as unknown as Schema) as Record<string, unknown>;
  const text = JSON.stringify(sound);
  await send(route, path, text);
  await send(
    route,
    path,
    JSON.stringify(Object.fromEntries(Object.keys(sound).map((name) => [name, [{ nested: canary(hidden) }]]))),
  );
  await send(route, path, JSON.stringify({ ...sound, unknown_member: canary(hidden) }));
  await send(route, path, text.slice(0, -2));
  await send(
    route,
    path,
    Buffer.concat([Buffer.from(`{"value":"${canary(hidden)}`), Buffer.of(0xff, 0xfe), Buffer.from('"}')]),
  );
  await send(route, path, text, { "content-type": "text/plain" });
  await send(route, path, text, {
    authorization: `bearer ${canary(hidden)}`,
    cookie: `session=${canary(hidden)}`,
    "idempotency-key": canary(hidden),
  });
  // A valid one of these would start a compilation, or end the test's own session.
  const isCostly = ["createProver", "createContract", "createPublicContract"].includes(route.id);
  for (const body of isCostly ? [] : oneByOne(route.example?.body)) await send(route, path, JSON.stringify(body));
}

it("of requests of every kind to every route are in no error", async () => {
  const vault = (await api.createVault({ body: { name: "v" } })).body.id;
  const ids = {
    id: vault,
    key_id: (await api.createKey({ params: { id: vault }, body: { spec: "AES-256-GCM", name: "k" } })).body.id,
    secret_id: (
      await api.createSecret({ params: { id: vault }, body: { name: "n", type: "t", value: canary(hidden) } })
    ).body.id,
  };
  const [withBody, others] = [
    ROUTE_LIST.filter(({ body }) => body !== undefined),
    ROUTE_LIST.filter(({ method, id }) => method === "GET" && id !== "streamEvents"),
  ];
  for (const route of withBody) await sendBodies(route, route.path.startsWith("/api/v1/vaults/") ? ids : {});
  for (const route of others) {
    await send(
      route,
      `${pathOf(route, {})}?${new URLSearchParams({ page: canary(quiet), spec: canary(quiet), state: canary(hidden), code: canary(hidden), access_token: canary(hidden) }).toString()}`,
      undefined,
    );
  }
  expect([withBody.length, others.length, errors.length].map((count, index) => count > [60, 80, 500][index]!)).toEqual([
    true,
    true,
    true,
  ]);
});

it("of the inputs of proofs stay with them, proved, refused and misread", async () => {
  const id = await provisioned(api, {
    identifier: "cubic",
    proving_scheme: "groth16",
    curve: "BN254",
    provider: "circom",
    name: "cubic",
  });
  const x = BigInt(`0x${randomBytes(31).toString("hex")}`);
  const y = (x ** 3n + x + 5n) % FIELD_ORDER;
  hidden.push(String(x), x.toString(16));
  const bytes = Buffer.from(x.toString(16).padStart(62, "0"), "hex");
  hiddenBytes.push(bytes, Buffer.from(bytes).reverse());
  const route = ROUTE_LIST.find((one) => one.id === "prove")!;
  const path = `/api/v1/provers/${id}/prove`;
  const { body: proved } = await api.prove({ params: { id }, body: { witness: { X: String(x), Y: String(y) } } });
  expect(proved.proof).not.toBe("");
  const bad: readonly object[] = [
    { X: String(x), Y: String(y + 1n) },
    { X: String(x), Y: `${String(y)}${canary(hidden)}` },
    { X: `${String(x)}${canary(hidden)}`, Y: String(y) },
    { X: [String(x), canary(hidden)], Y: String(y) },
    { X: { in: canary(hidden) }, Y: String(y) },
    { X: `-${String(x)}`, Y: String(y) },
    { X: `0x${x.toString(16)}g`, Y: String(y) },
    { X: String(x + FIELD_ORDER), Y: String(y) },
    { X: String(x), Z: canary(hidden) },
  ];
  hidden.push(String(x + FIELD_ORDER));
  const before = errors.length;
  for (const witness of bad) await send(route, path, JSON.stringify({ witness }));
  await send(route, path, JSON.stringify({ witness: { X: String(x), Y: String(y) } }).slice(0, -3));
  expect(errors.length - before).toBe(bad.length + 1);
  const verify = ROUTE_LIST.find((one) => one.id === "verify")!;
  // A private input beside the public ones is passed over.
  await send(
    verify,
    `/api/v1/provers/${id}/verify`,
    JSON.stringify({ witness: { X: String(x), Y: String(y) }, proof: proved.proof }),
  );
});

it("of closed inputs stay with the threads that open them", async () => {
  const id = await provisioned(api, {
    ...{ identifier: "cubic", proving_scheme: "groth16", curve: "BN254", provider: "circom", name: "closed" },
  });
  const vault_id = (await api.getProver({ params: { id } })).body.vault_id;
  const newInputs = (): { X: string; Y: string } => {
    const x = BigInt(`0x${randomBytes(31).toString("hex")}`);
    hidden.push(String(x), x.toString(16));
    const bytes = Buffer.from(x.toString(16).padStart(62, "0"), "hex");
    hiddenBytes.push(bytes, Buffer.from(bytes).reverse());
    return { X: String(x), Y: String((x ** 3n + x + 5n) % FIELD_ORDER) };
  };
  const { body: key } = await api.createProverInputKey({ params: { id } });
  const token = async (content: unknown): Promise<string> =>
    await new CompactEncrypt(Buffer.from(JSON.stringify(content)))
      .setProtectedHeader({ alg: key.alg, enc: "A256GCM", kid: key.kid, aud: id })
      .encrypt(await importJWK({ ...key }, key.alg));
  const sent = newInputs();
  const proved = (await api.prove({ params: { id }, body: { witness_jwe: await token(sent) } })).body;
  expect(proved.public_signals).toEqual([sent.Y]);
  const kept = newInputs();
  const keep = async (value: string): Promise<object> => {
    const made = await api.createSecret({ params: { id: vault_id }, body: { name: "x", type: "t", value } });
    return { $secret: made.body.id };
  };
  const named = (await api.prove({ params: { id }, body: { witness: { X: await keep(kept.X), Y: kept.Y } } })).body;
  expect(named.public_signals).toEqual([kept.Y]);
  const signer = (await api.createKey({ params: { id: vault_id }, body: { spec: "babyJubJub", name: "k" } })).body.id;
  const place = { id: vault_id, key_id: signer };
  const signature = (await api.signMessage({ params: place, body: { message: "07" } })).body as SignedForCircuit;
  const s = BigInt(signature.inputs.S);
  hidden.push(String(s));
  const Y = String((s ** 3n + s + 5n) % FIELD_ORDER);
  const X = { $sign: signer, message: 7, part: "S" };
  const signed = (await api.prove({ params: { id }, body: { witness: { X, Y } } })).body;
  expect(signed.public_signals).toEqual([Y]);
  const route = ROUTE_LIST.find((one) => one.id === "prove")!;
  const bad: readonly object[] = [
    { witness: { X, Y: "1" } },
    { witness_jwe: await token({ ...sent, Y: "1" }) },
    { witness_jwe: await token({ ...sent, [canary(hidden)]: canary(hidden) }) },
    { witness_jwe: await token(canary(hidden)) },
    { witness: { X: await keep(kept.X), Y: "1" } },
    { witness: { X: await keep(canary(hidden)), Y: kept.Y } },
    { witness: { X: await keep(`[{"${canary(hidden)}": "${canary(hidden)}"}]`), Y: kept.Y } },
    { witness: { X: kept.X, Y: await keep(kept.X) } },
  ];
  const before = errors.length;
  for (const body of bad) await send(route, `/api/v1/provers/${id}/prove`, JSON.stringify(body));
  expect(errors.length - before).toBe(bad.length);
});

it("of connectors' credentials go to their peer and nowhere else", async () => {
  const application = (await api.createApplication({ body: {} })).body.id;
  const app = (await api.createToken({ body: { application_id: application } })).body;
  hidden.push(app.access_token);
  const own = server.as(app.access_token);
  const network = "deca2436-21ba-4ff5-b225-ad1b0b2f5c59";
  const make = async (password: string, url: string): Promise<string> =>
    (
      await own.createConnector({
        body: {
          name: "files",
          network_id: network,
          type: "ipfs",
          config: { rpc_url: url, credentials: { token: password } },
        },
      })
    ).body.id;
  const settled = async (id: string): Promise<string> => {
    for (;;) {
      const { body } = await own.getConnector({ params: { id } });
      expect(JSON.stringify(body)).not.toContain("canary");
      if (!["init", "pending", "configuring", "provisioning"].includes(body.status)) return body.status;
      await new Promise((resolve) => {
        setTimeout(resolve, 50);
      });
    }
  };
  const good = await make(credential, kubo.url);
  expect(await settled(good)).toBe("active");
  await own
    .createConnectorEntity({ params: { id: good }, body: { name: "n", data: "tea" } as never })
    .catch(() => undefined);
  await own.listConnectorEntities({ params: { id: good }, query: {} });
  expect(kubo.requests.length).toBeGreaterThan(0);
  // Refused by the peer, and a peer that answers nonsense.
  const refused = await make(canary(hidden), kubo.url);
  await settled(refused);
  kubo.mode = "garbage";
  for (const id of [good, refused])
    await own.listConnectorEntities({ params: { id }, query: {} }).catch((error: unknown) => {
      errors.push(JSON.stringify(error));
    });
  kubo.mode = "sound";
});

it("are in nothing that the server wrote", async () => {
  const issued = (await (
    await fetch(`${server.url}/api/v1/unsealerkey`, { method: "POST", headers: { authorization: `bearer ${token}` } })
  ).json()) as { key: string };
  hidden.push(issued.key, (await api.createPersonalToken({ body: { name: "p", permissions: 1 } })).body.access_token);
  expect(await server.end()).toBe(0);
  const reader = openStoreReader({ path: join(dataDir, "store") });
  const audit = auditLines(reader, 0, 100_000);
  await reader.close();
  expect(audit).toContain("createPersonalToken");
  expect(audit).toMatch(/"uses":\["secret\//);
  expect(audit).toMatch(/"uses":\["key\//);
  const among = (list: readonly string[], where: string, text: string | Buffer): string[] =>
    list
      .filter((one) => text.includes(one))
      .map(
        (one) =>
          `${where}: ${one.slice(0, 16)} in ${
            text
              .toString("latin1")
              .split("\n")
              .find((line) => line.includes(one))
              ?.slice(0, 400) ?? ""
          }`,
      );
  for (const list of [hidden, quiet]) {
    expect([...among(list, "log", server.output()), ...among(list, "audit", audit)]).toEqual([]);
    expect(
      errors.flatMap((error) =>
        list.filter((one) => error.includes(one)).map((one) => `${one.slice(0, 16)} in ${error.slice(0, 160)}`),
      ),
    ).toEqual([]);
  }
  expect(server.output()).toContain("prove");
  for (const file of readdirSync(dataDir, { recursive: true }) as string[]) {
    const path = join(dataDir, file);
    if (!statSync(path).isFile()) continue;
    const content = readFileSync(path);
    expect([
      ...among(hidden, file, content),
      ...hiddenBytes.filter((one) => content.includes(one)).map(() => `${file}: an input of a proof`),
    ]).toEqual([]);
  }
});
