/**
 * Explains in words what is wrong with a value, by the JSON Schema keywords that the routes' schemas use. Runs only
 * after the compiled validator has rejected the value. Names members, never repeats values.
 */
import type { TSchema } from "typebox";
import Format from "typebox/format";
import type { ErrorDetail } from "../errors.js";

/** Findings per answer: enough to correct a form at once, too few for a hostile body to make a long answer. */
export const FINDINGS_MAX = 20;
/** Longest name of a member that an answer repeats. */
const NAME_LENGTH_MAX = 64;
/** Longest list of allowed values in a message, in characters. */
const ALLOWED_LENGTH_MAX = 200;

/** The keywords of JSON Schema that are read here. */
interface Keywords {
  readonly type?: string;
  readonly description?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Keywords[];
  readonly allOf?: readonly Keywords[];
  readonly properties?: Readonly<Record<string, Keywords>>;
  readonly patternProperties?: Readonly<Record<string, Keywords>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Keywords;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly items?: Keywords | readonly Keywords[];
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
}

/**
 * Returns what is wrong with a rejected value: at least one finding, at most FINDINGS_MAX.
 * @param place name of the whole value, such as `the body`
 */
export function explainRefusal(schema: TSchema, value: unknown, place: string): ErrorDetail[] {
  const findings = new Findings(place);
  visit(schema, value, "", findings);
  if (findings.list.length === 0) findings.add("", "does not have the form that this route expects");
  return findings.list;
}

class Findings {
  readonly list: ErrorDetail[] = [];
  readonly #place: string;

  constructor(place: string) {
    this.#place = place;
  }

  get isFull(): boolean {
    return this.list.length >= FINDINGS_MAX;
  }

  add(path: string, sentence: string, code: "invalid_request" | "unknown_member" = "invalid_request"): void {
    if (this.isFull) return;
    this.list.push({
      message: `${path === "" ? this.#place : path}: ${sentence}`,
      code,
      ...(path === "" ? {} : { path }),
    });
  }
}

function visit(schema: Keywords, value: unknown, path: string, findings: Findings): void {
  if (findings.isFull) return;
  if (schema.anyOf !== undefined) {
    visitUnion(schema, value, path, findings);
    return;
  }
  for (const part of schema.allOf ?? []) visit(part, value, path, findings);
  if (schema.const !== undefined || schema.enum !== undefined) {
    const allowed: readonly unknown[] = schema.enum ?? [schema.const];
    if (!allowed.includes(value)) findings.add(path, `expected ${describeAllowed(allowed)}`);
    return;
  }
  if (schema.type !== undefined && !hasType(schema.type, value)) {
    findings.add(path, `expected ${describeType(schema.type)}`);
    return;
  }
  if (typeof value === "string") visitText(schema, value, path, findings);
  else if (typeof value === "number") visitNumber(schema, value, path, findings);
  else if (Array.isArray(value)) visitList(schema, value, path, findings);
  else if (typeof value === "object" && value !== null)
    visitObject(schema, value as Readonly<Record<string, unknown>>, path, findings);
}

/**
 * Adds nothing when a member of the union accepts the value. Otherwise adds the findings of the only member that has
 * the value's type, or one finding for the whole union.
 */
function visitUnion({ anyOf, description }: Keywords, value: unknown, path: string, findings: Findings): void {
  const members = flatUnion(anyOf ?? []);
  if (members.some((member) => accepts(member, value))) return;
  const constants: readonly unknown[] = members.flatMap((member) => (member.const === undefined ? [] : [member.const]));
  if (constants.length === members.length) {
    findings.add(path, `expected ${describeAllowed(constants)}`);
    return;
  }
  const fitting = members.filter((member) => member.type !== undefined && hasType(member.type, value));
  const only = fitting.length === 1 ? fitting[0] : undefined;
  const isBeyondJson =
    typeof value === "number" && value > Number.MAX_SAFE_INTEGER && only?.maximum === Number.MAX_SAFE_INTEGER;
  if (isBeyondJson && members.some(({ type }) => type === "string"))
    findings.add(path, "is a number beyond 2^53 - 1, which is not exact in JSON: give it as a string");
  else if (only !== undefined)
    visit(description === undefined ? only : { description, ...only }, value, path, findings);
  else findings.add(path, `expected ${[...new Set(members.map(describe))].join(" or ")}`);
}

/** Returns the members of a union and of the unions in it. */
function flatUnion(members: readonly Keywords[]): Keywords[] {
  return members.flatMap((member) => (member.anyOf === undefined ? [member] : flatUnion(member.anyOf)));
}

function accepts(schema: Keywords, value: unknown): boolean {
  const trial = new Findings("");
  visit(schema, value, "", trial);
  return trial.list.length === 0;
}

function visitText(schema: Keywords, value: string, path: string, findings: Findings): void {
  const characters = Array.from(value).length;
  const { format } = schema;
  if (format !== undefined && Format.Has(format) && !Format.Test(format, value))
    findings.add(path, `expected ${describeFormat(format)}`);
  else if (characters < (schema.minLength ?? 0))
    findings.add(
      path,
      schema.minLength === 1 ? "must not be empty" : `must have at least ${String(schema.minLength)} characters`,
    );
  else if (schema.maxLength !== undefined && characters > schema.maxLength)
    findings.add(path, `must have at most ${String(schema.maxLength)} characters`);
  else if (schema.pattern !== undefined && !new RegExp(schema.pattern, "u").test(value))
    findings.add(
      path,
      `has characters or a form that are not allowed here${schema.description === undefined ? "" : ` (${schema.description})`}`,
    );
}

