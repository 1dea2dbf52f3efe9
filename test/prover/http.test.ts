/** The prover area over HTTP: what clients send as inputs and proofs, as they have it. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bindRoutes } from "../../src/platform/contract/route.js";
import { wtnsFile } from "../../src/engine/analysis/wtns.js";
import { scalarFieldOf } from "../../src/engine/circuit/interface.js";
import { DEFAULT_COMPILE_LIMITS } from "../../src/engine/circuit/compile-circuit.js";
import { proverRoutes, witnessLimits } from "../../src/prover/routes.js";
import { VERIFY_BATCH_ITEMS_MAX, type ProveResult } from "../../src/prover/schemas.js";
import { BEARER, JSON_HEADERS, startFront, type Front } from "../platform/http/support.js";
import { openTestRegistry, provision, type TestRegistry } from "./support.js";

/** Whom the tokens of the test server belong to. */
const OWNER = { kind: "user", id: "7a4c1f2e-0000-4000-8000-00000000000a" } as const;
const ZEROS = new Uint8Array(31);
const OBJECT_NAMES = ["constructor", "__proto__", "prototype", "toString", "hasOwnProperty"];

let registry: TestRegistry;
let front: Front;
let cubicId: string;

beforeAll(async () => {
  registry = await openTestRegistry();
  const { handlers, bodyLimits } = registry.registry;
  front = await startFront({ routes: bindRoutes(proverRoutes, handlers, bodyLimits) });
  ({ id: cubicId } = await provision(registry.provers, OWNER));
});
afterAll(async () => {
  await front.server.stop({ graceMs: 0 });
  await registry.close();
});

interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown> & { readonly errors?: readonly { code: string; path?: string }[] };
}

async function post(path: string, body: unknown): Promise<Answer> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const response = await fetch(`${front.url}/api/v1/provers/${path}`, {
    method: "POST",
    headers: JSON_HEADERS,
    body: text,
  });
  return { status: response.status, body: (await response.json()) as Answer["body"] };
}

async function proveCubic(): Promise<ProveResult> {
  const { body } = await post(`${cubicId}/prove?format=snarkjs`, { witness: { X: "3", Y: "35" } });
  return body as unknown as ProveResult;
}

