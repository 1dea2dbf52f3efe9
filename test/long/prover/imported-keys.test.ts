/**
 * Keys and circuits of snarkjs, of every proving system and both curves, through the registry: keys from there prove
 * here and keys from here prove there, without symbol tables and with a verifying key alone.
 */
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { primeSnarkjs } from "../../../src/engine/backends/snarkjs.js";
import { readCircuitInterface } from "../../../src/engine/circuit/interface.js";
import { readR1cs, readR1csHeader } from "../../../src/engine/circuit/r1cs.js";
import { computeWitness } from "../../../src/engine/circuit/witness.js";
import type { CurveName } from "../../../src/engine/curves/curve-parameters.js";
import { curveNamed } from "../../../src/engine/curves/curves.js";
import { fflonkDomainPowerOf, fflonkPowerCount } from "../../../src/engine/fflonk/fflonk-values.js";
import { makeDevelopmentPowers, makeDevelopmentSetup } from "../../../src/engine/plonk/development-setup.js";
import { domainPowerOf } from "../../../src/engine/plonk/key.js";
import { gatesOf } from "../../../src/engine/plonk/plonk-gates.js";
import { loadReferenceKernels } from "../../../src/engine/reference/reference-kernels.js";
import type { ImportFileName } from "../../../src/prover/imports/import-files.js";
import type { CreateProver, ProveResult, Prover } from "../../../src/prover/schemas.js";
import { compileOnce } from "../../support/compiled-circuits.js";
import { snarkjsFflonk, snarkjsFflonkKey } from "../../support/fflonk-fixtures.js";
import type { Fixture } from "../../support/groth16-fixtures.js";
import { snarkjsKey, snarkjsPlonk, witnessFile } from "../../support/plonk-fixtures.js";
import { snarkjsPowersOfTau } from "../../support/powers-of-tau.js";
import { seededRandom } from "../../support/seeded.js";
import { newFolder, removeFolder } from "../../support/temporary-folder.js";
import { eventually, openTestRegistry, provision, type TestRegistry } from "../../prover/support.js";

const OWNER = { kind: "user", id: "7a4c1f2e-0000-4000-8000-00000000000a" } as const;
const SOURCE =
  "pragma circom 2.1.6; template M() { signal input a; signal input list[2][2]; signal output b; signal s; s <== a * list[0][1]; b <== s * list[1][0] + list[0][0] + list[1][1]; } component main {public [a]} = M();";
const INPUTS = { a: "3", list: [["1", "2"], ["5", "7"]] }; // prettier-ignore
/** 3 * 2 * 5 + 1 + 7 */
const PUBLIC_SIGNALS = ["38", "3"];
const random = seededRandom();
const signal = new AbortController().signal;

type Files = Partial<Record<ImportFileName, Uint8Array>>;
type System = Pick<Prover, "proving_scheme"> & { readonly curve: CurveName };

const PLONK: readonly System[] = [
  { proving_scheme: "plonk", curve: "BN254" },
  { proving_scheme: "plonk", curve: "BLS12_381" },
];
const FFLONK: System = { proving_scheme: "fflonk", curve: "BN254" };
const GROTH16: readonly System[] = [
  { proving_scheme: "groth16", curve: "BN254" },
  { proving_scheme: "groth16", curve: "BLS12_381" },
];
const ALL = [...GROTH16, ...PLONK, FFLONK];
const named = (systems: readonly System[]): (readonly [string, System])[] =>
  systems.map((system) => [`${system.proving_scheme} on ${system.curve}`, system]);

let registry: TestRegistry;
let folder: string;
let powers: Uint8Array;
const provers = new Map<string, Prover>();
const circuits = new Map<CurveName, { readonly files: Files; readonly fixture: Fixture }>();

