/**
 * A second provider, with nothing of circom's: knowledge of discrete logarithms and representations on secp256k1, by
 * Schnorr's protocol for linear relations, made non-interactive by Fiat and Shamir. A program names bases, secrets and
 * points, such as a Pedersen commitment to the key of a public point:
 *
 *   base H "commitments"
 *   secret x
 *   secret r
 *   point Y = x*G
 *   point C = x*G + r*H
 *
 * G is the curve's generator, other bases are hashed to the curve (RFC 9380). The public signals are the points'
 * coordinates. A proof is challenge(32) || one response(32) for each secret, big-endian, each below the group's order.
 */
import { createHash, randomBytes } from "node:crypto";
import { secp256k1, secp256k1_hasher } from "@noble/curves/secp256k1.js";
import type { ProveValue, TaskFailure, TaskResult, UncheckedClaim, VerifyValue } from "../../src/engine/protocol.js";
import { invalidMember } from "../../src/platform/errors.js";
import type { BuiltProver, CompiledProgram, Provider, ReadyProver } from "../../src/prover/providers/provider.js";
import type { CreateProver, ProverDiagnostic } from "../../src/prover/schemas.js";

/** What a program says, by positions: points are sums of secret times base. */
interface Relation {
  readonly secrets: readonly string[];
  readonly bases: readonly { readonly name: string; readonly label: string }[];
  readonly points: readonly { readonly name: string; readonly terms: readonly (readonly [number, number])[] }[];
}

/** The verifying key's JSON. */
interface VerifyingKey extends Relation {
  readonly protocol: "schnorr";
  readonly curve: "secp256k1";
  /** Compressed, hex, in the order of the bases. */
  readonly base_points: readonly string[];
}

interface SigmaProof {
  readonly challenge: bigint;
  readonly responses: readonly bigint[];
}

type Point = InstanceType<typeof secp256k1.Point>;
type Step = "compile" | "setup" | "gates";

interface SigmaOptions {
  /** Called as each step of provisioning begins. */
  readonly onStep?: (step: Step, signal: AbortSignal | undefined) => Promise<void>;
}

const COMPILER = "sigma 1";
const POINT_BYTES = 33;
const SCALAR_BYTES = 32;
const LINES_MAX = 100;
const { Point } = secp256k1;
const ORDER = Point.Fn.ORDER;
const NAME = "[A-Za-z][A-Za-z0-9_]{0,31}";
const LINE = {
  base: new RegExp(`^base (${NAME}) "([ -~]{1,64})"$`),
  secret: new RegExp(`^secret (${NAME})$`),
  point: new RegExp(`^point (${NAME}) = (.+)$`),
  term: new RegExp(`^(${NAME})\\*(${NAME})$`),
};

/** Returns the provider `sigma`. */
export function sigmaProvider({ onStep = async () => undefined }: SigmaOptions = {}): Provider {
  return {
    name: "sigma",
    systems: [
      {
        ...{ proving_scheme: "schnorr", curve: "secp256k1", setup: "none", noteCurve: "BN254" },
        ...{ keyFormats: { proving_key: "sigma-bases", verifying_key: "sigma-json" }, forms: [], verifySliceItems: 4 },
      },
    ],
    downloads: {
      "verifying_key.json": { artifact: "verifying_key.json", contentType: "application/json" },
      proving_key: { artifact: "proving_key", contentType: "application/octet-stream" },
      "relation.json": { artifact: "relation.json", contentType: "application/json" },
      "program.sigma": { artifact: "source.json", contentType: "text/plain; charset=UTF-8" },
    },
    isAnalyzed: false,
    publicNames: async (prover) => {
      const { points } = await relationOf(prover);
      return points.flatMap(({ name }) => [`${name}.x`, `${name}.y`]);
    },
    readProgram,
    compile: async (prover, { signal }) => {
      await onStep("compile", signal);
      return compile(Buffer.from(await prover.read("source.json")).toString("utf8"));
    },
    setup: async (prover, _strings, { signal }) => {
      await onStep("setup", signal);
      return { ok: true, value: makeKeys(await relationOf(prover)) };
    },
    gates: async (prover, _string, { signal }) => {
      await onStep("gates", signal);
      const made = makeKeys(await relationOf(prover));
      const [provingKey, verifyingKey] = [await prover.read("proving_key"), await prover.read("verifying_key.json")];
      if (Buffer.compare(provingKey, made.provingKey) === 0 && text(verifyingKey) === made.verifyingKey)
        return { ok: true };
      return { ok: false, errors: [{ code: "setup_gate_failed", message: "the keys are not those of the program" }] };
    },
    prove: async (prover, { inputs, witnessFile }) => {
      if (witnessFile !== undefined) return malformedInput("witness_file", "a program of sigma has no witness file");
      return prove(await keyOf(prover), readBases((await prover.shared("proving_key")).bytes), inputs);
    },
    verify: async (prover, claim) => verify(await keyOf(prover), claim),
    verifyBatch: async (prover, claims) => {
      const key = await keyOf(prover);
      return { ok: true, value: { outcomes: claims.map((claim) => verify(key, claim)) } };
    },
  };
}