describe("inputs", () => {
  it("may have the names of every object's own members", async () => {
    const signals = OBJECT_NAMES.map((name) => `signal input ${name};`).join(" ");
    const source = `pragma circom 2.1.6; template M() { ${signals} signal output valueOf; valueOf <== ${OBJECT_NAMES.join(" + ")}; } component main {public [__proto__]} = M();`;
    const { id, status } = await provision(registry.provers, OWNER, { source });
    expect(status).toBe("provisioned");
    const inputs = `{${OBJECT_NAMES.map((name, i) => `"${name}": "${String(i + 1)}"`).join(", ")}}`;
    const made = await post(`${id}/prove`, `{"witness": ${inputs}}`);
    expect(made).toMatchObject({ status: 201, body: { public_signals: ["15", "2"] } });
    const proof = JSON.stringify(made.body.proof);
    const verified = await post(`${id}/verify`, `{"proof": ${proof}, "witness": {"valueOf": 15, "__proto__": 2}}`);
    expect(verified).toEqual({ status: 200, body: { result: true } });
    const other = await post(`${id}/verify`, `{"proof": ${proof}, "witness": {"valueOf": 15, "__proto__": 3}}`);
    expect(other).toEqual({ status: 200, body: { result: false } });
    expect(await post(`${id}/prove`, `{"__proto__": 1, "witness": ${inputs}}`)).toMatchObject({ status: 400 });
  });

  it("may be arrays of several dimensions in one list", async () => {
    const source =
      "pragma circom 2.1.6; template M() { signal input a[2][2]; signal output b; b <== a[0][1] * a[1][0]; } component main = M();";
    const { id } = await provision(registry.provers, OWNER, { source });
    for (const a of [
      [1, 2, 3, 4],
      [
        [1, 2],
        [3, 4],
      ],
    ])
      expect(await post(`${id}/prove`, { witness: { a } })).toMatchObject({
        status: 201,
        body: { public_signals: ["6"] },
      });
  });

  it("may be a whole witness as the bytes of the body", async () => {
    const prime = scalarFieldOf("BN254");
    const elements = Buffer.concat([1n, 35n, 3n, 9n].map((wire) => Buffer.from(Uint8Array.of(Number(wire), ...ZEROS))));
    const send = async (body: Uint8Array): Promise<Answer> => {
      const response = await fetch(`${front.url}/api/v1/provers/${cubicId}/prove/witness?format=snarkjs`, {
        method: "POST",
        headers: { ...JSON_HEADERS, "content-type": "application/octet-stream" },
        body: Buffer.from(body),
      });
      return { status: response.status, body: (await response.json()) as Answer["body"] };
    };
    const made = await send(wtnsFile(elements, prime));
    expect(made).toMatchObject({ status: 201, body: { public_signals: ["35"], snarkjs: {} } });
    const long = await send(new Uint8Array(100_000));
    expect(long).toMatchObject({ status: 413, body: { proof: null, errors: [{ code: "body_too_large" }] } });
    expect(await send(new Uint8Array())).toMatchObject({
      status: 422,
      body: { errors: [{ code: "witness_missing" }] },
    });
  });

  it("are refused before any work when there are more than the circuit has", async () => {
    const many = await post(`${cubicId}/prove`, { witness: { X: Array.from({ length: 150_000 }, () => 1) } });
    expect(many).toMatchObject({ status: 422, body: { proof: null, errors: [{ code: "witness_invalid" }] } });
    expect(many.body.message).toContain("many more values than the circuit");
    const item = { proof: "00", witness: { Y: [1, 2, 3, 4] } };
    expect(await post(`${cubicId}/verify`, { batch: [item, item] })).toMatchObject({
      status: 200,
      body: { result: false, batch: [{ errors: [{ code: "witness_invalid" }] }, {}] },
    });
    const long = `{"witness": {"X": "${"1".repeat(witnessLimits(2).bodyBytesMax)}"}}`;
    expect(await post(`${cubicId}/prove`, long)).toMatchObject({ status: 413, body: { proof: null } });
  });

  it("are bounded by the circuit and not by one number for all", () => {
    expect(witnessLimits(0)).toEqual(witnessLimits(1000));
    expect(witnessLimits(150_000).jsonTokensMax).toBeGreaterThanOrEqual(300_000);
    expect(witnessLimits(150_000).bodyBytesMax).toBeGreaterThanOrEqual(150_000 * 81);
    const { valuesMax } = DEFAULT_COMPILE_LIMITS;
    const [largest, beyond] = [witnessLimits(valuesMax), witnessLimits(2 ** 30)];
    expect(largest.bodyBytesMax).toBeGreaterThanOrEqual(valuesMax * 81);
    expect(largest.jsonTokensMax).toBeGreaterThanOrEqual(valuesMax);
    expect(beyond).toEqual({ bodyBytesMax: 16 * 2 ** 20, jsonTokensMax: 400_000 });
  });
});

describe("verify", () => {
  it("takes what prove answers as it stands, and the parts that snarkjs has", async () => {
    const made = await proveCubic();
    const { snarkjs } = made;
    const bodies: unknown[] = [
      made,
      snarkjs,
      { proof: snarkjs!.proof, publicSignals: snarkjs!.public_signals },
      { proof: made.proof, public_signals: ["35"] },
      { proof: `0x${made.proof}`, publicSignals: [35] },
      { snarkjs },
      { ...made, witness: { X: "3", Y: "35" } },
    ];
    for (const body of bodies)
      expect(await post(`${cubicId}/verify`, body), JSON.stringify(body)).toEqual({
        status: 200,
        body: { result: true },
      });
    expect(await post(`${cubicId}/verify`, { batch: bodies })).toEqual({
      status: 200,
      body: { result: true, batch: bodies.map(() => ({ result: true })) },
    });
  });

  it("answers false for other public signals, and refuses what contradicts itself", async () => {
    const made = await proveCubic();
    const other = await proveCubic();
    const signals = { proof: made.proof, public_signals: ["36"] };
    expect(await post(`${cubicId}/verify`, signals)).toEqual({ status: 200, body: { result: false } });
    const contradictions: [object, string, string][] = [
      [{ ...made, snarkjs: { ...made.snarkjs, public_signals: ["36"] } }, "witness_invalid", "public_signals"],
      [{ ...made, snarkjs: { ...made.snarkjs, proof: other.snarkjs!.proof } }, "proof_malformed", "proof"],
      [{ ...made, witness: { Y: "36" } }, "witness_invalid", "public_signals"],
      [{ ...made, publicSignals: ["36"] }, "witness_invalid", "public_signals"],
      [{ ...made, prover_id: "7a4c1f2e-1111-4222-8333-000000000001" }, "invalid_request", "prover_id"],
      [{ proof: made.proof, public_signals: ["35", "1"] }, "witness_invalid", "public_signals"],
      [{ proof: made.proof, public_signals: ["-35"] }, "witness_invalid", "public_signals[0]"],
      [{ proof: made.proof, public_signals: [] }, "witness_invalid", "public_signals"],
      [{ proof: made.proof }, "witness_missing", "witness"],
      [{ public_signals: ["35"] }, "proof_malformed", "proof"],
    ];
    for (const [body, code, path] of contradictions)
      expect(await post(`${cubicId}/verify`, body), JSON.stringify(body)).toMatchObject({
        status: 422,
        body: { result: false, errors: [{ code, path }] },
      });
  });
});

