/**
 * Compiles circom source to an R1CS, a witness program and a symbol table, entirely in memory. The compiler has a
 * memory maximum here but no deadline, so that untrusted source must go through workers/compile.process.ts. The circom
 * language: docs.circom.io.
 */
import type { CurveName } from "../curves/curve-parameters.js";
import { curveNamed } from "../curves/curves.js";
import { boundDiagnostics, LIBRARY_FOLDER, ownError, parseDiagnostics, SOURCE_FOLDER } from "./diagnostics.js";
import type { Diagnostic } from "./diagnostics.js";
import { lastWords, panicOf } from "./compiler/compiler-report.js";
import { reachedFiles, type ReachedFiles } from "./compiler/included-files.js";
import { CompileProgress } from "./compiler/compile-progress.js";
import { MemoryFs, MemoryFsLimitError } from "./compiler/memory-fs.js";
import { runNativeCompiler, type NativeCompiler, type NativeRun } from "./compiler/native-compiler.js";
import { R1csFormatError, readR1csHeader, type R1csHeader } from "./r1cs.js";
import { SOURCE_BYTES_MAX, SOURCE_FILES_MAX, filesThatAreFolders, findPathFault } from "./source-limits.js";
import type { ReadSources } from "./compiler/source-places.js";
import { layOutSources } from "./compiler/source-tree.js";
import { loadToolchain, readLibrary, readLibraryName } from "./toolchain.js";
import type { Toolchain } from "./toolchain.js";
import { WasmMemoryError, withMemoryMaximum } from "./wasm-memory.js";

export interface CompileRequest {
  /** Relative path (`main.circom`, `lib/gates.circom`) to source text. */
  readonly sources: Readonly<Record<string, string>>;
  /** The path that holds `component main`. */
  readonly main: string;
  readonly curve: CurveName;
  /** circom's level, 2 by default; 1 keeps linear constraints, which most published figures count. */
  readonly optimization?: 0 | 1 | 2;
  /** Most rounds of level 2; as many as change something by default. */
  readonly rounds?: number;
}

export interface CompileLimits {
  /** Compiler memory in pages of 64 KiB. */
  readonly compilerPagesMax: number;
  /** Memory of the emitted witness program in pages of 64 KiB. */
  readonly witnessPagesMax: number;
  /** Bytes of all emitted files together, the text stages among them. */
  readonly outputBytesMax: number;
  readonly constraintsMax: number;
  /** Outputs and inputs together, an array counted by its values. */
  readonly valuesMax: number;
}

export interface CompiledCircuit {
  readonly ok: true;
  readonly r1cs: Uint8Array;
  /** The witness program, with a memory maximum. */
  readonly wasm: Uint8Array;
  readonly sym: Uint8Array;
  readonly warnings: readonly Diagnostic[];
  /** Name and version, such as `circom2 0.2.23`; `... with circomlib 2.0.5` where the shipped library was read. */
  readonly compiler: string;
  /** Files that the compiler has read: paths in the source, or of the shipped library as `circomlib/...`. */
  readonly filesRead: readonly FileRead[];
}

export interface FileRead {
  readonly path: string;
  readonly isShipped: boolean;
}

export interface CompileFailure {
  readonly ok: false;
  /** `sandbox_incomplete`: the server did not start the compiler. */
  readonly code: "source_invalid" | "circuit_too_large" | "sandbox_incomplete";
  readonly diagnostics: readonly Diagnostic[];
  /** `memory`: with more of it the circuit may compile. */
  readonly limit?: "memory";
}

export type CompileResult = CompiledCircuit | CompileFailure;

/**
 * What fits a small server. The compiler takes about 10 KB per constraint of a SHA-256 circuit; 2^16 constraints hold
 * the largest built-in circuit (63,000) and set up in seconds on two cores. The bench `compile` would change them.
 */
export const DEFAULT_COMPILE_LIMITS: CompileLimits = {
  compilerPagesMax: 24_576, // 1.5 GiB
  witnessPagesMax: 4_096, // 256 MiB
  outputBytesMax: 512 * 1024 * 1024,
  constraintsMax: 65_536,
  // In arrays of 80 characters a value they fit a request (16 MiB, 400,000 names and values of JSON).
  valuesMax: 200_000,
};