function readProgram(request: CreateProver): ReturnType<Provider["readProgram"]> {
  const { identifier, source, main, options } = request;
  if (typeof identifier === "string")
    throw invalidMember("identifier", "sigma has no built-in programs", "identifier_unknown");
  if (typeof main === "string") throw invalidMember("main", "a program of sigma is one text", "source_invalid");
  if (options !== undefined && options !== null)
    throw invalidMember("options", "sigma's compiler has no options", "source_invalid");
  if (typeof source !== "string")
    throw invalidMember("source", "give the program of sigma as one text", "source_invalid");
  const hash = createHash("sha256").update(`${COMPILER}\n${source}`).digest("hex");
  return {
    ...{ identifier: `source-${hash.slice(0, 16)}`, options: null, isBuiltIn: false, hash },
    sourceHash: createHash("sha256").update(source).digest("hex"),
    content: Buffer.from(source),
  };
}

function compile(program: string): CompiledProgram {
  const errors: ProverDiagnostic[] = [];
  const lines = program.split("\n").map((line) => line.trim());
  const found = {
    secrets: [] as string[],
    bases: [{ name: "G", label: "" }],
    points: [] as Relation["points"][number][],
  };
  const fail = (line: number, message: string): void => void errors.push({ code: "syntax", message, line });
  if (lines.length > LINES_MAX) fail(LINES_MAX, "the program has too many lines");
  for (const [i, line] of lines.slice(0, LINES_MAX).entries()) {
    const [base, secret, point] = [LINE.base.exec(line), LINE.secret.exec(line), LINE.point.exec(line)];
    const name = (base ?? secret ?? point)?.[1] ?? "";
    const known = [...found.secrets, ...[...found.bases, ...found.points].map((each) => each.name)];
    if (line === "" || line.startsWith("#")) continue;
    if (name === "") fail(i + 1, "expected `base`, `secret` or `point`");
    else if (known.includes(name)) fail(i + 1, `${name} is declared twice`);
    else if (base !== null) found.bases.push({ name, label: base[2] ?? "" });
    else if (secret !== null) found.secrets.push(name);
    else {
      const terms = (point?.[2] ?? "").split("+").map((term) => readTerm(term.trim(), found));
      const read = terms.flatMap((term) => (term === undefined ? [] : [term]));
      if (read.length === terms.length) found.points.push({ name, terms: read });
      else fail(i + 1, `${name} is not a sum of declared secrets times declared bases`);
    }
  }
  if (errors.length === 0 && found.points.length === 0) fail(lines.length, "the program has no point");
  if (errors.length > 0) return { ok: false, errors, warnings: [] };
  const isUsed = (_name: string, s: number): boolean =>
    found.points.some(({ terms }) => terms.some(([by]) => by === s));
  const idle = found.secrets.filter((name, s) => !isUsed(name, s));
  return {
    ok: true,
    files: { "relation.json": Buffer.from(JSON.stringify(found)) },
    warnings: idle.map((name) => ({ code: "unused", message: `no point depends on ${name}` })),
    valueCount: found.secrets.length + 2 * found.points.length,
    compiler: COMPILER,
  };
}