describe("a batch of proofs", () => {
  it("answers an item of the wrong form in its place, and verifies the others", async () => {
    const { proof } = await proveCubic();
    const good = { proof, witness: { Y: "35" } };
    const refused: [item: unknown, code: string, path?: string][] = [
      [{ ...good, colour: "red" }, "unknown_member", "colour"],
      [{ ...good, batch: [good] }, "unknown_member", "batch"],
      [{ ...good, refused: [] }, "unknown_member", "refused"],
      [{ ...good, proof: 7 }, "invalid_request", "proof"],
      [{ ...good, proof: "0".repeat(8193) }, "invalid_request", "proof"],
      [{ ...good, witness: "Y" }, "invalid_request", "witness"],
      [{ ...good, witness: null }, "invalid_request", "witness"],
      [{ proof, public_signals: "35" }, "invalid_request", "public_signals"],
      [{ snarkjs: { proof: {}, curve: "x" } }, "unknown_member", "snarkjs.curve"],
      [{ ...good, prover_id: "seven" }, "invalid_request", "prover_id"],
      [{ ...good, store: true }, "unknown_member", "store"],
      [null, "invalid_request"],
      ["proof", "invalid_request"],
      [[good], "invalid_request"],
    ];
    const { status, body } = await post(`${cubicId}/verify`, { batch: refused.flatMap(([item]) => [good, item]) });
    expect([status, body["result"]]).toEqual([200, false]);
    const answers = body["batch"] as Answer["body"][];
    expect(answers).toHaveLength(2 * refused.length);
    for (const [index, [item, code, path]] of refused.entries()) {
      expect(answers[2 * index]).toEqual({ result: true });
      const answer = answers[2 * index + 1];
      expect([answer?.errors?.[0]?.code, answer?.errors?.[0]?.path], JSON.stringify(item)).toEqual([code, path]);
    }
  });

  it("may have nothing but refused items, a thousand of them", async () => {
    const { status, body } = await post(`${cubicId}/verify`, { batch: Array(VERIFY_BATCH_ITEMS_MAX).fill(null) });
    expect([status, body["result"]]).toEqual([200, false]);
    const answers = body["batch"] as Answer["body"][];
    expect(answers).toHaveLength(VERIFY_BATCH_ITEMS_MAX);
    for (const { errors } of answers) expect(errors?.[0]?.code).toBe("invalid_request");
  });

  it("is refused as a whole where it is none, is empty or too long, or stands beside an unknown member", async () => {
    const good = { proof: "00", witness: { Y: "35" } };
    for (const members of [
      { batch: [] },
      { batch: null },
      { batch: good },
      { batch: Array(VERIFY_BATCH_ITEMS_MAX + 1).fill(null) },
      { batch: [good], colour: "red" },
      { batch: [null], store: true },
    ])
      expect(await post(`${cubicId}/verify`, members)).toMatchObject({ status: 422, body: { result: false } });
  });
});

