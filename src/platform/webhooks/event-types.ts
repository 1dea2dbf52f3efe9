/**
 * The types under which webhooks are told events. Subjects of events have ids in them, and forms that existing clients
 * know; types are words alone. An event that no row names keeps the words of its subject.
 */
import type { StoreValue } from "../store/store.js";
import { isUuid } from "../ids.js";
import { matches, parseFilter, type SubjectFilter } from "../events/subject-filter.js";

interface TypedEvent {
  /** Its own subject first. */
  readonly subjects: readonly string[];
  readonly payload: StoreValue;
}

type Row = readonly [filter: string, typeOf: (words: readonly string[], payload: StoreValue) => string];

const last = (words: readonly string[]): string => words.at(-1) ?? "";

const ROWS: readonly Row[] = [
  ["privacy.prover.setup.complete", () => "prover.provisioned"],
  ["privacy.prover.setup.*", (words) => `prover.${last(words)}`],
  ["privacy.prover.analysis.complete", () => "prover.analyzed"],
  // Every proof is kept as a note.
  ["privacy.prover.notification.*.*.note.deposited", () => "proof.created"],
  ["privacy.prover.notification.*.*.note.*", (words) => `note.${last(words)}`],
  ["privacy.prover.job.*", (words) => `job.${last(words)}`],
  ["privacy.prover.ceremony.*", (words) => `ceremony.${last(words)}`],
  ["privacy.prover.verifier.*", (words) => `verifier.${last(words)}`],
  ["privacy.prover.assurance.*", (words) => `assurance.${last(words)}`],
  ["network.*.transactions.*", (_words, payload) => `transaction.${memberOf(payload, "state")}`],
  ["network.*.status", () => "network.status"],
  ["network.*.connector.*", () => "connector.status"],
  ["network.*.contracts.>", (_words, payload) => (isRemoved(payload) ? "contract.event_removed" : "contract.event")],
  ["ident.*.*", (words) => words.slice(1).join(".")],
];
const TABLE = ROWS.map(([filter, typeOf]) => ({ filter: parsed(filter), typeOf }));

/** Returns the type of an event, such as `transaction.confirmed`. */
export function eventTypeOf({ subjects, payload }: TypedEvent): string {
  const words = (subjects[0] ?? "").split(".");
  const row = TABLE.find(({ filter }) => matches(filter, words));
  return row?.typeOf(words, payload) ?? words.filter((word) => !isUuid(word)).join(".");
}

function parsed(text: string): SubjectFilter {
  return parseFilter(text) ?? [];
}

function memberOf(payload: StoreValue, name: string): string {
  const value = isObject(payload) ? payload[name] : undefined;
  return typeof value === "string" ? value : "changed";
}

function isRemoved(payload: StoreValue): boolean {
  return isObject(payload) && payload["removed"] === true;
}

function isObject(value: StoreValue): value is { readonly [member: string]: StoreValue | undefined } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