const OUTPUT_FOLDER = "/out";
/** Ten thousand findings about a library must not hide those about the caller's own files. */
const TERMINAL_BYTES_KEPT = 16 * 1024 * 1024;
/** Enough for a hundred thousand analysis warnings, not for an endless loop that prints. */
const TERMINAL_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Compiles a circuit with constraint analysis on, whose results are warnings. Cost: 0.1 s for a small circuit, about
 * 10 s and 1 GB for 63,000 constraints. Never ends on an endless loop at compile time.
 * @param onProgress called with the share that is done, 0 to 1, a few times
 * @returns the files, or `source_invalid` with the compiler's errors, or `circuit_too_large` when a limit was reached
 * @example await compileCircuit({ sources: { "main.circom": text }, main: "main.circom", curve: "BN254" })
 */
export async function compileCircuit(
  request: CompileRequest,
  limits: CompileLimits = DEFAULT_COMPILE_LIMITS,
  onProgress?: (share: number) => void,
): Promise<CompileResult> {
  const problems = checkSources(request);
  if (problems.length > 0) return { ok: false, code: "source_invalid", diagnostics: boundDiagnostics(problems) };
  const toolchain = await loadToolchain(limits.compilerPagesMax);
  const watcher = onProgress === undefined ? undefined : new CompileProgress(onProgress);
  const { files, searched } = layOut(request, toolchain.library, limits, watcher);
  const failure = runCompiler(toolchain, files, { request, searched });
  return failure ?? collectOutput(files, request, toolchain, limits);
}

/**
 * The same with the operator's own circom. It gets the files that the source reaches, and a source with an include that
 * leads out of these is refused before it runs.
 * @param folder private, and removed by the caller
 */
export function compileNatively(
  request: CompileRequest,
  limits: CompileLimits,
  { compiler, folder }: { readonly compiler: NativeCompiler; readonly folder: string },
): CompileResult {
  const problems = checkSources(request);
  if (problems.length > 0) return { ok: false, code: "source_invalid", diagnostics: boundDiagnostics(problems) };
  const { files, searched } = layOut(request, readLibrary(), limits);
  const textOf = (path: string): string | undefined => {
    const bytes = files.fileBytes(path);
    return bytes === undefined ? undefined : Buffer.from(bytes).toString("utf8");
  };
  const reached = reachedFiles(`${SOURCE_FOLDER}/${request.main}`, { textOf, searched });
  if (reached.leaving !== undefined) return invalid([leavingError(reached.leaving)]);
  const task = {
    files: reached.files,
    folders: [SOURCE_FOLDER, OUTPUT_FOLDER, ...searched],
    args: argumentsOf(request, searched),
    outputs: Object.values(outputPaths(request)),
    terminalBytesMax: TERMINAL_BYTES_MAX,
  };
  const run = runNativeCompiler(compiler, task, folder);
  // From here on as if it had run on the files in memory.
  const last = reached.incomplete === undefined ? [] : [reached.incomplete];
  for (const path of [...reached.files.keys(), ...last]) files.closeSync(files.openSync(path, 0));
  for (const [path, bytes] of run.outputs) files.addFile(path, bytes);
  const failure = nativeFailure(run, files, request);
  if (failure !== undefined) return failure;
  const printed = Buffer.from(run.terminalText, "utf8");
  files.writeSync(2, printed, 0, printed.length, null);
  return collectOutput(files, request, { compilerName: compiler.name }, limits);
}

function layOut(
  request: CompileRequest,
  library: Toolchain["library"],
  limits: CompileLimits,
  watcher?: CompileProgress,
): { readonly files: MemoryFs; readonly searched: readonly string[] } {
  const files = new MemoryFs({
    bytesMax: limits.outputBytesMax,
    terminalBytesKept: TERMINAL_BYTES_KEPT,
    terminalBytesMax: TERMINAL_BYTES_MAX,
    ...(watcher === undefined ? {} : { watcher }),
  });
  for (const [path, bytes] of library) files.addFile(`${LIBRARY_FOLDER}/${path}`, bytes);
  const tree = layOutSources(request.sources, (path) => library.has(path));
  for (const [path, text] of tree.files) files.addFile(path, Buffer.from(text, "utf8"));
  files.addFolder(OUTPUT_FOLDER);
  return { files, searched: tree.searched };
}

/** Checks names, number and size of the files before the compiler starts. */
function checkSources(request: CompileRequest): Diagnostic[] {
  const entries = Object.entries(request.sources);
  if (entries.length > SOURCE_FILES_MAX)
    return [ownError("too_many_files", `at most ${SOURCE_FILES_MAX} source files are allowed`)];
  const bytes = entries.reduce((sum, [, text]) => sum + Buffer.byteLength(text, "utf8"), 0);
  if (bytes > SOURCE_BYTES_MAX)
    return [ownError("source_too_long", `the source may have ${SOURCE_BYTES_MAX} bytes in all`)];
  const problems: Diagnostic[] = [];
  for (const [path] of entries) {
    const fault = findPathFault(path);
    if (fault !== undefined) {
      problems.push(ownError("bad_path", `the source path ${fault}`, { file: path }));
    }
  }
  for (const path of filesThatAreFolders(entries.map(([path]) => path)))
    problems.push(ownError("bad_path", "the source path is also a folder of another one", { file: path }));
  if (!Object.hasOwn(request.sources, request.main))
    problems.push(ownError("no_main_file", "the main file is not among the sources", { file: request.main }));
  return problems;
}