describe("what existing clients repeat of a prover", () => {
  const said = () => {
    const { name, note_store_id, nullifier_store_id, vault_id } = registry.provers.get(OWNER, cubicId);
    return {
      name,
      identifier: "Cubic",
      curve: "bn128",
      provider: "gnark",
      proving_scheme: "GROTH16",
      store_id: note_store_id,
      note_store_id,
      nullifier_store_id,
      vault_id,
      prover_id: cubicId,
      user_id: OWNER.id,
      application_id: null,
    };
  };

  it("is taken as said", async () => {
    const made = await post(`${cubicId}/prove`, { witness: { X: "3", Y: "35" }, ...said() });
    expect(made.status).toBe(201);
    const item = { witness: { Y: "35" }, proof: made.body.proof };
    expect(await post(`${cubicId}/verify`, { ...item, ...said() })).toEqual({ status: 200, body: { result: true } });
    expect(await post(`${cubicId}/verify`, { batch: [item], ...said() })).toMatchObject({ body: { result: true } });
  });

  it("is refused where it means another prover, store or owner", async () => {
    const { note_store_id: otherStore } = await provision(registry.provers, OWNER);
    const nobodys = "7a4c1f2e-1111-4222-8333-000000000001";
    const refused: [object, number, string][] = [
      [{ name: "Another" }, 422, "name"],
      [{ identifier: "mimc" }, 422, "identifier"],
      [{ curve: "BLS12_381" }, 422, "curve"],
      [{ provider: "zokrates" }, 422, "provider"],
      [{ proving_scheme: "plonk" }, 422, "proving_scheme"],
      [{ store_id: otherStore }, 422, "store_id"],
      [{ store_id: nobodys }, 404, "store_id"],
      [{ prover_id: nobodys }, 422, "prover_id"],
      [{ vault_id: nobodys }, 422, "vault_id"],
      [{ user_id: nobodys }, 404, "user_id"],
      [{ application_id: nobodys }, 404, "application_id"],
    ];
    for (const [members, status, path] of refused) {
      const answer = await post(`${cubicId}/prove`, { witness: { X: "3", Y: "35" }, ...members });
      expect(answer, path).toMatchObject({ status, body: { proof: null, errors: [{ path }] } });
      const verified = await post(`${cubicId}/verify`, { witness: { Y: "35" }, proof: "00", ...members });
      expect(verified, path).toMatchObject({ status, body: { result: false, errors: [{ path }] } });
    }
  });

  it("may name the store and the owner of a new prover", async () => {
    const { store_id, user_id } = said();
    const response = await fetch(`${front.url}/api/v1/provers`, {
      method: "POST",
      headers: JSON_HEADERS,
      body: JSON.stringify({ identifier: "cubic", proving_scheme: "groth16", curve: "BN254", store_id, user_id }),
    });
    expect(response.status).toBe(202);
    expect(await response.json()).toMatchObject({ note_store_id: store_id });
  });
});

describe("source", () => {
  it("of eight megabytes is taken, and one of more is refused", async () => {
    const base = { proving_scheme: "groth16", curve: "BN254" };
    const template = "template M() { signal input a; signal output b; b <== a * a; } component main = M();";
    const constants = `// ${"0123456789\n// ".repeat(580_000)}`;
    const create = async (source: object): Promise<number> => {
      const body = JSON.stringify({ ...base, source });
      const response = await fetch(`${front.url}/api/v1/provers`, { method: "POST", headers: JSON_HEADERS, body });
      return response.status;
    };
    const files = Object.fromEntries(Array.from({ length: 1998 }, (_, i) => [`lib/f${String(i)}.circom`, "//"]));
    expect(await create({ "main.circom": template, "constants.circom": constants, ...files })).toBe(202);
    expect(await create({ "main.circom": template, "constants.circom": constants + constants.slice(0, 10 ** 6) })).toBe(
      422,
    );
    expect(await create({ "main.circom": template, ...files, "x.circom": "//", "y.circom": "//" })).toBe(422);
    expect(await create({ "main.circom": template, [`${"x/".repeat(200)}a.circom`]: "//" })).toBe(422);
  });
});

describe("failures of prove and verify", () => {
  it.each([
    ["malformed JSON", "{", ""],
    ["an id that is none", "{}", "not-a-uuid"],
    ["a path that is none", "{}", "%zz"],
    ["a NUL in the path", "{}", "%00"],
    ["an unknown member", '{"x": 1}', ""],
    ["a wrong query", "{}", "?format=x"],
  ])("carry proof and result at %s", async (_name, body, id) => {
    for (const [verb, members] of [
      ["prove", { proof: null }],
      ["verify", { result: false }],
    ] as const) {
      const path = id.startsWith("?") ? `${cubicId}/${verb}${id}` : `${id === "" ? cubicId : id}/${verb}`;
      const answer = await post(path, body);
      expect(answer.status, path).toBeGreaterThanOrEqual(400);
      expect(answer.body, path).toMatchObject(members);
    }
  });
});

describe("lists", () => {
  it("say how many there are in all, and filter by name", async () => {
    await provision(registry.provers, OWNER, { name: "Named for a filter" });
    const list = async (path: string) => {
      const response = await fetch(`${front.url}/api/v1/provers${path}`, { headers: BEARER });
      const total = response.headers.get("X-Total-Results-Count");
      return { total, body: (await response.json()) as { name?: string }[] };
    };
    const named = await list("?name=Named+for+a+filter");
    expect(named.total).toBe("1");
    expect(named.body.map(({ name }) => name)).toEqual(["Named for a filter"]);
    expect(await list("?name=nobody")).toEqual({ total: "0", body: [] });
    const [first, second] = [await proveCubic(), await proveCubic()];
    const found = async (query: string) => await list(`/${cubicId}/proofs?${query}`);
    expect(await found(`hash=${first.hash}`)).toMatchObject({ total: "1", body: [{ id: first.id }] });
    const same = await found(`statement_hash=${second.statement_hash}&rpp=100`);
    expect(same.total).toBe((await found("")).total);
    expect(await found(`hash=${first.hash}&origin=verify`)).toEqual({ total: "0", body: [] });
    expect(await found(`hash=${"0".repeat(64)}`)).toEqual({ total: "0", body: [] });
  });
});

