/**
 * The provider circom: circuits in circom's language, proven with Groth16, PLONK or FFLONK in snarkjs' formats. What it
 * computes runs in the pools and processes behind `ProverCompute`.
 */
import { revealingReferences, type VaultReference } from "../../engine/closed/vault-references.js";
import { hasMoreValues } from "../../engine/circuit/inputs.js";
import { elementPaths, valuesOf, type CircuitInterface } from "../../engine/circuit/interface.js";
import type { CurveName } from "../../engine/curves/curve-parameters.js";
import type {
  TaskFailure,
  TaskResult,
  UncheckedClaim,
  VerifyBatchMessage,
  VerifyBatchValue,
  VerifyValue,
} from "../../engine/protocol.js";
import { circuitCounts, exportNeeds, memoryNeeds, openKeyBytes } from "../../engine/proof-systems/memory-needs.js";
import { assert } from "../../platform/errors.js";
import type { ExportInput, GatesInput, ProverCompute, StoredProvingKey, WarmInput } from "../compute/compute.js";
import { CircuitInterfaces } from "../proofs/circuit-interfaces.js";
import { circuitHash, requireCurve, sourceOf, withOptions, type CircuitSource } from "../provisioning/sources.js";
import { CIRCOM_SYSTEMS, proofSystemOf, proofSystemRow, requirePrime } from "./circom-systems.js";
import type { BuiltProver, Provider, ProviderDependencies, ProviderFactory, ReadyProver } from "./provider.js";

const DOWNLOADS: Provider["downloads"] = {
  "verifying_key.json": { artifact: "verifying_key.json", contentType: "application/json" },
  proving_key: { artifact: "proving_key", contentType: "application/octet-stream" },
  "proving_key.zkey": { artifact: "proving_key.zkey", contentType: "application/octet-stream" },
  "circuit.wasm": { artifact: "circuit.wasm", contentType: "application/wasm" },
  "circuit.r1cs": { artifact: "circuit.r1cs", contentType: "application/octet-stream" },
  "circuit.sym": { artifact: "circuit.sym", contentType: "text/plain; charset=UTF-8" },
  "interface.json": { artifact: "interface.json", contentType: "application/json" },
  "verifier.sol": { artifact: "verifier.sol", contentType: "text/plain; charset=UTF-8" },
  "verifier_caller.sol": { artifact: "verifier_caller.sol", contentType: "text/plain; charset=UTF-8" },
  "source.json": { artifact: "source.json", contentType: "application/json" },
  "ceremony-transcript.json": { artifact: "ceremony-transcript.json", contentType: "application/json" },
};

/** Of the field of each curve (engine/circuit/witness-file.ts). */
const WITNESS_ELEMENT_BYTES = 32;
/** Headers, and sections that nobody reads. */
const WITNESS_FILE_SPARE_BYTES = 4096;
/** Values beyond the circuit's that are checked one by one. */
const SPARE_VALUES = 100;

/** Returns the provider circom. */
export const circomProvider: ProviderFactory = (dependencies) => {
  const { compute, builtIns, sourceLimits, readArtifact } = dependencies;
  const interfaces = new CircuitInterfaces({ read: readArtifact });
  return {
    name: "circom",
    systems: CIRCOM_SYSTEMS,
    downloads: DOWNLOADS,
    isAnalyzed: true,
    takesClosedInputs: true,
    readProgram: (request, system) => {
      const { curve } = proofSystemRow(system);
      const { prime, ...asked } = request.options ?? {};
      requirePrime(prime, curve);
      const named = sourceOf(request, { builtIns, limits: sourceLimits });
      requireCurve(named, curve);
      const circuit = withOptions(named, asked);
      const { optimization = 2, rounds = null } = circuit.source.options ?? {};
      return {
        identifier: circuit.identifier,
        options: { optimization, rounds },
        isBuiltIn: circuit.isBuiltIn,
        hash: circuitHash(circuit, curve, compute.compilerName),
        sourceHash: circuit.hash,
        content: Buffer.from(JSON.stringify(circuit.source)),
      };
    },
    compile: async (prover, options) => {
      const input = { source: await sourceText(prover), curve: curveOf(prover), hash: prover.program.hash };
      const outcome = await compute.compile(input, options);
      if (!outcome.ok) return outcome;
      const { witnessProgram, r1cs, sym, circuit, warnings, compiler } = outcome.value;
      const files = {
        "circuit.wasm": witnessProgram,
        "circuit.r1cs": r1cs,
        "circuit.sym": sym,
        "interface.json": Buffer.from(JSON.stringify(circuit)),
      };
      return { ok: true, files, warnings, valueCount: valuesOf(circuit), compiler };
    },
    sourceFiles: (content) => readSource(content).files,
    ...circomKeyFiles(compute, interfaces),
    ...circomKeys(dependencies),
    verifierContract: async (prover, options) => {
      const verifyingKey = await prover.shared("verifying_key.json");
      return await compute.verifierContract({ system: proofSystemOf(prover.system), verifyingKey }, options);
    },
    crossCheck: async (prover, claim, options) => {
      const verifyingKey = await prover.shared("verifying_key.json");
      return await compute.crossCheck({ system: proofSystemOf(prover.system), verifyingKey, ...claim }, options);
    },
    ...circomProofs(compute, interfaces),
  };
};