beforeAll(async () => {
  folder = newFolder("imported-keys");
  mkdirSync(folder, { recursive: true });
  ({ prepared: powers } = await snarkjsPowersOfTau(4));
  writeFileSync(`${folder}/ceremony.ptau`, powers);
  registry = await openTestRegistry({ powersFolder: folder });
  for (const curve of ["BN254", "BLS12_381"] as const) {
    const compiled = await compileOnce({ files: { "main.circom": SOURCE }, main: "main.circom" }, curve);
    if (!compiled.ok) throw new Error("the circuit does not compile");
    const { r1cs, wasm, sym } = compiled;
    const circuit = readCircuitInterface(readR1csHeader(r1cs), sym);
    const values = new Map([
      ["a", [3n]],
      ["list", [1n, 2n, 5n, 7n]],
    ]);
    const computed = computeWitness(await WebAssembly.compile(Uint8Array.from(wasm)), circuit, values);
    if (!computed.ok) throw new Error(computed.message);
    circuits.set(curve, {
      files: { "circuit.r1cs": r1cs, "circuit.wasm": wasm, "circuit.sym": sym },
      fixture: { r1cs: readR1cs(r1cs), witness: computed.witness, publicSignals: [38n, 3n] },
    });
  }
});
afterAll(async () => {
  await registry.close();
  removeFolder(folder);
});

/** A prover of the circuit that this server has made, once for each system. */
async function madeHere(system: System): Promise<Prover> {
  const name = `${system.proving_scheme} ${system.curve}`;
  const known = provers.get(name) ?? (await provision(registry.provers, OWNER, { ...system, source: SOURCE }));
  provers.set(name, known);
  return known;
}

const circuitOf = ({ curve }: System): { readonly files: Files; readonly fixture: Fixture } => circuits.get(curve)!;

/** A key of snarkjs for the circuit, from powers that this server does not have. */
async function snarkjsKeyOf(
  system: System,
): Promise<Required<Pick<Files, "proving_key.zkey" | "verification_key.json">>> {
  const { fixture } = circuitOf(system);
  const curve = curveNamed(system.curve);
  const kernels = await loadReferenceKernels(curve);
  const of = (made: { zkey: { data?: Uint8Array }; verifyingKey: unknown }) => ({
    "proving_key.zkey": made.zkey.data!,
    "verification_key.json": Buffer.from(JSON.stringify(made.verifyingKey)),
  });
  if (system.proving_scheme === "fflonk") {
    const domainPower = fflonkDomainPowerOf(gatesOf(fixture.r1cs, { dropsZeroTerms: true }).gateCount);
    const points = await makeDevelopmentPowers(kernels, fflonkPowerCount(domainPower));
    return of(await snarkjsFflonkKey(await snarkjsFflonk(), fixture, { points, domainPower }));
  }
  const domainPower = domainPowerOf(gatesOf(fixture.r1cs).gateCount);
  const points = await makeDevelopmentSetup(kernels, domainPower);
  return of(await snarkjsKey(await snarkjsPlonk(curve), fixture, { curve, points, domainPower }));
}

/** A Groth16 key of snarkjs after one contribution. */
async function groth16KeyOf(ptau: Uint8Array): Promise<Uint8Array> {
  const snarkjs = await primeSnarkjs();
  const [first, second]: { type: "mem"; data?: Uint8Array }[] = [{ type: "mem" }, { type: "mem" }];
  await snarkjs.zKey.newZKey(circuits.get("BN254")!.files["circuit.r1cs"]!, ptau, first!);
  await snarkjs.zKey.contribute(first!.data!, second!, "one", "some text");
  return second!.data!;
}

async function imported(system: System, files: Files, more: Partial<CreateProver["import"]> = {}): Promise<Prover> {
  const names = Object.keys(files) as ImportFileName[];
  const announced = { ...Object.fromEntries(names.map((name) => [name, {}])), ...more };
  const { id } = await registry.provers.create(OWNER, { ...system, import: announced }, { waitSec: 0, signal });
  for (const name of names) {
    const bytes = files[name]!;
    const body = { bytes: bytes.length, part: undefined, sha256: undefined, chunks: one(bytes) };
    await registry.provers.upload(OWNER, id, { name, body });
  }
  await eventually("the import ends", () => registry.provers.progress(OWNER, id).finished);
  return registry.provers.get(OWNER, id);
}

