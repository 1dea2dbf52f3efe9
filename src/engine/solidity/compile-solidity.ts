/**
 * Compiles Solidity source with the pinned compiler through its standard JSON interface, entirely in memory: an import
 * resolves only to a file of the request. The compiler may never end on hostile source, so that only
 * workers/solidity.process.ts calls it. Solidity: docs.soliditylang.org, "Compiler Input and Output JSON Description".
 */
import { createRequire } from "node:module";
import { boundDiagnostics, ownError, type Diagnostic } from "../circuit/diagnostics.js";
import type { EvmVersion } from "./evm-versions.js";

export interface SoliditySettings {
  readonly evmVersion: EvmVersion;
  /** Expected runs of the code; null leaves the optimizer off. */
  readonly optimizerRuns: number | null;
  readonly viaIr: boolean;
}

export interface SolidityRequest {
  /** Path, exactly as import statements name it after resolution, to source text. */
  readonly sources: Readonly<Record<string, string>>;
  /** `Name` or `path:Name`; needed when the sources hold several contracts that can be deployed. */
  readonly contract?: string;
  /** The file to look for the contract in; all of them when absent. */
  readonly main?: string;
  readonly settings: SoliditySettings;
}

/** Where the address of a library belongs: byte offsets into the bytecode, by file and name of the library. */
export type LinkReferences = Readonly<
  Record<string, Readonly<Record<string, readonly { readonly start: number; readonly length: number }[]>>>
>;

/** Code on the chain; where an immutable's value will be, it has zeros. */
export interface RuntimeCode {
  /** Hex without 0x. */
  readonly bytecode: string;
  /** Places of immutables, in bytes. */
  readonly immutables: readonly { readonly start: number; readonly length: number }[];
}

export interface CompiledContract {
  readonly ok: true;
  readonly file: string;
  readonly name: string;
  /** The ABI as JSON values. */
  readonly abi: readonly unknown[];
  /** Creation code, hex without 0x; `__$...$__` stands where a library's address belongs. */
  readonly bytecode: string;
  readonly linkReferences: LinkReferences;
  /** The code as it is on the chain after the deployment, but for immutables. */
  readonly runtime: RuntimeCode;
  readonly opcodes: string;
  /** The compiler's metadata JSON, whose hash is in the code. */
  readonly metadata: string;
  readonly warnings: readonly Diagnostic[];
  /** Such as `solc 0.8.37+commit.b8a2f9ff`. */
  readonly compiler: string;
}

interface SolidityFailure {
  readonly ok: false;
  readonly code: "source_invalid";
  readonly diagnostics: readonly Diagnostic[];
}

export type SolidityResult = CompiledContract | SolidityFailure;

interface Compiler {
  compile(input: string): string;
  version(): string;
}

interface CompilerDiagnostic {
  readonly severity: "error" | "warning" | "info";
  readonly message: string;
  readonly type: string;
  readonly errorCode?: string;
  readonly sourceLocation?: { readonly file: string; readonly start: number; readonly end: number };
}

interface CompilerContract {
  readonly abi: readonly unknown[];
  readonly metadata: string;
  readonly evm: {
    readonly bytecode: { readonly object: string; readonly opcodes: string; readonly linkReferences: LinkReferences };
    readonly deployedBytecode: {
      readonly object: string;
      readonly immutableReferences?: Readonly<Record<string, RuntimeCode["immutables"]>>;
    };
  };
}

interface CompilerOutput {
  readonly errors?: readonly CompilerDiagnostic[];
  readonly contracts?: Readonly<Record<string, Readonly<Record<string, CompilerContract>>>>;
}

/** Names listed in a message. */
const NAMES_SHOWN_MAX = 20;

/**
 * Compiles and selects the requested contract. Cost: 0.3 s to load the compiler, then 0.1 s for a small contract and
 * some seconds for a large one; may never end on hostile source.
 */