function visitNumber(schema: Keywords, value: number, path: string, findings: Findings): void {
  if (schema.minimum !== undefined && value < schema.minimum)
    findings.add(path, `must be at least ${String(schema.minimum)}`);
  else if (schema.maximum !== undefined && value > schema.maximum)
    findings.add(path, `must be at most ${String(schema.maximum)}`);
  else if (schema.exclusiveMinimum !== undefined && value <= schema.exclusiveMinimum)
    findings.add(path, `must be above ${String(schema.exclusiveMinimum)}`);
  else if (schema.exclusiveMaximum !== undefined && value >= schema.exclusiveMaximum)
    findings.add(path, `must be below ${String(schema.exclusiveMaximum)}`);
}

function visitList(schema: Keywords, value: readonly unknown[], path: string, findings: Findings): void {
  if (schema.minItems !== undefined && value.length < schema.minItems)
    findings.add(path, `must have at least ${String(schema.minItems)} entries`);
  else if (schema.maxItems !== undefined && value.length > schema.maxItems)
    findings.add(path, `must have at most ${String(schema.maxItems)} entries`);
  const { items } = schema;
  if (items === undefined) return;
  for (let index = 0; index < value.length && !findings.isFull; index += 1) {
    const item = Array.isArray(items) ? (items as readonly Keywords[])[index] : (items as Keywords);
    if (item !== undefined) visit(item, value[index], `${path}[${String(index)}]`, findings);
  }
}

function visitObject(
  schema: Keywords,
  value: Readonly<Record<string, unknown>>,
  path: string,
  findings: Findings,
): void {
  for (const name of schema.required ?? []) {
    if (!Object.hasOwn(value, name)) findings.add(member(path, name), "is missing");
  }
  const names = Object.keys(value);
  if (schema.minProperties !== undefined && names.length < schema.minProperties)
    findings.add(path, `must have at least ${String(schema.minProperties)} members`);
  if (schema.maxProperties !== undefined && names.length > schema.maxProperties)
    findings.add(path, `must have at most ${String(schema.maxProperties)} members`);
  for (const name of names) {
    if (findings.isFull) return;
    const known = memberSchema(schema, name);
    if (known === false) findings.add(member(path, name), "is not a member of this request", "unknown_member");
    else if (known !== true) visit(known, value[name], member(path, name), findings);
  }
}

function memberSchema(schema: Keywords, name: string): Keywords | boolean {
  if (schema.properties !== undefined && Object.hasOwn(schema.properties, name)) return schema.properties[name] ?? true;
  for (const [pattern, found] of Object.entries(schema.patternProperties ?? {})) {
    if (new RegExp(pattern, "u").test(name)) return found;
  }
  return schema.additionalProperties ?? true;
}

/** Returns the dotted name of a member; names come from the client, so they are cut and stripped. */
function member(path: string, name: string): string {
  // `meta[]=1` in a query.
  if (name === "" && path !== "") return `${path}[]`;
  const plain = name.replace(/[^\x20-\x7e]/g, "?");
  const cut = plain.length > NAME_LENGTH_MAX ? `${plain.slice(0, NAME_LENGTH_MAX)}...` : plain;
  return path === "" ? cut : `${path}.${cut}`;
}

function hasType(type: string, value: unknown): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value);
    case "integer":
      return Number.isInteger(value);
    case "number":
      return Number.isFinite(value);
    default:
      return typeof value === type;
  }
}

const TYPE_WORDS: Readonly<Record<string, string>> = {
  string: "a string",
  integer: "an integer",
  number: "a number",
  boolean: "true or false",
  object: "an object",
  array: "a list",
  null: "null",
};
const FORMAT_WORDS: Readonly<Record<string, string>> = {
  uuid: "a UUID",
  email: "an e-mail address",
  "date-time": "a timestamp (ISO 8601)",
  uri: "a URI",
  ipv4: "an IPv4 address",
  ipv6: "an IPv6 address",
  hostname: "a host name",
};

function describeType(type: string): string {
  return TYPE_WORDS[type] ?? type;
}

function describeFormat(format: string): string {
  return FORMAT_WORDS[format] ?? `the format ${format}`;
}

function describe(schema: Keywords): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return describeAllowed(schema.enum);
  if (schema.format !== undefined) return describeFormat(schema.format);
  if (schema.pattern !== undefined && schema.description !== undefined) return schema.description;
  return schema.type === undefined ? "another form" : describeType(schema.type);
}

function describeAllowed(allowed: readonly unknown[]): string {
  const words = allowed.map((value) => JSON.stringify(value));
  const text = words.length === 1 ? (words[0] ?? "") : `one of ${words.join(", ")}`;
  return text.length > ALLOWED_LENGTH_MAX ? `${text.slice(0, ALLOWED_LENGTH_MAX)}...` : text;
}
