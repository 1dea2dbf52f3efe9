/**
 * What existing clients send beside the members that a route names: members in other spellings (`createdAt`,
 * `Application_id`), and the whole record that they read, back in a PUT. Only routes that say so accept either.
 */
import type { TObject, TProperties, TSchema } from "typebox";
import { invalidMember } from "../errors.js";

/** Members of a record, under their own names, that a body had although its route cannot change them. */
export type SentBack = Readonly<Record<string, unknown>>;

/** A body under the names of its route, and what was sent back beside it. */
export interface SentBody {
  readonly body: unknown;
  readonly sentBack: SentBack;
}

/** The members of a route (contract/route.ts) that decide about names. */
interface NamedBody {
  readonly body?: TSchema;
  readonly sendsBack?: TObject;
  readonly anyCase?: true;
}

type Reader = (value: Record<string, unknown>) => SentBody;

const NOTHING: SentBack = {};

/**
 * Returns the function that gives a body its route's names; made once per route. It checks nothing else: an unknown
 * member stays, so that the schema rejects it.
 */
export function clientNames({ body, sendsBack, anyCase }: NamedBody): Reader {
  const own = propertiesOf(body);
  if (sendsBack === undefined && anyCase !== true) return (value) => ({ body: value, sentBack: NOTHING });
  const record = propertiesOf(sendsBack);
  const spellings = new Map([...Object.keys(record), ...Object.keys(own)].map((name) => [folded(name), name] as const));
  return (value) => {
    if (Object.keys(value).every((name) => Object.hasOwn(own, name))) return { body: value, sentBack: NOTHING };
    const known = new Map<string, unknown>();
    const sentBack = new Map<string, unknown>();
    for (const [sent, content] of Object.entries(value)) {
      const name = spellings.get(folded(sent)) ?? sent;
      const place = !Object.hasOwn(own, name) && Object.hasOwn(record, name) ? sentBack : known;
      if (place.has(name)) throw invalidMember(name, `${name}: given twice, in two spellings`);
      place.set(name, content);
    }
    return { body: Object.fromEntries(known), sentBack: Object.fromEntries(sentBack) };
  };
}

/**
 * Refuses a change of what cannot change. The present value passes, because clients send back what they read; so does
 * every member that is not named, such as a time that the server sets.
 * @param current the record as its GET answers it now
 * @param names members of the record that never change: ids, owners, types
 * @throws invalid_request
 */
export function requireUnchanged<Current extends object>(
  sentBack: SentBack,
  current: Current,
  names: readonly (keyof Current & string)[],
): void {
  for (const name of names) {
    const sent = sentBack[name];
    if (sent === undefined || plain(sent) === plain(current[name])) continue;
    throw invalidMember(name, `${name}: cannot be changed`);
  }
}

/** Returns what all spellings of a member's name have in common. */
export function folded(name: string): string {
  return name.replaceAll("_", "").toLowerCase();
}

/** Ids are the same in any case; an absent member is answered as null or not at all. */
function plain(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(value.toLowerCase()) : JSON.stringify(value ?? null);
}

function propertiesOf(schema: TSchema | undefined): TProperties {
  return (schema as Partial<TObject> | undefined)?.properties ?? {};
}