function readTerm(term: string, { secrets, bases }: Pick<Relation, "secrets" | "bases">): [number, number] | undefined {
  const [, secret = "", base = ""] = LINE.term.exec(term) ?? [];
  const positions: [number, number] = [secrets.indexOf(secret), bases.findIndex(({ name }) => name === base)];
  return positions.includes(-1) ? undefined : positions;
}

/** The keys follow from the program alone: nobody knows a logarithm of one base to another. */
function makeKeys(relation: Relation): { readonly provingKey: Uint8Array; readonly verifyingKey: string } {
  const points = relation.bases.map(({ label }, i) =>
    i === 0
      ? Point.BASE
      : Point.fromAffine(secp256k1_hasher.hashToCurve(Buffer.from(label), { DST: "sigma-bases-v1" }).toAffine()),
  );
  const key: VerifyingKey = {
    ...{ protocol: "schnorr", curve: "secp256k1" },
    ...relation,
    base_points: points.map((point) => point.toHex(true)),
  };
  return { provingKey: Buffer.concat(points.map((point) => point.toBytes(true))), verifyingKey: JSON.stringify(key) };
}

async function relationOf(prover: BuiltProver): Promise<Relation> {
  return JSON.parse(text(await prover.read("relation.json"))) as Relation;
}

async function keyOf(prover: ReadyProver): Promise<VerifyingKey> {
  const { bytes } = await prover.shared("verifying_key.json");
  return JSON.parse(text(new Uint8Array(bytes))) as VerifyingKey;
}

function readBases(bytes: SharedArrayBuffer): Point[] {
  const all = new Uint8Array(bytes).slice();
  return Array.from({ length: all.length / POINT_BYTES }, (_, i) =>
    Point.fromBytes(all.slice(i * POINT_BYTES, (i + 1) * POINT_BYTES)),
  );
}

function prove(key: VerifyingKey, bases: readonly Point[], inputs: unknown): TaskResult<ProveValue> {
  const startedMs = performance.now();
  const given = inputs as Readonly<Record<string, unknown>>;
  const unknown = Object.keys(given).find((name) => !key.secrets.includes(name));
  if (unknown !== undefined) return malformedInput(`witness.${unknown}`, `the program has no secret ${unknown}`);
  const secrets = key.secrets.map((name) => (Object.hasOwn(given, name) ? readScalar(given[name]) : undefined));
  const wrong = secrets.indexOf(undefined);
  if (wrong >= 0)
    return malformedInput(`witness.${key.secrets[wrong] ?? ""}`, "a secret is a number from 0 to the group's order");
  const values = secrets.map((secret) => secret ?? 0n);
  const points = sums(key, bases, values);
  if (points.some((point) => point.is0())) {
    const message = "a point is the neutral element, which has no coordinates";
    return { ok: false, code: "constraints_unsatisfied", message };
  }
  const nonces = values.map(() => BigInt(`0x${randomBytes(SCALAR_BYTES + 16).toString("hex")}`) % ORDER);
  const challenge = hashToScalar(key, points, sums(key, bases, nonces));
  const responses = nonces.map((nonce, i) => (nonce + challenge * (values[i] ?? 0n)) % ORDER);
  const provedMs = performance.now();
  if (!isValid(key, points, { challenge, responses }))
    return { ok: false, code: "proof_self_check_failed", message: "the new proof does not verify" };
  const timings = { witnessMs: 0, proveMs: provedMs - startedMs, checkMs: performance.now() - provedMs };
  return { ok: true, value: { proof: encode({ challenge, responses }), publicSignals: signalsOf(points), timings } };
}

function verify(key: VerifyingKey, claim: UncheckedClaim): TaskResult<VerifyValue> {
  const proof = decode(key, claim.proof);
  const same = claim.sameProof === undefined ? proof : decode(key, claim.sameProof);
  if (proof === undefined || same === undefined || encode(proof) !== encode(same)) return malformedProof();
  const { inputs, publicSignals } = claim;
  const named = inputs === undefined ? undefined : key.points.flatMap(({ name }) => listOf(member(inputs, name)));
  const listed = publicSignals === undefined ? named : listOf(publicSignals);
  if (named !== undefined && String(named) !== String(listed))
    return malformedInput("public_signals", "the public signals are not those of the witness");
  const points = readPoints(key, listed ?? []);
  if (points === undefined) return malformedInput("public_signals", "two coordinates of each point, on secp256k1");
  return {
    ok: true,
    value: { result: isValid(key, points, proof), proof: encode(proof), publicSignals: signalsOf(points) },
  };
}