function circomKeys(dependencies: ProviderDependencies): Pick<Provider, "setupSize" | "setup" | "gates"> {
  const { compute } = dependencies;
  return {
    setupSize: async (prover) => {
      const counts = circuitCounts(await storedInterface(prover), prover.stored("circuit.r1cs").bytes);
      return openKeyBytes(memoryNeeds(proofSystemOf(prover.system), counts), { workspaces: 1 });
    },
    setup: async (prover, referenceStrings, options) => {
      const r1cs = await prover.read("circuit.r1cs");
      const strings = referenceStrings === undefined ? {} : { referenceStrings };
      return await compute.setup({ system: proofSystemOf(prover.system), r1cs, ...strings }, options);
    },
    gates: async (prover, referenceString, options) => {
      const example = await exampleOf(prover, dependencies);
      const input: GatesInput = {
        system: proofSystemOf(prover.system),
        r1cs: await prover.file("circuit.r1cs"),
        provingKey: await prover.file("proving_key"),
        verifyingKey: await prover.file("verifying_key.json"),
        sizes: {
          circuit: await storedInterface(prover),
          r1csBytes: prover.stored("circuit.r1cs").bytes,
          keyBytes: prover.stored("proving_key").bytes,
        },
        ...(referenceString === undefined ? {} : { referenceString }),
        ...(prover.program.isKeyImported ? { isImported: true } : {}),
        ...(example === undefined ? {} : { example }),
      };
      return await compute.gates(input, options);
    },
  };
}

function circomKeyFiles(
  compute: ProverCompute,
  interfaces: CircuitInterfaces,
): Pick<Provider, "readImport" | "zkeyExport"> {
  const sizesOf = async (prover: BuiltProver): Promise<NonNullable<ExportInput["sizes"]>> => ({
    circuit: await interfaces.get(prover.stored("interface.json").sha256),
    keyBytes: prover.stored("proving_key").bytes,
  });
  return {
    readImport: async (request, options) =>
      await compute.readImport({ ...request, system: proofSystemOf(request.system) }, options),
    zkeyExport: {
      bytes: async (prover) => {
        const { circuit, keyBytes } = await sizesOf(prover);
        return exportNeeds(proofSystemOf(prover.system), circuit, { keyBytes }).file;
      },
      write: async (prover, target, options) => {
        const provingKey = await prover.file("proving_key");
        const input = { system: proofSystemOf(prover.system), provingKey, target, sizes: await sizesOf(prover) };
        return await compute.exportZkey(input, options);
      },
    },
  };
}

function circomProofs(
  compute: ProverCompute,
  interfaces: CircuitInterfaces,
): Pick<Provider, "warm" | "prove" | "verify" | "verifyBatch" | "witnessFileBytes" | "publicNames"> {
  const interfaceOf = async (prover: BuiltProver): Promise<CircuitInterface> =>
    await interfaces.get(prover.stored("interface.json").sha256);
  return {
    witnessFileBytes: async (prover) =>
      (await interfaceOf(prover)).wireCount * WITNESS_ELEMENT_BYTES + WITNESS_FILE_SPARE_BYTES,
    publicNames: async (prover) => {
      const { signals } = await interfaceOf(prover);
      return signals.filter(({ visibility }) => visibility !== "private").flatMap((signal) => elementPaths(signal));
    },
    warm: async (prover, options) => await compute.warmKey(warmInput(prover, await interfaceOf(prover)), options),
    prove: async (prover, { inputs, witnessFile, closed, references = [], format }, options) => {
      const circuit = await interfaceOf(prover);
      const failure = tooManyValues(circuit, inputs) ?? revealing(circuit, references);
      if (failure !== undefined) return failure;
      const [witnessProgram, verifyingKey] = await Promise.all([
        prover.shared("circuit.wasm"),
        prover.shared("verifying_key.json"),
      ]);
      const provingKey = storedKey(prover);
      // What comes from outside may be wrong, which is then its sender's fault and not that of this server's proof.
      const isForeign = witnessFile !== undefined || prover.program.isImported;
      const system = proofSystemOf(prover.system);
      const message = {
        ...{ system, circuit, witnessProgram, provingKey, verifyingKey, inputs },
        ...(witnessFile === undefined ? {} : { witnessFile }),
        ...(closed === undefined ? {} : { closed }),
        ...(isForeign ? { r1cs: await prover.shared("circuit.r1cs") } : {}),
        form: format,
      };
      return await compute.prove(message, options);
    },
    verify: async (prover, claim, options): Promise<TaskResult<VerifyValue>> => {
      const circuit = await interfaceOf(prover);
      const failure = tooManyValues(circuit, claim.inputs, claim.publicSignals);
      if (failure !== undefined) return failure;
      const verifyingKey = await prover.shared("verifying_key.json");
      return await compute.verify({ system: proofSystemOf(prover.system), circuit, verifyingKey, ...claim }, options);
    },
    verifyBatch: async (prover, claims, options) => {
      const circuit = await interfaceOf(prover);
      const verifyingKey = await prover.shared("verifying_key.json");
      const message = { system: proofSystemOf(prover.system), circuit, verifyingKey };
      return await verifyBounded(message, claims, async (bounded) => await compute.verifyBatch(bounded, options));
    },
  };
}