export function compileSolidity(request: SolidityRequest): SolidityResult {
  const compiler = createRequire(import.meta.url)("solc") as Compiler;
  const output = JSON.parse(compiler.compile(JSON.stringify(standardInput(request)))) as CompilerOutput;
  const diagnostics = (output.errors ?? [])
    .filter(({ severity }) => severity !== "info")
    .map((diagnostic) => diagnosticOf(diagnostic, request.sources));
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  if (errors.length > 0) return { ok: false, code: "source_invalid", diagnostics: boundDiagnostics(errors) };
  const picked = pick(request, output);
  if ("problem" in picked) return { ok: false, code: "source_invalid", diagnostics: [picked.problem] };
  const {
    file,
    name,
    contract: {
      abi,
      metadata,
      evm: { bytecode, deployedBytecode },
    },
  } = picked;
  return {
    ok: true,
    file,
    name,
    abi,
    bytecode: bytecode.object,
    linkReferences: bytecode.linkReferences,
    runtime: {
      bytecode: deployedBytecode.object,
      immutables: Object.values(deployedBytecode.immutableReferences ?? {}).flat(),
    },
    opcodes: bytecode.opcodes,
    metadata,
    warnings: boundDiagnostics(diagnostics),
    compiler: `solc ${compiler.version().replace(/\.Emscripten.*$/, "")}`,
  };
}

function standardInput({ sources, settings }: SolidityRequest): unknown {
  return {
    language: "Solidity",
    sources: Object.fromEntries(Object.entries(sources).map(([path, content]) => [path, { content }])),
    settings: {
      evmVersion: settings.evmVersion,
      viaIR: settings.viaIr,
      optimizer: settings.optimizerRuns === null ? { enabled: false } : { enabled: true, runs: settings.optimizerRuns },
      outputSelection: {
        "*": {
          "*": [
            ...["abi", "metadata", "evm.bytecode.object", "evm.bytecode.opcodes", "evm.bytecode.linkReferences"],
            ...["evm.deployedBytecode.object", "evm.deployedBytecode.immutableReferences"],
          ],
        },
      },
    },
  };
}

interface Picked {
  readonly file: string;
  readonly name: string;
  readonly contract: CompilerContract;
}

/** Interfaces and abstract contracts have no bytecode and are left out. */
function pick(
  { contract: requested, main }: SolidityRequest,
  { contracts = {} }: CompilerOutput,
): Picked | { readonly problem: Diagnostic } {
  const all = Object.entries(contracts)
    .filter(([file]) => main === undefined || file === main)
    .flatMap(([file, byName]) => Object.entries(byName).map(([name, contract]) => ({ file, name, contract })));
  const named =
    requested === undefined
      ? all
      : all.filter(({ file, name }) => name === requested || `${file}:${name}` === requested);
  const deployable = named.filter(({ contract }) => contract.evm.bytecode.object !== "");
  const [only, second] = deployable;
  if (only === undefined) {
    if (requested === undefined)
      return { problem: ownError("no_contract", "the source has no contract that can be deployed") };
    const why = named.length > 0 ? "is abstract or an interface and cannot be deployed" : "is not in the source";
    return { problem: ownError("no_contract", `the contract ${requested} ${why}`) };
  }
  if (second === undefined) return only;
  const names = deployable
    .slice(0, NAMES_SHOWN_MAX)
    .map(({ file, name }) => `${file}:${name}`)
    .join(", ");
  return { problem: ownError("contract_ambiguous", `several contracts can be deployed; name one: ${names}`) };
}

function diagnosticOf(diagnostic: CompilerDiagnostic, sources: SolidityRequest["sources"]): Diagnostic {
  const text = diagnostic.message.replace(
    "File import callback not supported",
    "it is not among the files of the source",
  );
  const { message, file } = ownError("", text, { file: diagnostic.sourceLocation?.file });
  return {
    severity: diagnostic.severity === "error" ? "error" : "warning",
    code: diagnostic.errorCode ?? diagnostic.type,
    message,
    ...(file === undefined
      ? {}
      : { file, ...placeOf(sources[diagnostic.sourceLocation?.file ?? ""], diagnostic.sourceLocation?.start ?? -1) }),
  };
}

/** The compiler counts bytes of UTF-8; people count lines and columns, both from 1. */
function placeOf(text: string | undefined, offset: number): { line: number; column: number } | undefined {
  if (text === undefined || offset < 0) return undefined;
  const before = Buffer.from(text, "utf8").subarray(0, offset).toString("utf8");
  return { line: before.split("\n").length, column: before.length - before.lastIndexOf("\n") };
}
