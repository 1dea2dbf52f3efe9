/**
 * Converts the text of a query to members of the types that a route's schema names. Text that is not of the type stays
 * text, so that the validator rejects it.
 */
import type { TObject } from "typebox";
import { AppError, invalidMember } from "../errors.js";

/** More members than any route needs, repeats included. */
const MEMBERS_MAX = 64;
/** Existing browser clients send this text for a value that they do not have; it means that the member is absent. */
const ABSENT = "undefined";
/** A member of a map. */
const MAP_MEMBER = /^([a-z_]+)\[([^[\]]*)\]$/;

/** `map`: an object of texts, given as `name[key]=value`. */
type Kind = "string" | "integer" | "number" | "boolean" | "list" | "map";

interface KindSource {
  readonly type?: string;
  readonly anyOf?: readonly KindSource[];
  readonly items?: KindSource;
  readonly default?: unknown;
}

/** Name and value, decoded. */
export type QueryPair = readonly [name: string, value: string];

/**
 * Decodes `a=1&b=2` (percent triplets and `+`) into pairs in their order, without members whose text is `undefined`.
 * @throws malformed_request when a triplet is malformed or there are too many members
 */
export function parseQuery(text: string): QueryPair[] {
  if (text === "") return [];
  const parts = text.split("&");
  if (parts.length > MEMBERS_MAX)
    throw new AppError("malformed_request", { message: `the query has more than ${String(MEMBERS_MAX)} members` });
  const pairs: QueryPair[] = [];
  for (const part of parts) {
    if (part === "") continue;
    const equals = part.indexOf("=");
    const name = decode(equals === -1 ? part : part.slice(0, equals));
    const value = equals === -1 ? "" : decode(part.slice(equals + 1));
    if (value !== ABSENT) pairs.push([name, value]);
  }
  return pairs;
}

/** Converts queries by a schema; made once per route. */
export class QueryReader {
  readonly #kinds: ReadonlyMap<string, { readonly kind: Kind; readonly itemKind: Kind }>;
  readonly #defaults: readonly (readonly [string, unknown])[];
  readonly #keepsFirst: boolean;

  /** @param options.keepsFirst of a member that is given twice the first value counts, in place of a refusal */
  constructor(schema: TObject, { keepsFirst = false }: { readonly keepsFirst?: boolean | undefined } = {}) {
    this.#keepsFirst = keepsFirst;
    const members = Object.entries(schema.properties as Readonly<Record<string, KindSource>>);
    this.#kinds = new Map(
      members.map(([name, member]) => [name, { kind: kindOf(member), itemKind: kindOf(listItems(member)) }]),
    );
    this.#defaults = members.flatMap(([name, member]) =>
      member.default === undefined ? [] : [[name, member.default] as const],
    );
  }

  /**
   * Returns the members as values, with defaults.
   * @throws invalid_request when a member that is no list is given twice, unless the first value counts
   */
  read(pairs: readonly QueryPair[]): Record<string, unknown> {
    if (pairs.length === 0) return Object.fromEntries(this.#defaults);
    const members = new Map<string, unknown>(this.#defaults);
    const maps = new Map<string, Map<string, string>>();
    const given = new Set<string>();
    for (const [name, text] of pairs) {
      if (this.#readMapMember(name, text, maps)) continue;
      const known = this.#kinds.get(name) ?? { kind: "string", itemKind: "string" };
      if (known.kind === "list") {
        const list = given.has(name) ? (members.get(name) as unknown[]) : [];
        members.set(name, [...list, coerce(known.itemKind, text)]);
      } else {
        if (given.has(name)) {
          if (this.#keepsFirst) continue;
          throw repeated(this.#kinds.has(name) ? name : undefined);
        }
        members.set(name, coerce(known.kind, text));
      }
      given.add(name);
    }
    for (const [name, entries] of maps) if (!given.has(name)) members.set(name, Object.fromEntries(entries));
    return Object.fromEntries(members);
  }

  /** Returns false for what is no member of a map of the schema. */
  #readMapMember(name: string, text: string, maps: Map<string, Map<string, string>>): boolean {
    if (!name.endsWith("]")) return false;
    const [, map, key] = MAP_MEMBER.exec(name) ?? [];
    if (map === undefined || key === undefined || this.#kinds.get(map)?.kind !== "map") return false;
    const entries = maps.get(map) ?? new Map<string, string>();
    if (!entries.has(key)) entries.set(key, text);
    else if (!this.#keepsFirst) throw repeated(map);
    maps.set(map, entries);
    return true;
  }
}

/** Returns the names that are given more than once. */
export function repeatedNames(pairs: readonly QueryPair[]): string[] {
  const given = new Set<string>();
  const repeats = new Set<string>();
  for (const [name] of pairs) (given.has(name) ? repeats : given).add(name);
  return [...repeats];
}

/** Returns a function that converts a path parameter to the type of its schema; made once per route. */
export function paramReader(schema: KindSource): (text: string) => unknown {
  const kind = kindOf(schema);
  return (text) => coerce(kind, text);
}

/** @param name undefined for a name that the schema does not have: such a name is not repeated to the client */
function repeated(name: string | undefined): AppError {
  return name === undefined
    ? new AppError("invalid_request", { message: "a query member: given more than once" })
    : invalidMember(name, `${name}: given more than once`);
}

function decode(text: string): string {
  const spaced = text.replaceAll("+", " ");
  if (!spaced.includes("%")) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    throw new AppError("malformed_request", { message: "the query has a malformed percent encoding" });
  }
}

function kindOf(schema: KindSource): Kind {
  const types = schema.anyOf === undefined ? [schema.type] : schema.anyOf.map((member) => member.type);
  if (types.includes("array")) return "list";
  if (types.includes("object")) return "map";
  for (const kind of ["integer", "number", "boolean"] as const) {
    if (types.every((type) => type === kind || type === "null")) return kind;
  }
  return "string";
}

function listItems(schema: KindSource): KindSource {
  const list = schema.anyOf?.find((member) => member.type === "array") ?? schema;
  return list.items ?? {};
}

function coerce(kind: Kind, text: string): unknown {
  switch (kind) {
    case "integer": {
      const value = /^-?(0|[1-9][0-9]{0,15})$/.test(text) ? Number(text) : Number.NaN;
      return Number.isSafeInteger(value) ? value : text;
    }
    case "number":
      return /^-?(0|[1-9][0-9]{0,15})(\.[0-9]{1,16})?$/.test(text) ? Number(text) : text;
    case "boolean":
      return text === "true" ? true : text === "false" ? false : text;
    case "string":
    case "list":
    case "map":
      return text;
  }
}