async function* one(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(bytes);
}

async function download(id: string, name: string): Promise<Buffer> {
  const { path } = await registry.provers.artifact(OWNER, id, name);
  return readFileSync(path);
}

const prove = async (id: string, inputs: unknown = INPUTS): Promise<ProveResult> =>
  await registry.provers.prove(OWNER, id, { inputs, format: "snarkjs", signal });
const isValid = async (id: string, item: object): Promise<boolean> => {
  const principal = { subject: OWNER, permissions: 0, tokenId: "t", sessionId: "s", expiresAtSec: 2 ** 31 };
  return await registry.provers.verify(principal, id, { item, store: false, signal });
};

describe(`a key of snarkjs, seed ${String(random.seed)}`, () => {
  it("of Groth16 is checked against the powers of tau of this server, and only against those", async () => {
    const { files } = circuits.get("BN254")!;
    const own = await groth16KeyOf(powers);
    const unknown = await imported(GROTH16[0]!, { ...files, "proving_key.zkey": own });
    expect(unknown).toMatchObject({
      status: "provisioned",
      setup: null,
      warnings: [{ code: "reference_string_unknown" }],
    });
    // A universal prover has the folder's file checked.
    const universal = await madeHere(PLONK[0]!);
    expect(universal.setup).toMatchObject({ origin: "ceremony" });
    const known = await imported(GROTH16[0]!, { ...files, "proving_key.zkey": own });
    expect(known).toMatchObject({ status: "provisioned", setup: universal.setup, warnings: [] });
    const string = { reference_string: { sha256: universal.setup!.sha256 } };
    expect(await imported(GROTH16[0]!, { ...files, "proving_key.zkey": own }, string)).toMatchObject({
      ...{ status: "provisioned", setup: universal.setup },
    });
    const { prepared } = await snarkjsPowersOfTau(4);
    const foreign = await groth16KeyOf(prepared);
    expect(await imported(GROTH16[0]!, { ...files, "proving_key.zkey": foreign }, string)).toMatchObject({
      status: "failed",
      errors: [{ code: "import_invalid", message: expect.stringMatching(/does not follow/) as string }],
    });
    const other = { reference_string: { sha256: "00".repeat(32) } };
    await expect(imported(GROTH16[0]!, { ...files, "proving_key.zkey": own }, other)).rejects.toMatchObject({
      code: "source_invalid",
    });
  });

  it.each(named([...PLONK, FFLONK]))(
    "proves here, and what is checked of its string is said, for %s",
    async (_name, system) => {
      const { files } = circuitOf(system);
      const key = await snarkjsKeyOf(system);
      const prover = await imported(system, { ...files, ...key });
      expect(prover).toMatchObject({
        ...{ status: "provisioned", trusted_setup: "imported", setup: null, errors: [] },
        warnings: [{ code: "reference_string_unknown" }],
      });
      const { snarkjs, public_signals } = await prove(prover.id);
      expect(public_signals).toEqual(PUBLIC_SIGNALS);
      const verifyingKey = JSON.parse(Buffer.from(key["verification_key.json"]).toString()) as never;
      const theirs = (await primeSnarkjs(system.curve)) as never as Record<
        string,
        { verify(...args: unknown[]): Promise<boolean> }
      >;
      expect(await theirs[system.proving_scheme]!.verify(verifyingKey, public_signals, snarkjs!.proof)).toBe(true);
      // The file comes back as it was sent.
      expect((await download(prover.id, "proving_key.zkey")).equals(key["proving_key.zkey"])).toBe(true);
    },
  );

  it.each(named(ALL))(
    "made here is snarkjs' own there, and is imported with its string, for %s",
    async (_name, system) => {
      const { files, fixture } = circuitOf(system);
      const made = await madeHere(system);
      const zkey = await download(made.id, "proving_key.zkey");
      const listed = (await registry.provers.artifacts(OWNER, made.id)).find(({ name }) => name === "proving_key.zkey");
      expect(listed).toMatchObject({ sha256: createHash("sha256").update(zkey).digest("hex"), complete: true });
      const theirs = (await primeSnarkjs(system.curve)) as never as Record<
        string,
        { prove(...args: unknown[]): Promise<{ proof: object; publicSignals: string[] }> }
      >;
      const { proof, publicSignals } = await theirs[system.proving_scheme]!.prove(
        { type: "mem", data: Uint8Array.from(zkey) },
        witnessFile(fixture),
      );
      expect(publicSignals).toEqual(PUBLIC_SIGNALS);
      expect(await isValid(made.id, { proof, public_signals: publicSignals })).toBe(true);
      const back = await imported(system, { ...files, "proving_key.zkey": zkey });
      expect(back).toMatchObject({ status: "provisioned", trusted_setup: "imported", setup: made.setup });
      expect(await isValid(made.id, { proof: (await prove(back.id)).proof, public_signals: publicSignals })).toBe(true);
    },
  );
});

