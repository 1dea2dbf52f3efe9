/** Reads from the `params` of a creation what a contract is made from: an artifact, an ABI, or source to compile. */
import type { Hex } from "../../hex.js";
import type { CompiledContract, SolidityRequest, SoliditySettings } from "../../../engine/solidity/compile-solidity.js";
import { invalidMember, type AppError } from "../../../platform/errors.js";
import type { StoreValue } from "../../../platform/store/store.js";
import { readAbi, type ContractAbi } from "../abi/abi.js";
import { fingerprintOf, linkBytecode } from "./bytecode.js";
import { SOURCE_BYTES_MAX, SOURCE_PATH_PATTERN, type ContractParamsInput } from "../contract-schemas.js";
import type { StoredParams } from "../contract-records.js";

/** Ready to be stored or deployed. */
export interface Artifact {
  readonly name: string | undefined;
  /** Undefined when none was given. */
  readonly abi: ContractAbi | undefined;
  readonly bytecode: Hex | undefined;
  readonly params: Omit<StoredParams, "name">;
}

const DEFAULT_EVM_VERSION = "cancun";
/** The default of build tools. */
const DEFAULT_OPTIMIZER_RUNS = 200;
const MAIN_FILE_DEFAULT = "main.sol";
const SOURCE_PATH = new RegExp(SOURCE_PATH_PATTERN);
const SOURCE_PATH_CHARACTERS_MAX = 200;

/** Reads the artifact. Throws `abi_invalid`, `bytecode_invalid` or `libraries_unlinked`, naming the member. */
export function artifactOf(params: ContractParamsInput): Artifact {
  const artifact = params.compiled_artifact ?? {};
  const bytecode = bytecodeOf(artifact, params.libraries ?? {});
  return {
    name: params.contract_name?.split(":").at(-1) ?? artifact.contractName ?? artifact.name ?? params.name ?? undefined,
    abi: abiOf(params),
    bytecode,
    params: {
      bytecode: bytecode ?? null,
      fingerprint: bytecode === undefined ? null : fingerprintOf(bytecode),
      deps: (artifact.deps ?? {}) as StoreValue,
      opcodes: artifact.opcodes ?? null,
      source: artifact.source ?? null,
    },
  };
}

function abiOf({ compiled_artifact: artifact, abi }: ContractParamsInput): ContractAbi | undefined {
  if (artifact?.abi !== undefined) return readAbi(artifact.abi, "params.compiled_artifact.abi");
  return abi === undefined || abi === null ? undefined : readAbi(abi, "params.abi");
}

/** Reads the code, which build tools write as a text, or as an object with its link references. */
function bytecodeOf(
  { bytecode, linkReferences }: NonNullable<ContractParamsInput["compiled_artifact"]>,
  libraries: Readonly<Record<string, string>>,
): Hex | undefined {
  const code =
    typeof bytecode === "string"
      ? { object: bytecode, linkReferences }
      : { object: bytecode?.object ?? "", linkReferences: bytecode?.linkReferences ?? linkReferences };
  return code.object === "" || code.object === "0x"
    ? undefined
    : linkBytecode(code, libraries, "params.compiled_artifact.bytecode");
}

/** Returns the request to the compiler, or undefined when there is no source. Throws `source_invalid`. */
export function sourceOf(params: ContractParamsInput): SolidityRequest | undefined {
  const { raw_source: raw, main: mainOrNull, contract_name: contract } = params;
  if (raw === undefined || raw === null) return undefined;
  if (params.compiled_artifact !== undefined && params.compiled_artifact !== null)
    throw invalid("give either raw_source or compiled_artifact, not both", "params.raw_source");
  const main = mainOrNull ?? undefined;
  const sources =
    typeof raw === "string"
      ? { [main ?? MAIN_FILE_DEFAULT]: raw }
      : Object.fromEntries(
          Object.entries(raw).map(([path, text]) => [path, typeof text === "string" ? text : text.content]),
        );
  if (main !== undefined && !Object.hasOwn(sources, main))
    throw invalid(`the source has no file ${main}`, "params.main");
  const badPath = Object.keys(sources).find(
    (path) => path.length > SOURCE_PATH_CHARACTERS_MAX || !SOURCE_PATH.test(path),
  );
  if (badPath !== undefined)
    throw invalid(
      "a source path must be relative, made of letters, digits, '.', '_' and '-', and end in .sol",
      "params.raw_source",
    );
  const bytes = Object.values(sources).reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  if (bytes > SOURCE_BYTES_MAX)
    throw invalid(
      `the source has ${String(bytes)} bytes; at most ${String(SOURCE_BYTES_MAX)} are accepted`,
      "params.raw_source",
    );
  return {
    sources,
    ...(main === undefined ? {} : { main }),
    ...(contract === undefined || contract === null ? {} : { contract }),
    settings: settingsOf(params),
  };
}

function settingsOf({ settings }: ContractParamsInput): SoliditySettings {
  return {
    evmVersion: settings?.evm_version ?? DEFAULT_EVM_VERSION,
    optimizerRuns: settings?.optimizer_runs === undefined ? DEFAULT_OPTIMIZER_RUNS : settings.optimizer_runs,
    viaIr: settings?.via_ir ?? false,
  };
}

/** Returns the compiler's output as an artifact. Throws `libraries_unlinked`. */
export function artifactOfCompiled(
  compiled: CompiledContract,
  { sources, settings }: SolidityRequest,
  libraries: Readonly<Record<string, string>>,
): Artifact & { readonly abi: ContractAbi; readonly bytecode: Hex } {
  const bytecode = linkBytecode(
    { object: compiled.bytecode, linkReferences: compiled.linkReferences },
    libraries,
    "params.raw_source",
  );
  const texts = Object.values(sources);
  return {
    name: compiled.name,
    abi: readAbi(compiled.abi, "params.raw_source"),
    bytecode,
    params: {
      bytecode,
      fingerprint: fingerprintOf(bytecode),
      deps: {},
      opcodes: compiled.opcodes,
      source: texts.length === 1 ? (texts[0] ?? "") : sources,
      metadata: compiled.metadata,
      compiler: compiled.compiler,
      settings: { evm_version: settings.evmVersion, optimizer_runs: settings.optimizerRuns, via_ir: settings.viaIr },
      warnings: compiled.warnings.map((warning) => ({ ...warning })),
    },
  };
}

function invalid(message: string, path: string): AppError {
  return invalidMember(path, message, "source_invalid");
}