function isValid(key: VerifyingKey, points: readonly Point[], { challenge, responses }: SigmaProof): boolean {
  const bases = key.base_points.map((hex) => Point.fromHex(hex));
  const commitments = sums(key, bases, responses).map((sum, i) =>
    sum.subtract(times(points[i] ?? Point.ZERO, challenge)),
  );
  return hashToScalar(key, points, commitments) === challenge;
}

/** The points of the relation for these secrets. */
function sums({ points }: Relation, bases: readonly Point[], scalars: readonly bigint[]): Point[] {
  return points.map(({ terms }) =>
    terms.reduce((sum, [s, b]) => sum.add(times(bases[b] ?? Point.ZERO, scalars[s] ?? 0n)), Point.ZERO),
  );
}

function times(point: Point, scalar: bigint): Point {
  return scalar === 0n || point.is0() ? Point.ZERO : point.multiply(scalar);
}

/** The statement is hashed whole: a challenge that leaves it out lets a forger choose it afterwards. */
function hashToScalar(key: VerifyingKey, points: readonly Point[], commitments: readonly Point[]): bigint {
  const hash = createHash("sha512").update(`sigma/v1\n${JSON.stringify(key)}\n`);
  for (const point of [...points, ...commitments])
    hash.update(point.is0() ? Buffer.alloc(POINT_BYTES) : point.toBytes(true));
  return BigInt(`0x${hash.digest("hex")}`) % ORDER;
}

function encode({ challenge, responses }: SigmaProof): string {
  return [challenge, ...responses].map((scalar) => scalar.toString(16).padStart(2 * SCALAR_BYTES, "0")).join("");
}

/** Hex, with or without 0x, or an object of hex scalars; one spelling each. */
function decode({ secrets }: Relation, value: unknown): SigmaProof | undefined {
  const parts: unknown[] =
    typeof value === "string"
      ? (value.replace(/^0x/, "").match(/.{1,64}/gs) ?? [])
      : [member(value, "challenge"), ...listOf(member(value, "responses"))];
  const isSound = (part: unknown): part is string =>
    typeof part === "string" && /^[0-9a-f]{64}$/.test(part) && BigInt(`0x${part}`) < ORDER;
  if (parts.length !== secrets.length + 1 || !parts.every(isSound)) return undefined;
  const [challenge = 0n, ...responses] = parts.map((part) => BigInt(`0x${part}`));
  return { challenge, responses };
}

function readPoints({ points }: Relation, coordinates: readonly unknown[]): Point[] | undefined {
  const read = coordinates.map((each) =>
    typeof each === "string" && /^(0|[1-9]\d{0,77})$/.test(each) ? BigInt(each) : -1n,
  );
  if (read.length !== 2 * points.length || read.includes(-1n)) return undefined;
  try {
    return points.map((_, i) => {
      const point = Point.fromAffine({ x: read[2 * i] ?? 0n, y: read[2 * i + 1] ?? 0n });
      point.assertValidity();
      return point;
    });
  } catch {
    return undefined;
  }
}

function readScalar(value: unknown): bigint | undefined {
  const isNumber = typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
  if (!isNumber && !(typeof value === "string" && /^(0|[1-9]\d{0,77})$/.test(value))) return undefined;
  const scalar = BigInt(value);
  return scalar < ORDER ? scalar : undefined;
}

function signalsOf(points: readonly Point[]): string[] {
  return points.flatMap((point) => [String(point.x), String(point.y)]);
}

function member(value: unknown, name: string): unknown {
  const isObject = typeof value === "object" && value !== null && Object.hasOwn(value, name);
  return isObject ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value];
}

function malformedInput(path: string, message: string): TaskFailure {
  return { ok: false, code: "witness_invalid", message, details: [{ message, code: "witness_invalid", path }] };
}

function malformedProof(): TaskFailure {
  const message = "a proof is a challenge and one response for each secret, 32 bytes each, below the group's order";
  return {
    ok: false,
    code: "proof_malformed",
    message,
    details: [{ message, code: "proof_malformed", path: "proof" }],
  };
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("utf8");
}