describe("a circuit without a symbol table", () => {
  it.each(named(GROTH16))(
    "takes inputs by the names that its program knows, and a witness file, for %s",
    async (_name, system) => {
      const { files, fixture } = circuitOf(system);
      const { "circuit.sym": _, ...circuit } = files;
      const prover = await imported(system, circuit);
      expect(prover).toMatchObject({ status: "provisioned", trusted_setup: "single_party" });
      const proofs = [
        await prove(prover.id),
        await prove(prover.id, { a: 3, list: ["1", "2", "5", "7"] }),
        await registry.provers.prove(OWNER, prover.id, {
          inputs: undefined,
          witnessFile: witnessFile(fixture).data!,
          signal,
        }),
      ];
      for (const { proof, public_signals } of proofs) {
        expect(public_signals).toEqual(PUBLIC_SIGNALS);
        expect(await isValid(prover.id, { proof, public_signals })).toBe(true);
        expect(await isValid(prover.id, { proof, witness: { outputs: ["38"], public_inputs: ["3"] } })).toBe(true);
        expect(await isValid(prover.id, { proof, witness: { outputs: ["39"], public_inputs: ["3"] } })).toBe(false);
      }
      for (const [inputs, path] of [
        [{ a: "3" }, ""],
        [{ ...INPUTS, other: "1" }, "other"],
        [{ ...INPUTS, b: "38" }, "b"],
        [{ ...INPUTS, list: ["1", "2", "5"] }, "list"],
        [{ ...INPUTS, a: "x" }, "a"],
        [{ ...INPUTS, a: fixture.r1cs.prime.toString() }, "a"],
        [{ ...INPUTS, a: { b: "3" } }, "a.b"],
        [{ ...INPUTS, list: [{ x: "1" }] }, "list[0].x"],
      ] as const)
        await expect(prove(prover.id, inputs), path).rejects.toMatchObject({
          code: "witness_invalid",
          details: expect.arrayContaining([expect.objectContaining({ path })]) as object,
        });
      const interface_ = JSON.parse((await download(prover.id, "interface.json")).toString()) as object;
      expect(interface_).toMatchObject({
        isUnnamed: true,
        signals: [{ name: "outputs" }, { name: "public_inputs" }, { name: "private_inputs" }],
      });
    },
  );
});

