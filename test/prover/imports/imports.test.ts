/** Circuits and keys from outside over HTTP: uploads in parts, what they become, and files that are not what they say. */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import net from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { bindRoutes } from "../../../src/platform/contract/route.js";
import { proverRoutes } from "../../../src/prover/routes.js";
import type { Prover, ProverArtifact } from "../../../src/prover/schemas.js";
import { BEARER, JSON_HEADERS, startFront, TOKEN, until, type Front } from "../../platform/http/support.js";
import { eventually, openTestRegistry, provision, type TestRegistry } from "../support.js";

/** Whom the tokens of the test server belong to. */
const OWNER = { kind: "user", id: "7a4c1f2e-0000-4000-8000-00000000000a" } as const;
const OTHER = { kind: "user", id: "7a4c1f2e-0000-4000-8000-00000000000b" } as const;
const BASE = { proving_scheme: "groth16", curve: "BN254" };
/** Offsets of points in the header section of a BN254 `.zkey` that snarkjs' layout begins with. */
const ZKEY = { gammaG2: 380, deltaG2: 572, g2Bytes: 128 } as const;

type Files = Record<string, Buffer>;

let registry: TestRegistry;
let front: Front;
/** Of a circuit that another owner has provisioned here. */
let cubic: Prover;
let files: Files;

beforeAll(async () => {
  registry = await openTestRegistry();
  const { handlers, bodyLimits } = registry.registry;
  front = await startFront({ routes: bindRoutes(proverRoutes, handlers, bodyLimits) });
  cubic = await provision(registry.provers, OTHER);
  files = Object.fromEntries(
    await Promise.all(
      [
        ["circuit.r1cs", "circuit.r1cs"],
        ["circuit.wasm", "circuit.wasm"],
        ["circuit.sym", "circuit.sym"],
        ["proving_key.zkey", "proving_key.zkey"],
        ["verification_key.json", "verifying_key.json"],
      ].map(async ([name, download]) => {
        const { path } = await registry.provers.artifact(OTHER, cubic.id, download!);
        return [name!, readFileSync(path)] as const;
      }),
    ),
  );
});
afterAll(async () => {
  await front.server.stop({ graceMs: 0 });
  await registry.close();
});
/** Imports of a failed test must not take the places of the next one's. */
beforeEach(async () => {
  for (const { id } of registry.provers.list(OWNER, { status: "init", page: 1, rpp: 100 }).body)
    await registry.provers.delete(OWNER, id);
});

interface Answer<Body> {
  readonly status: number;
  readonly body: Body & {
    readonly message?: string;
    readonly errors: { code: string; message: string; file?: string }[];
  };
}
const sha256 = (bytes: Buffer, encoding: "hex" | "base64" = "hex"): string =>
  createHash("sha256").update(bytes).digest(encoding);
const CIRCUIT = ["circuit.r1cs", "circuit.wasm", "circuit.sym"];
const ALL = [...CIRCUIT, "proving_key.zkey", "verification_key.json"];

async function create(names: readonly string[], said: Files = {}): Promise<Answer<Prover>> {
  const entries = names.map((name) => [name, said[name] === undefined ? {} : { sha256: sha256(said[name]) }]);
  const response = await fetch(`${front.url}/api/v1/provers`, {
    method: "POST",
    headers: JSON_HEADERS,
    body: JSON.stringify({ ...BASE, import: Object.fromEntries(entries) as object }),
  });
  return { status: response.status, body: (await response.json()) as Answer<Prover>["body"] };
}

async function put(
  id: string,
  name: string,
  bytes: Buffer,
  headers: Record<string, string> = {},
): Promise<Answer<ProverArtifact>> {
  const response = await fetch(`${front.url}/api/v1/provers/${id}/artifacts/${name}`, {
    method: "PUT",
    headers: { ...BEARER, ...headers },
    body: new Uint8Array(bytes),
  });
  return { status: response.status, body: (await response.json()) as Answer<ProverArtifact>["body"] };
}

async function list(id: string): Promise<ProverArtifact[]> {
  return (await (
    await fetch(`${front.url}/api/v1/provers/${id}/artifacts`, { headers: BEARER })
  ).json()) as ProverArtifact[];
}

/** Imports all files and returns the prover at its end. */
async function imported(names: readonly string[], given: Files): Promise<Prover> {
  const { body } = await create(names);
  for (const name of names) expect(await put(body.id, name, given[name]!)).toMatchObject({ status: 201 });
  await until(() => registry.provers.progress(OWNER, body.id).finished);
  return registry.provers.get(OWNER, body.id);
}