function runCompiler(
  toolchain: Toolchain,
  files: MemoryFs,
  { request, searched }: { readonly request: CompileRequest; readonly searched: readonly string[] },
): CompileFailure | undefined {
  const { CircomRunner, bindings } = toolchain.circom;
  const runner = new CircomRunner({
    args: argumentsOf(request, searched),
    env: {},
    // The root of the files in memory, not the host's.
    preopens: { "/": "/" },
    bindings: { ...bindings, fs: files, isTTY: () => false },
  });
  const instance = new WebAssembly.Instance(toolchain.compiler, runner.wasi.getImports(toolchain.compiler));
  try {
    runner.wasi.start(instance);
    return undefined;
  } catch (error) {
    return failureOf(error, files, request);
  }
}

function argumentsOf(request: CompileRequest, searched: readonly string[]): string[] {
  return [
    `${SOURCE_FOLDER}/${request.main}`,
    "--r1cs",
    "--wasm",
    "--sym",
    "--inspect",
    ...(request.rounds === undefined
      ? [`--O${String(request.optimization ?? 2)}`]
      : ["--O2round", String(request.rounds)]),
    "-p",
    curveNamed(request.curve).snarkjsName,
    ...searched.flatMap((folder) => ["-l", folder]),
    "-o",
    OUTPUT_FOLDER,
  ];
}

/** Where the compiler puts what it makes. */
function outputPaths({ main }: CompileRequest): Readonly<Record<"r1cs" | "wasm" | "sym", string>> {
  const name = (main.split("/").at(-1) ?? "").replace(/\.circom$/, "");
  return {
    r1cs: `${OUTPUT_FOLDER}/${name}.r1cs`,
    wasm: `${OUTPUT_FOLDER}/${name}_js/${name}.wasm`,
    sym: `${OUTPUT_FOLDER}/${name}.sym`,
  };
}

function leavingError({ file, include, line }: NonNullable<ReachedFiles["leaving"]>): Diagnostic {
  const shown = file.slice(file.indexOf("/", 1) + 1);
  const message = `the include "${include}" leads out of the source`;
  return { ...ownError("bad_include", message, { file: shown }), line, column: 1 };
}

/** What a program prints and how it ends says why it failed. */
function nativeFailure(
  { status, signal, printedTooMuch, terminalText: text }: NativeRun,
  files: MemoryFs,
  request: CompileRequest,
): CompileFailure | undefined {
  if (status === 0) return undefined;
  if (printedTooMuch) return tooLarge("the compiler printed too much");
  if (/memory allocation of \d+ bytes failed|capacity overflow|out of memory/i.test(text)) return outOfMemory();
  if (/overflowed its stack|stack overflow/i.test(text))
    return tooLarge("templates or functions are nested too deeply");
  if (signal === "SIGXCPU" || signal === "SIGKILL" || signal === "SIGXFSZ")
    return {
      ...tooLarge("the circuit took more processor time, memory or room than a compile may take"),
      ...(signal === "SIGXCPU" ? {} : { limit: "memory" }),
    };
  const panic = panicOf(text);
  const findings = parseDiagnostics(text, sourcesOf(files, request));
  if (findings.some(({ severity }) => severity === "error")) return invalid(findings);
  const said = panic ?? lastWords(text);
  const end = ownError(
    "compiler_failed",
    panic === undefined && signal === null
      ? `the compiler refused this source and ended with the exit code ${String(status)}`
      : "the compiler crashed on this source",
    said === "" ? {} : { notes: [said] },
  );
  return invalid([...findings, end]);
}

