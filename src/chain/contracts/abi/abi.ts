/**
 * The ABI of a contract: read from what a user, an artifact or the compiler gave, checked once and stored in one form
 * (Solidity documentation, "Contract ABI Specification", JSON).
 */
import { keccak256 } from "../../../crypto/hashes/keccak.js";
import { AppError, invalidMember, type ErrorDetail } from "../../../platform/errors.js";
import { canonicalType, readType, typeText, type AbiMember, type AbiParameter } from "./abi-types.js";

type AbiMutability = "pure" | "view" | "nonpayable" | "payable";

/** One entry with the members that are used here. */
export type AbiEntry = {
  readonly type: "function" | "constructor" | "event" | "error" | "fallback" | "receive";
  /** Empty for constructor, fallback and receive. */
  readonly name: string;
  readonly inputs: readonly AbiParameter[];
  /** Only functions have them. */
  readonly outputs?: readonly AbiParameter[];
  readonly stateMutability?: AbiMutability;
  readonly anonymous?: boolean;
};
export type ContractAbi = readonly AbiEntry[];

/** A function or constructor, ready to be called. */
export interface Method {
  readonly name: string;
  /** `transfer(address,uint256)`. */
  readonly signature: string;
  /** 0x-hex of 4 bytes; empty for the constructor. */
  readonly selector: string;
  readonly inputs: readonly AbiMember[];
  readonly outputs: readonly AbiMember[];
  readonly mutability: AbiMutability;
}

/** The largest contracts in use have some hundred entries. */
const ABI_ENTRIES_MAX = 2_000;
const PARAMETERS_MAX = 64;
const SELECTOR_BYTES = 4;
const COMPONENTS_DEPTH_MAX = 12;
const IDENTIFIER = /^[A-Za-z_$][A-Za-z0-9_$]{0,199}$/;
const KINDS: ReadonlySet<unknown> = new Set(["function", "constructor", "event", "error", "fallback", "receive"]);
const NAMED_KINDS: ReadonlySet<AbiEntry["type"]> = new Set(["function", "event", "error"]);
const MUTABILITIES: ReadonlySet<unknown> = new Set(["pure", "view", "nonpayable", "payable"]);
const FINDINGS_MAX = 20;

/**
 * Reads an ABI. Throws `abi_invalid` with a detail for each bad entry, up to 20.
 * @param path the member of the request that has the ABI
 */
export function readAbi(value: unknown, path: string): ContractAbi {
  if (!Array.isArray(value)) throw invalidMember(path, "the ABI must be a list of entries", "abi_invalid");
  if (value.length > ABI_ENTRIES_MAX)
    throw invalidMember(path, `the ABI has more than ${String(ABI_ENTRIES_MAX)} entries`, "abi_invalid");
  const entries: AbiEntry[] = [];
  const findings: ErrorDetail[] = [];
  value.forEach((item: unknown, index) => {
    const entry = readEntry(item);
    if (typeof entry !== "string") entries.push(entry);
    else if (findings.length < FINDINGS_MAX)
      findings.push({
        message: `entry ${String(index)} of the ABI ${entry}`,
        code: "abi_invalid",
        path: `${path}[${String(index)}]`,
      });
  });
  const [first] = findings;
  if (first !== undefined) throw new AppError("abi_invalid", { message: first.message, details: findings });
  return entries;
}

/** Returns all functions in the ABI's order. */
export function methodsOf(abi: ContractAbi): Method[] {
  return abi.filter(({ type }) => type === "function").map(methodOf);
}

/** Returns the constructor; one without parameters where the ABI has none. */
export function constructorOf(abi: ContractAbi): Method {
  const entry = abi.find(({ type }) => type === "constructor") ?? {
    type: "constructor",
    name: "",
    inputs: [],
    stateMutability: "nonpayable",
  };
  return { ...methodOf(entry), selector: "" };
}

/** Returns the signature of a function, event or error: `Transfer(address,address,uint256)`. */
export function signatureOf(entry: AbiEntry): string {
  return `${entry.name}(${membersOf(entry.inputs)
    .map(({ type }) => typeText(type))
    .join(",")})`;
}

/** Returns the selector of a signature: 4 bytes, 0x-hex. */
export function selectorOf(signature: string): string {
  return `0x${Buffer.from(keccak256(Buffer.from(signature, "utf8")).subarray(0, SELECTOR_BYTES)).toString("hex")}`;
}

/** Returns the parameters of an entry of `readAbi` with their types read. Throws `data_corrupt` for any other. */
export function membersOf(parameters: readonly AbiParameter[]): AbiMember[] {
  return parameters.map((parameter) => {
    const type = readType(parameter);
    if (type === undefined) throw new AppError("data_corrupt", { message: "a stored ABI has an invalid type" });
    return { name: parameter.name, type };
  });
}