describe("names, tags and free data", () => {
  const api = async (method: string, path: string, body?: unknown): Promise<Answer & { location: string | null }> => {
    const response = await fetch(`${front.url}/api/v1/provers${path}`, {
      method,
      headers: { "Content-Type": "application/json", Authorization: "bearer user-read+create+update+delete" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      body: (text === "" ? {} : JSON.parse(text)) as Answer["body"],
      location: response.headers.get("location"),
    };
  };

  it("name a prover where a path reads, proves or verifies, and nowhere else", async () => {
    const { id } = await provision(registry.provers, OWNER, { name: "Cube", tags: ["v1"] });
    for (const path of ["/Cube:v1", "/Cube%3Av1", `/${id.toUpperCase()}`])
      expect(await api("GET", path), path).toMatchObject({ status: 200, body: { id, tags: ["v1"] } });
    const made = await api("POST", "/Cube:v1/prove", { witness: { X: "3", Y: "35" }, meta: { order: "7" } });
    expect(made).toMatchObject({ status: 201, body: { prover_id: id, meta: { order: "7" } } });
    expect(made.location).toBe(`/api/v1/provers/${id}/proofs/${String(made.body.id)}`);
    expect(await api("POST", "/Cube:v1/verify", made.body)).toMatchObject({ status: 200, body: { result: true } });
    for (const path of ["/status", "/artifacts", "/artifacts/verifying_key.json", "/proofs?meta[order]=7", "/notes/0"])
      expect((await api("GET", `/Cube:v1${path}`)).status, path).toBe(200);
    for (const path of ["/Cube:v2", "/cube:v1", "/Cube:v1/proofs/7a4c1f2e-0000-4000-8000-00000000000b"])
      expect((await api("GET", path)).status, path).toBe(404);
    expect((await api("POST", "/Cube:v2/prove", {})).body).toMatchObject({
      proof: null,
      errors: [{ code: "not_found" }],
    });
    for (const path of ["/Cube", "/Cube:", "/:v1", "/Cube:v1:v2", "/Cu%20be:v1", "/Cube:.v"])
      expect((await api("GET", path)).status, path).toBe(400);
    for (const method of ["PUT", "DELETE"]) expect((await api(method, "/Cube:v1", {})).status, method).toBe(400);
    expect((await api("GET", "/Cube:v1/grants")).status).toBe(400);
  });

  it("are found by, changed by a record that is sent back, and refused by their name", async () => {
    const { id } = await provision(registry.provers, OWNER, { name: "Sent", meta: { team: "a&b" } });
    const found = await api("GET", "?meta[team]=a%26b&name=Sent");
    expect(found).toMatchObject({ status: 200, body: [{ id }] });
    expect((await api("GET", "?meta%5Bteam%5D=other")).body).toEqual([]);
    const [record] = found.body as unknown as Record<string, unknown>[];
    const sent = { ...record, tags: ["t"], meta: { constructor: "x" } };
    expect((await api("PUT", `/${id}`, sent)).status).toBe(204);
    expect(await api("GET", "/Sent:t")).toMatchObject({ body: { id, meta: { constructor: "x" } } });
    const refusals: readonly (readonly [body: object, path: string])[] = [
      [{ ...record, name: "Other" }, "name"],
      [{ tags: ["t", "-"] }, "tags[1]"],
      [{ meta: { "a b": "" } }, "meta.a b"],
      [{ meta: { a: "x".repeat(501) } }, "meta.a"],
      [{ meta: { a: 1 } }, "meta.a"],
      [{ status: "failed", nothing: 1 }, "nothing"],
    ];
    for (const [body, path] of refusals)
      expect(await api("PUT", `/${id}`, body), path).toMatchObject({ status: 422, body: { errors: [{ path }] } });
    for (const query of ["?meta=x", "?meta[a]=1&meta[a]=2", "?meta[a%20b]=1", "?tag=-", "?unknown[a]=1"])
      expect((await api("GET", query)).status, query).toBe(422);
    const wrong = { identifier: "cubic", proving_scheme: "groth16", curve: "BN254", name: "two words", tags: ["v1"] };
    expect(await api("POST", "", wrong)).toMatchObject({ status: 422, body: { errors: [{ path: "name" }] } });
  });
});