/** Verifies the claims that have about as many values as the circuit; the others are failures of their own. */
async function verifyBounded(
  message: Omit<VerifyBatchMessage, "items">,
  claims: readonly UncheckedClaim[],
  verify: (message: VerifyBatchMessage) => Promise<TaskResult<VerifyBatchValue>>,
): Promise<TaskResult<VerifyBatchValue>> {
  const failures = claims.map(({ inputs, publicSignals }) => tooManyValues(message.circuit, inputs, publicSignals));
  const items = claims.filter((_, i) => failures[i] === undefined);
  const checked = await verify({ ...message, items });
  if (!checked.ok) return checked;
  const outcomes = checked.value.outcomes.values();
  const merged = failures.map((failure) => {
    const outcome = failure ?? outcomes.next().value;
    assert(outcome !== undefined, "each item has an outcome");
    return outcome;
  });
  return { ok: true, value: { outcomes: merged } };
}

function warmInput(prover: ReadyProver, circuit: CircuitInterface): WarmInput {
  return {
    ...{ system: proofSystemOf(prover.system), circuit, provingKey: storedKey(prover) },
    witnessProgram: async () => await prover.shared("circuit.wasm"),
    verifyingKey: async () => await prover.shared("verifying_key.json"),
  };
}

function storedKey(prover: ReadyProver): StoredProvingKey {
  const { sha256, bytes } = prover.stored("proving_key");
  return {
    sha256,
    byteLength: bytes,
    read: async () => await prover.load("proving_key"),
    shared: async () => await prover.shared("proving_key"),
    ...(prover.keyImage === undefined ? {} : { pin: prover.keyImage }),
  };
}

function curveOf({ system }: BuiltProver): CurveName {
  return proofSystemRow(system).curve;
}

async function sourceText(prover: BuiltProver): Promise<CircuitSource> {
  return readSource(await prover.read("source.json"));
}

function readSource(content: Uint8Array): CircuitSource {
  return JSON.parse(Buffer.from(content).toString("utf8")) as CircuitSource;
}

async function storedInterface(prover: BuiltProver): Promise<CircuitInterface> {
  return JSON.parse(Buffer.from(await prover.read("interface.json")).toString("utf8")) as CircuitInterface;
}

/** The satisfying inputs of a built-in circuit; undefined when the prover has an older version of the circuit. */
async function exampleOf(
  prover: BuiltProver,
  { builtIns, compute }: ProviderDependencies,
): Promise<GatesInput["example"]> {
  const { identifier, isBuiltIn, options, hash } = prover.program;
  if (!isBuiltIn) return undefined;
  const found = builtIns.find(identifier);
  if (found?.satisfyingInputs === undefined) return undefined;
  const { optimization, rounds } = options ?? {};
  const same = withOptions(found, {
    ...(optimization === 0 || optimization === 1 ? { optimization } : {}),
    ...(typeof rounds === "number" ? { rounds } : {}),
  });
  if (circuitHash(same, prover.system.curve, compute.compilerName) !== hash) return undefined;
  return {
    circuit: await storedInterface(prover),
    witnessProgram: await prover.file("circuit.wasm"),
    inputs: found.satisfyingInputs,
  };
}

/** A secret that everybody would see is refused before it is opened. */
function revealing(circuit: CircuitInterface, references: readonly VaultReference[]): TaskFailure | undefined {
  const details = revealingReferences(circuit, references);
  const [first] = details;
  return first === undefined ? undefined : { ok: false, code: "witness_invalid", message: first.message, details };
}

/** A body of a million values is refused before it is copied to a thread. */
function tooManyValues(circuit: CircuitInterface, ...inputs: readonly unknown[]): TaskFailure | undefined {
  // A few too many are left to the check of the inputs, which names them.
  const countMax = 2 * valuesOf(circuit) + SPARE_VALUES;
  if (!inputs.some((each) => each !== undefined && hasMoreValues(each, countMax))) return undefined;
  const message = `the witness has many more values than the circuit's outputs and inputs, which are ${String(valuesOf(circuit))}`;
  return {
    ok: false,
    code: "witness_invalid",
    message,
    details: [{ message, code: "witness_invalid", path: "witness" }],
  };
}