/**
 * Finds a function by full signature or by name. Where several have the name, the number of arguments decides if only
 * one of them takes that number. Throws `method_unknown`, or `method_ambiguous` with the possible signatures.
 */
export function findMethod(abi: ContractAbi, nameOrSignature: string, argumentCount: number): Method {
  const text = nameOrSignature.replace(/\s+/g, "");
  const methods = methodsOf(abi);
  const exact = methods.find(({ signature }) => signature === text);
  if (exact !== undefined) return exact;
  const named = methods.filter(({ name }) => name === text);
  const [first, second] = named;
  if (first === undefined) throw wrongMethod("method_unknown", `the contract's ABI has no method "${text}"`);
  if (second === undefined) return first;
  const fitting = named.filter(({ inputs }) => inputs.length === argumentCount);
  if (fitting.length === 1 && fitting[0] !== undefined) return fitting[0];
  throw wrongMethod(
    "method_ambiguous",
    `several methods are called "${text}"; give the signature: ${named.map(({ signature }) => signature).join(", ")}`,
  );
}

function methodOf(entry: AbiEntry): Method {
  const signature = signatureOf(entry);
  return {
    name: entry.name,
    signature,
    selector: entry.type === "function" ? selectorOf(signature) : "",
    inputs: membersOf(entry.inputs),
    outputs: membersOf(entry.outputs ?? []),
    mutability: entry.stateMutability ?? "nonpayable",
  };
}

/** Returns the entry, or the rest of the sentence that says what is wrong with it. */
function readEntry(item: unknown): AbiEntry | string {
  if (typeof item !== "object" || item === null || Array.isArray(item)) return "is not an object";
  const {
    type = "function",
    name,
    inputs = [],
    outputs = [],
    anonymous,
    ...flags
  } = item as Readonly<Record<string, unknown>>;
  if (!KINDS.has(type)) return "has a type that is none of function, constructor, event, error, fallback and receive";
  const kind = type as AbiEntry["type"];
  const isNamed = NAMED_KINDS.has(kind);
  if (isNamed && !isIdentifier(name)) return "has no valid name";
  const readInputs = readParameters(inputs, 0);
  if (readInputs === undefined) return "has inputs that are not parameters with types of the ABI";
  const readOutputs = kind === "function" ? readParameters(outputs, 0) : [];
  if (readOutputs === undefined) return "has outputs that are not parameters with types of the ABI";
  const mutability = readMutability(flags);
  if (mutability === undefined) return "has an unknown state mutability";
  return {
    type: kind,
    name: isNamed ? (name as string) : "",
    inputs: readInputs,
    ...(kind === "function" ? { outputs: readOutputs } : {}),
    ...(kind !== "function" && isNamed ? {} : { stateMutability: mutability }),
    ...(kind === "event" && anonymous === true ? { anonymous: true } : {}),
  };
}

function isIdentifier(name: unknown): boolean {
  return typeof name === "string" && IDENTIFIER.test(name);
}

/** Reads the mutability. Compilers before 0.6 write two flags in its place. */
function readMutability({
  stateMutability,
  constant,
  payable,
}: Readonly<Record<string, unknown>>): AbiMutability | undefined {
  if (stateMutability !== undefined)
    return MUTABILITIES.has(stateMutability) ? (stateMutability as AbiMutability) : undefined;
  return constant === true ? "view" : payable === true ? "payable" : "nonpayable";
}

function readParameters(value: unknown, depth: number): AbiParameter[] | undefined {
  if (!Array.isArray(value) || value.length > PARAMETERS_MAX || depth > COMPONENTS_DEPTH_MAX) return undefined;
  const parameters: AbiParameter[] = [];
  for (const item of value as unknown[]) {
    const parameter = readParameter(item, depth);
    if (parameter === undefined || (depth === 0 && readType(parameter) === undefined)) return undefined;
    parameters.push(parameter);
  }
  return parameters;
}

function readParameter(item: unknown, depth: number): AbiParameter | undefined {
  if (typeof item !== "object" || item === null) return undefined;
  const { name = "", type, internalType, indexed, components } = item as Readonly<Record<string, unknown>>;
  if (
    typeof type !== "string" ||
    type.length > 100 ||
    typeof name !== "string" ||
    (name !== "" && !IDENTIFIER.test(name))
  )
    return undefined;
  const inner = components === undefined ? undefined : readParameters(components, depth + 1);
  if (components !== undefined && inner === undefined) return undefined;
  return {
    name,
    type: canonicalType(type),
    ...(typeof internalType === "string" && internalType.length <= 200 ? { internalType } : {}),
    ...(typeof indexed === "boolean" ? { indexed } : {}),
    ...(inner === undefined ? {} : { components: inner }),
  };
}

function wrongMethod(code: "method_unknown" | "method_ambiguous", message: string): AppError {
  return invalidMember("method", message, code);
}