async function prove(id: string, body: object = { witness: { X: "3", Y: "35" } }): Promise<Answer<{ proof: string }>> {
  const response = await fetch(`${front.url}/api/v1/provers/${id}/prove`, {
    method: "POST",
    headers: JSON_HEADERS,
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as Answer<{ proof: string }>["body"] };
}

describe("an import", () => {
  it("becomes a prover whose key is the uploaded one", async () => {
    const prover = await imported(ALL, files);
    expect(prover).toMatchObject({ status: "provisioned", trusted_setup: "imported", options: null, errors: [] });
    const { status, body } = await prove(prover.id);
    expect(status).toBe(201);
    // The same key: the prover that made it accepts the proof.
    const item = { proof: body.proof, witness: { Y: "35" } };
    const principal = { subject: OTHER, permissions: 0, tokenId: "t", sessionId: "s", expiresAtSec: 2 ** 31 };
    const signal = new AbortController().signal;
    expect(await registry.provers.verify(principal, cubic.id, { item, store: false, signal })).toBe(true);
  });

  it("without a key gets one of this server", async () => {
    const prover = await imported(CIRCUIT, files);
    expect(prover).toMatchObject({ status: "provisioned", trusted_setup: "single_party" });
    expect(await prove(prover.id)).toMatchObject({ status: 201 });
  });

  it("takes files by their hash where the caller has them, and only then", async () => {
    const source =
      "pragma circom 2.1.6; template M() { signal input a; signal output b; b <== a * a; } component main = M();";
    const theirs = await provision(registry.provers, OTHER, { source });
    const r1cs = readFileSync((await registry.provers.artifact(OTHER, theirs.id, "circuit.r1cs")).path);
    const states = async (): Promise<boolean[]> => {
      const { id } = (await create(CIRCUIT, { "circuit.r1cs": r1cs })).body;
      return (await list(id)).map(({ complete }) => complete);
    };
    expect(await states()).toEqual([false, false, false]);
    await provision(registry.provers, OWNER, { source });
    expect(await states()).toEqual([true, false, false]);
  });

  it("is refused with members that contradict it", async () => {
    const send = async (body: object): Promise<number> => {
      const text = JSON.stringify({ ...BASE, ...body });
      return (await fetch(`${front.url}/api/v1/provers`, { method: "POST", headers: JSON_HEADERS, body: text })).status;
    };
    const announced = { "circuit.r1cs": {}, "circuit.wasm": {}, "circuit.sym": {} };
    expect(await send({ import: announced, identifier: "cubic" })).toBe(422);
    expect(await send({ import: announced, source: "x" })).toBe(422);
    expect(await send({ import: announced, options: { optimization: 1 } })).toBe(422);
    expect(await send({ import: { ...announced, "verification_key.json": {} } })).toBe(422);
    expect(await send({ import: { ...announced, "other.bin": {} } })).toBe(422);
    expect(await send({ import: { "circuit.r1cs": {} } })).toBe(422);
  });

  it("leaves at most five of one owner waiting", async () => {
    for (let i = 0; i < 5; i += 1) expect((await create(CIRCUIT)).status).toBe(202);
    expect(await create(CIRCUIT)).toMatchObject({ status: 429 });
  });
});

describe("an upload", () => {
  const name = "circuit.wasm";

  it("may come in parts, and tells how far it is", async () => {
    const { id } = (await create(CIRCUIT)).body;
    const file = files[name]!;
    const total = String(file.length);
    const said = { "Repr-Digest": `sha-256=:${sha256(file, "base64")}:` };
    const first = await put(id, name, file.subarray(0, 1000), { ...said, "Content-Range": `bytes 0-999/${total}` });
    expect(first).toMatchObject({ status: 200, body: { received: 1000, complete: false, sha256: sha256(file) } });
    expect((await list(id)).find((one) => one.name === name)).toMatchObject({ received: 1000, complete: false });
    const wrong = await put(id, name, file.subarray(2000), {
      "Content-Range": `bytes 2000-${String(file.length - 1)}/${total}`,
    });
    expect(wrong).toMatchObject({ status: 409, body: { errors: [{ code: "upload_out_of_order" }] } });
    const other = await put(id, name, file.subarray(1000, 1001), {
      "Content-Range": `bytes 1000-1000/${String(file.length + 1)}`,
    });
    expect(other.status).toBe(422);
    const rest = await put(id, name, file.subarray(1000), {
      "Content-Range": `bytes 1000-${String(file.length - 1)}/${total}`,
    });
    expect(rest).toMatchObject({ status: 201, body: { complete: true, sha256: sha256(file), bytes: file.length } });
    expect(await put(id, name, file)).toMatchObject({
      status: 409,
      body: { errors: [{ code: "upload_not_expected" }] },
    });
  });

  it("with other bytes than were said is refused at its end, and leaves nothing", async () => {
    const file = Buffer.alloc(2000, "whatever");
    const { id } = (await create(CIRCUIT, { [name]: file })).body;
    const changed = Buffer.from(file);
    changed[file.length - 1]! ^= 1;
    const range = (a: number, b: number): Record<string, string> => ({
      "Content-Range": `bytes ${String(a)}-${String(b)}/${String(file.length)}`,
    });
    expect(await put(id, name, changed.subarray(0, 500), range(0, 499))).toMatchObject({ status: 200 });
    const refused = await put(id, name, changed.subarray(500), range(500, file.length - 1));
    expect(refused).toMatchObject({ status: 422, body: { errors: [{ code: "upload_digest_mismatch" }] } });
    expect((await list(id)).find((one) => one.name === name)).toMatchObject({ received: 0, complete: false });
    expect(readdirSync(`${registry.folder}/artifacts/tmp`)).toEqual([]);
    expect(existsSync(`${registry.folder}/artifacts/sha256/${sha256(changed).slice(0, 2)}/${sha256(changed)}`)).toBe(
      false,
    );
    expect(await put(id, name, file)).toMatchObject({ status: 201 });
  });

  it("that was refused at its first byte leaves the place to another of any length", async () => {
    const file = Buffer.alloc(2000, "announced");
    const { id } = (await create(CIRCUIT, { [name]: file })).body;
    const wrong = Buffer.from("another file");
    const said = { "Repr-Digest": `sha-256=:${sha256(wrong, "base64")}:` };
    expect(await put(id, name, wrong, said)).toMatchObject({ status: 422 });
    expect(readdirSync(`${registry.folder}/artifacts/tmp`)).toEqual([]);
    expect(await put(id, name, file)).toMatchObject({ status: 201 });
  });

  it("whose whole file is longer than allowed is refused with its first part", async () => {
    const { id } = (await create(CIRCUIT)).body;
    const total = String(2047 * 1024 * 1024 + 1);
    expect(await put(id, name, Buffer.from("begun"), { "Content-Range": `bytes 0-4/${total}` })).toMatchObject({
      status: 413,
      body: { errors: [{ code: "body_too_large" }] },
    });
  });

  it("that is cut off goes on where it stopped", async () => {
    const { id } = (await create(CIRCUIT)).body;
    const file = files[name]!;
    const socket = net.connect(front.port, "127.0.0.1");
    const path = `/api/v1/provers/${id}/artifacts/${name}`;
    socket.write(
      `PUT ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: bearer ${TOKEN}\r\nContent-Length: ${String(file.length)}\r\n\r\n`,
    );
    socket.write(file.subarray(0, 700));
    const received = async (): Promise<number> =>
      (await registry.provers.artifacts(OWNER, id)).find((one) => one.name === name)!.received;
    await eventually("a part has come", async () => (await received()) === 700);
    socket.destroy();
    const rest = { "Content-Range": `bytes 700-${String(file.length - 1)}/${String(file.length)}` };
    const send = async (): Promise<number> => (await put(id, name, file.subarray(700), rest)).status;
    // Until the server has seen the end of the connection, the file is another request's.
    let status = await send();
    while (status === 409) status = await send();
    expect(status).toBe(201);
  });

  it("is nobody else's, and only for what was announced", async () => {
    const { id } = (await create(CIRCUIT)).body;
    expect(await put(id, "proving_key.zkey", Buffer.from("x"))).toMatchObject({ status: 409 });
    expect(await put(cubic.id, name, Buffer.from("x"))).toMatchObject({ status: 404 });
    expect(await put(id, name, Buffer.alloc(0))).toMatchObject({ status: 422 });
    await registry.provers.delete(OWNER, id);
    expect(await put(id, name, Buffer.from("x"))).toMatchObject({ status: 404 });
  });

  it("ends with its prover", async () => {
    const { id } = (await create(CIRCUIT)).body;
    await put(id, name, Buffer.from("begun"), { "Content-Range": "bytes 0-4/100" });
    expect(readdirSync(`${registry.folder}/artifacts/tmp`)).toHaveLength(1);
    await registry.provers.delete(OWNER, id);
    expect(readdirSync(`${registry.folder}/artifacts/tmp`)).toEqual([]);
  });
});

const changed = (bytes: Buffer, at: number, by: Buffer): Buffer =>
  Buffer.concat([bytes.subarray(0, at), by, bytes.subarray(at + by.length)]);
/** A module of a few bytes: sections as [kind, ...content]. */
const moduleOf = (...sections: number[][]): Buffer =>
  Buffer.from([
    0,
    0x61,
    0x73,
    0x6d,
    1,
    0,
    0,
    0,
    ...sections.flatMap(([kind, ...content]) => [kind!, content.length, ...content]),
  ]);

/** The file with one more section, of zeros, which is counted in the head. */
function padded(bytes: Buffer, kind: number): Buffer {
  const longer = Buffer.concat([bytes, Buffer.alloc(12 + 1024)]);
  longer.writeUInt32LE(bytes.readUInt32LE(8) + 1, 8);
  longer.writeUInt32LE(kind, bytes.length);
  longer.writeUInt32LE(1024, bytes.length + 4);
  return longer;
}

/** The key with a thousand coefficients of zero behind its own. */
function withMoreCoefficients(bytes: Buffer): Buffer {
  const ENTRY = 44;
  const MORE = 1000;
  let at = 12;
  while (bytes.readUInt32LE(at) !== 4) at += 12 + Number(bytes.readBigUInt64LE(at + 4));
  const end = at + 12 + Number(bytes.readBigUInt64LE(at + 4));
  const longer = Buffer.concat([bytes.subarray(0, end), Buffer.alloc(MORE * ENTRY), bytes.subarray(end)]);
  longer.writeBigUInt64LE(bytes.readBigUInt64LE(at + 4) + BigInt(MORE * ENTRY), at + 4);
  longer.writeUInt32LE(bytes.readUInt32LE(at + 12) + MORE, at + 12);
  return longer;
}

describe("files that are not what they say", () => {
  it.each<[what: string, file: string, make: (bytes: Buffer) => Buffer, message: RegExp]>([
    ["a truncated R1CS", "circuit.r1cs", (bytes) => bytes.subarray(0, bytes.length - 32), /end of/],
    ["an R1CS with a section of nothing", "circuit.r1cs", (bytes) => padded(bytes, 6), /unknown kind/],
    ["an R1CS with custom gates of any length", "circuit.r1cs", (bytes) => padded(bytes, 4), /custom gates/],
    ["something else as R1CS", "circuit.r1cs", () => Buffer.from("{}  "), /not an R1CS|file ends/],
    [
      "an R1CS of another curve",
      "circuit.r1cs",
      (bytes) => changed(bytes, bytes.indexOf(Buffer.from("010000f0", "hex")), Buffer.from("03", "hex")),
      /curve|section|prime/,
    ],
    ["a symbol table of nothing", "circuit.sym", () => Buffer.from("\n"), /symbol table/],
    [
      "a symbol table with an absurd index",
      "circuit.sym",
      () => Buffer.from("1,1,0,main.X[999999999]\n2,2,0,main.Y\n"),
      /symbol table/,
    ],
    ["no WebAssembly", "circuit.wasm", () => Buffer.from("nothing"), /module|WebAssembly/],
    [
      "a program with an import of its own",
      "circuit.wasm",
      () => moduleOf([1, 1, 0x60, 0, 0], [2, 1, 3, 0x65, 0x6e, 0x76, 1, 0x66, 0, 0], [5, 1, 0, 1]),
      /imports env\.f/,
    ],
    [
      "a program that imports its memory",
      "circuit.wasm",
      () => moduleOf([2, 1, 3, 0x65, 0x6e, 0x76, 1, 0x6d, 2, 0, 1]),
      /memory/,
    ],
    ["a program with too much memory", "circuit.wasm", () => moduleOf([5, 1, 0, 0xff, 0xff, 3]), /pages of memory/],
    [
      "a program with large tables",
      "circuit.wasm",
      () => moduleOf([4, 1, 0x70, 0, 0xff, 0xff, 0xff, 4], [5, 1, 0, 1]),
      /table/,
    ],
    ["a program without circom's exports", "circuit.wasm", () => moduleOf([5, 1, 0, 1]), /exports no/],
    ["a truncated key", "proving_key.zkey", (bytes) => bytes.subarray(0, bytes.length - 1), /section|end/],
    ["a key with a section of nothing", "proving_key.zkey", (bytes) => padded(bytes, 11), /too many sections/],
    ["a key with coefficients of nothing", "proving_key.zkey", withMoreCoefficients, /more coefficients/],
    ["something else as a key", "proving_key.zkey", () => Buffer.from("not a key at all"), /not a zkey/],
    [
      "a key without phase 2",
      "proving_key.zkey",
      (bytes) => changed(bytes, ZKEY.gammaG2, bytes.subarray(ZKEY.deltaG2, ZKEY.deltaG2 + ZKEY.g2Bytes)),
      /phase2|gamma equals delta|verifying key/,
    ],
    ["a verifying key that is no JSON", "verification_key.json", () => Buffer.from("{"), /verifying key/],
  ])("%s", async (_what, file, make, message) => {
    const names = file === "verification_key.json" ? ALL : [...CIRCUIT, "proving_key.zkey"];
    const prover = await imported(names, { ...files, [file]: make(files[file]!) });
    expect(prover.status).toBe("failed");
    expect(prover.errors[0]?.message).toMatch(message);
    expect(["import_invalid", "setup_gate_failed", "circuit_too_large"]).toContain(prover.errors[0]?.code);
    const kept = sha256(make(files[file]!));
    await until(() => !existsSync(`${registry.folder}/artifacts/sha256/${kept.slice(0, 2)}/${kept}`));
  });

  it("a program and a key of another circuit", async () => {
    const other = await provision(registry.provers, OTHER, {
      source:
        "pragma circom 2.1.6; template M() { signal input a; signal input b; signal output c; c <== a * b * 2; } component main = M();",
    });
    const foreign = async (download: string): Promise<Buffer> =>
      readFileSync((await registry.provers.artifact(OTHER, other.id, download)).path);
    const program = await imported(CIRCUIT, { ...files, "circuit.wasm": await foreign("circuit.wasm") });
    expect(program).toMatchObject({ status: "failed", errors: [{ code: "import_invalid", file: "circuit.wasm" }] });
    const key = await imported([...CIRCUIT, "proving_key.zkey"], {
      ...files,
      "proving_key.zkey": await foreign("proving_key.zkey"),
    });
    expect(key.status).toBe("failed");
    const mixed = await imported(ALL, { ...files, "verification_key.json": await foreign("verifying_key.json") });
    expect(mixed).toMatchObject({
      status: "failed",
      errors: [{ code: "import_invalid", file: "verification_key.json" }],
    });
  });
});

describe("a witness of the caller's own", () => {
  /** X^3 + X + 5 = Y for X = 3: wires 1, Y, X, X^2. */
  const WIRES = [1n, 35n, 3n, 9n];
  const PRIME = 21888242871839275222246405745257275088548364400416034343698204186575808495617n;
  const u32 = (value: number): Buffer => Buffer.from(Uint32Array.of(value).buffer);
  const element = (value: bigint): Buffer => Buffer.from(value.toString(16).padStart(64, "0"), "hex").reverse();
  const wtns = (wires: readonly bigint[], prime = PRIME): Buffer =>
    Buffer.concat([
      ...[Buffer.from("wtns"), u32(2), u32(2), u32(1), u32(40), u32(0), u32(32), element(prime), u32(wires.length)],
      ...[u32(2), u32(32 * wires.length), u32(0), ...wires.map(element)],
    ]);
  const tried = async (file: Buffer): Promise<Answer<object>> => {
    const own = registry.provers.list(OWNER, { identifier: "cubic", page: 1, rpp: 1 }).body[0]!;
    return await prove(own.id, { witness_file: file.toString("base64") });
  };

  it("proves as inputs do, and is checked before", async () => {
    await provision(registry.provers, OWNER);
    expect(await tried(wtns(WIRES))).toMatchObject({ status: 201, body: { public_signals: ["35"] } });
    for (const wrong of [
      [1n, 35n, 3n, 10n],
      [1n, 36n, 3n, 9n],
      [2n, 35n, 3n, 9n],
      [0n, 0n, 0n, 0n],
      [1n, 35n + PRIME, 3n, 9n],
    ])
      expect(await tried(wtns(wrong))).toMatchObject({
        status: 422,
        body: { errors: [{ code: "constraints_unsatisfied" }] },
      });
  });

  it("of another form, curve or circuit is refused", async () => {
    const whole = wtns(WIRES);
    for (const file of [
      whole.subarray(0, whole.length - 1),
      whole.subarray(0, 10),
      Buffer.concat([whole, Buffer.from([0])]),
      Buffer.from("something"),
      wtns([...WIRES, 1n]),
      wtns(WIRES, PRIME - 2n),
      wtns([]),
    ])
      expect(await tried(file)).toMatchObject({ status: 422, body: { errors: [{ code: "witness_invalid" }] } });
    const both = await prove(cubic.id, { witness_file: "AAAA", witness: { X: "3" } });
    expect([404, 422]).toContain(both.status);
  });
});