/** The compiler always ends with an exception; exit code 0 is success. */
function failureOf(error: unknown, files: MemoryFs, request: CompileRequest): CompileFailure | undefined {
  const text = files.terminalText(2);
  const findings = (): Diagnostic[] => parseDiagnostics(text, sourcesOf(files, request));
  if (error instanceof MemoryFsLimitError) return tooLarge(error.message);
  if (error instanceof WebAssembly.RuntimeError) {
    // "memory allocation of N bytes failed", "capacity overflow" or a stack overflow: the circuit is too large, not
    // wrong.
    if (/memory allocation of \d+ bytes failed|capacity overflow/.test(text)) return outOfMemory();
    if (/out of bounds|stack|call depth/i.test(error.message))
      return tooLarge("templates or functions are nested too deeply");
    const panic = panicOf(text);
    const crash = ownError(
      "compiler_failed",
      "the compiler crashed on this source",
      panic === undefined ? {} : { notes: [panic] },
    );
    return invalid([...findings(), crash]);
  }
  if (error instanceof RangeError) return tooLarge("templates or functions are nested too deeply");
  if (!isExit(error)) throw error;
  if (error.code === 0) return undefined;
  const diagnostics = findings();
  const hasErrors = diagnostics.some(({ severity }) => severity === "error");
  return invalid(
    hasErrors
      ? diagnostics
      : [...diagnostics, ownError("compiler_failed", "the compiler refused this source without a reason")],
  );
}

function collectOutput(
  files: MemoryFs,
  request: CompileRequest,
  { compilerName }: Pick<Toolchain, "compilerName">,
  limits: CompileLimits,
): CompileResult {
  const paths = outputPaths(request);
  const [r1cs, wasm, sym] = [paths.r1cs, paths.wasm, paths.sym].map((path) => files.fileBytes(path));
  if (r1cs === undefined || wasm === undefined || sym === undefined) {
    return invalid([ownError("compiler_failed", "the compiler ended without writing the circuit")]);
  }
  try {
    const excess = excessOf(readR1csHeader(r1cs), limits);
    if (excess !== undefined) return tooLarge(excess);
    const limited = withMemoryMaximum(wasm, limits.witnessPagesMax);
    const warnings = parseDiagnostics(files.terminalText(2), sourcesOf(files, request));
    const filesRead = files.readPaths.flatMap(fileRead);
    const compiler = filesRead.some(({ isShipped }) => isShipped)
      ? `${compilerName} with ${readLibraryName()}`
      : compilerName;
    return { ok: true, r1cs, wasm: limited, sym, warnings, compiler, filesRead };
  } catch (error) {
    if (error instanceof WasmMemoryError && error.reason === "too_large")
      return tooLarge("the witness program needs too much memory");
    // The reader refuses the compiler's output in one known case: custom templates, whose names also break the file's
    // alignment.
    if (error instanceof R1csFormatError)
      return invalid([
        ownError("unsupported_feature", "the circuit uses custom templates, which its proofs cannot cover"),
      ]);
    throw error;
  }
}

/** A file by its path within the source or the library. */
function fileRead(path: string): FileRead[] {
  for (const folder of [SOURCE_FOLDER, LIBRARY_FOLDER])
    if (path.startsWith(`${folder}/`))
      return [{ path: path.slice(folder.length + 1), isShipped: folder === LIBRARY_FOLDER }];
  return [];
}

/** Says which limit a circuit exceeds; undefined when it exceeds none. */
function excessOf(header: R1csHeader, { constraintsMax, valuesMax }: CompileLimits): string | undefined {
  const { constraintCount, outputCount, publicInputCount, privateInputCount } = header;
  if (constraintCount > constraintsMax)
    return `the circuit has ${constraintCount} constraints, ${constraintsMax} are allowed`;
  const values = outputCount + publicInputCount + privateInputCount;
  return values > valuesMax
    ? `the circuit has ${values} values of inputs and outputs, ${valuesMax} are allowed`
    : undefined;
}

/** What the compiler has read, as text. */
function sourcesOf(files: MemoryFs, { main }: CompileRequest): ReadSources {
  const mainPath = `${SOURCE_FOLDER}/${main}`;
  return {
    paths: files.readPaths,
    mainPath,
    lastPath: files.lastReadPath ?? mainPath,
    textOf: (path) => {
      const bytes = files.fileBytes(path);
      return bytes === undefined ? undefined : Buffer.from(bytes).toString("utf8");
    },
  };
}

function invalid(diagnostics: readonly Diagnostic[]): CompileFailure {
  return { ok: false, code: "source_invalid", diagnostics: boundDiagnostics(diagnostics) };
}

function outOfMemory(): CompileFailure {
  return { ...tooLarge("the circuit needs more memory than a compile may take"), limit: "memory" };
}

function tooLarge(message: string): CompileFailure {
  return { ok: false, code: "circuit_too_large", diagnostics: [ownError("circuit_too_large", message)] };
}

function isExit(error: unknown): error is { readonly code: number } {
  return error instanceof Error && "code" in error && typeof error.code === "number";
}