describe("a verifying key alone", () => {
  it.each(named(ALL))("verifies what its proving key has made, and proves nothing, for %s", async (_name, system) => {
    const made = await madeHere(system);
    const { proof, public_signals } = await prove(made.id);
    const prover = await imported(system, { "verification_key.json": await download(made.id, "verifying_key.json") });
    expect(prover).toMatchObject({ status: "provisioned", trusted_setup: "imported", proving_key_id: null });
    expect(await isValid(prover.id, { proof, public_signals })).toBe(true);
    expect(await isValid(prover.id, { proof, public_signals: ["39", "3"] })).toBe(false);
    expect(await isValid(prover.id, { proof, witness: { public_signals } })).toBe(true);
    await expect(prove(prover.id)).rejects.toMatchObject({ code: "prover_verifies_only" });
    const names = (await registry.provers.artifacts(OWNER, prover.id)).map(({ name }) => name);
    const contract = system.curve === "BN254" ? ["verifier.sol", "verifier_caller.sol"] : [];
    expect(names.sort()).toEqual(["interface.json", ...contract, "verifying_key.json"]);
    await expect(registry.provers.artifact(OWNER, prover.id, "proving_key.zkey")).rejects.toMatchObject({
      code: "not_found",
    });
    await expect(registry.provers.source(OWNER, prover.id)).rejects.toMatchObject({
      code: "not_found",
      message: "the prover has no source",
    });
    await registry.provers.delete(OWNER, prover.id);
  });

  it("is refused where anyone could forge proofs, and over another curve or scheme", async () => {
    const made = await madeHere(GROTH16[0]!);
    const key = JSON.parse((await download(made.id, "verifying_key.json")).toString()) as Record<string, unknown>;
    const { G2 } = { G2: { vk_gamma_2: key["vk_gamma_2"] } };
    for (const wrong of [
      { ...key, vk_delta_2: G2.vk_gamma_2 },
      { ...key, curve: "bls12381" },
      { ...key, protocol: "plonk" },
      {
        ...key,
        IC: [
          ["0", "1", "0"],
          ["0", "1", "0"],
          ["0", "1", "0"],
        ],
      },
      { ...key, vk_alpha_1: ["1", "3", "1"] },
      {},
    ])
      // prettier-ignore
      expect(await imported(GROTH16[0]!, { "verification_key.json": Buffer.from(JSON.stringify(wrong)) })).toMatchObject({
        status: "failed",
        errors: [{ code: "import_invalid", file: "verification_key.json" }],
      });
  });
});

describe("keys that are not what they say", () => {
  it("are refused when they are truncated, of another scheme, curve, circuit or verifying key", async () => {
    const [bn, bls] = PLONK as [System, System];
    const { files } = circuitOf(bn);
    const plonk = await snarkjsKeyOf(bn);
    const other = await provision(registry.provers, OWNER, {
      ...bn,
      source:
        "pragma circom 2.1.6; template M() { signal input a; signal output b; b <== a * a; } component main = M();",
    });
    const foreign = async (name: string): Promise<Buffer> => await download(other.id, name);
    const cases: readonly (readonly [System, Files, RegExp])[] = [
      [bn, { ...files, "proving_key.zkey": plonk["proving_key.zkey"].subarray(0, -1) }, /ends inside|wrong length/],
      [bn, { ...files, "proving_key.zkey": Buffer.concat([plonk["proving_key.zkey"], Buffer.alloc(1)]) }, /goes on/],
      [
        bn,
        { ...files, "proving_key.zkey": (await snarkjsKeyOf(FFLONK))["proving_key.zkey"] },
        /^the key is for fflonk, which is not the prover's scheme plonk$/,
      ],
      [FFLONK, { ...files, "proving_key.zkey": plonk["proving_key.zkey"] }, /for plonk, .* scheme fflonk$/],
      [GROTH16[0]!, { ...files, "proving_key.zkey": plonk["proving_key.zkey"] }, /for plonk, .* scheme groth16$/],
      [GROTH16[0]!, { "verification_key.json": plonk["verification_key.json"] }, /for plonk, .* scheme groth16$/],
      [bn, { ...files, "proving_key.zkey": (await snarkjsKeyOf(bls))["proving_key.zkey"] }, /not over BN254/],
      [bls, { ...files, "proving_key.zkey": plonk["proving_key.zkey"] }, /another curve/],
      [GROTH16[1]!, files, /another curve/],
      [bn, { ...files, "proving_key.zkey": await foreign("proving_key.zkey") }, /another circuit/],
      [
        bn,
        { ...files, ...plonk, "verification_key.json": await foreign("verifying_key.json") },
        /not the verifying key/,
      ],
      [bn, { ...files, ...plonk, "verification_key.json": Buffer.from("{") }, /verifying key/],
    ];
    for (const [system, given, message] of cases) {
      const prover = await imported(system, given);
      expect(prover.status).toBe("failed");
      expect(prover.errors[0]?.message).toMatch(message);
    }
  });
});
