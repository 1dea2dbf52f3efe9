/**
 * Checks the caller's inputs against a circuit's interface: every member is named, complete and a field element in its
 * canonical range. Nothing is guessed, reduced or defaulted, because an unnoticed wrong input becomes a proof of
 * something else. Messages name members and never repeat their values, which may be private.
 */
import { elementPaths, scalarFieldOf, sizeOf } from "./interface.js";
import type { CircuitInterface, CircuitSignal, SignalShape, SignalValues } from "./interface.js";

export interface InputProblem {
  readonly message: string;
  readonly code: "witness_invalid";
  /** Name of the member at fault, such as `Preimage[3]`. */
  readonly path: string;
}

type CheckedInputs =
  | { readonly ok: true; readonly values: SignalValues }
  | { readonly ok: false; readonly details: readonly InputProblem[] };

interface CheckInputsOptions {
  /**
   * For verification: outputs and public inputs are required and private members ignored. Otherwise, for proving:
   * public and private inputs are required, and outputs refused, since the circuit computes them.
   */
  readonly publicOnly?: boolean;
}

/** Problems listed one by one; a wrong array of thousands of elements does not need as many messages. */
export const INPUT_PROBLEMS_MAX = 64;
/**
 * Decimal digits of a 254-bit number are 77, hex digits with 0x are 66. Longer text is refused before it is parsed, as
 * parsing is quadratic.
 */
const VALUE_CHARS_MAX = 80;
const KEY_CHARS_MAX = 128;

const DECIMAL = /^[0-9]+$/;
const HEX = /^0x[0-9a-fA-F]+$/;
const KEY = /^[A-Za-z_$][A-Za-z0-9_$]*(?:\[\d{1,9}\])*(?:\.[A-Za-z_$][A-Za-z0-9_$]*(?:\[\d{1,9}\])*)*$/;
const KEY_PART = /\[(\d+)\]|([A-Za-z_$][A-Za-z0-9_$]*)/g;

/**
 * Matches inputs to signals by name. Arrays come as JSON arrays, nested or with all values in one list, or as members
 * `Name[i]`; bus members as objects or as `A.B`; a value is a decimal or 0x-hex string or a safe integer, at least 0
 * and below the field's prime.
 * @param inputs parsed JSON
 * @returns values of the required signals, complete, or one problem per member at fault
 */
export function checkInputs(
  circuit: CircuitInterface,
  inputs: unknown,
  options: CheckInputsOptions = {},
): CheckedInputs {
  const problems = new Problems();
  if (!isRecord(inputs)) {
    problems.add("", "the witness must be an object of member names and values");
    return { ok: false, details: problems.list() };
  }
  const publicOnly = options.publicOnly === true;
  const required = new Map<string, SignalSlots>();
  for (const signal of circuit.signals) {
    if (signal.visibility !== (publicOnly ? "private" : "output")) required.set(signal.name, newSlots(signal));
  }
  const others = new Map(
    circuit.signals.filter(({ name }) => !required.has(name)).map((signal) => [signal.name, signal]),
  );
  const prime = scalarFieldOf(circuit.curve);
  for (const [key, value] of Object.entries(inputs)) {
    const parts = partsOf(key);
    const name = typeof parts?.[0] === "string" ? parts[0] : "";
    const slots = required.get(name);
    if (parts === undefined || slots === undefined) reportUnwanted(key, others.get(name), problems);
    else
      fillAt({ shape: slots.signal, dimension: 0, offset: 0, path: name }, parts.slice(1), value, {
        prime,
        problems,
        slots,
      });
  }
  for (const slots of required.values()) reportMissing(slots, problems);
  if (problems.count > 0) return { ok: false, details: problems.list() };
  return { ok: true, values: new Map([...required].map(([name, { values }]) => [name, values])) };
}

/**
 * Checks public signals that come as a list, as snarkjs has them: outputs, then public inputs, in circuit order.
 * @param list parsed JSON
 * @returns the values, complete, or one problem per element at fault
 */
export function checkPublicSignals(
  circuit: CircuitInterface,
  list: unknown,
):
  | { readonly ok: true; readonly signals: readonly bigint[] }
  | { readonly ok: false; readonly details: InputProblem[] } {
  const problems = new Problems();
  const name = "public_signals";
  const count = circuit.outputCount + circuit.publicInputCount;
  const items: readonly unknown[] = Array.isArray(list) ? list : [];
  if (!Array.isArray(list)) problems.add(name, `${name} must be a list of ${count} values`);
  else if (items.length !== count) problems.add(name, `${name} has ${items.length} values, the circuit has ${count}`);
  if (problems.count > 0) return { ok: false, details: problems.list() };
  const prime = scalarFieldOf(circuit.curve);
  const signals = items.map((item, i) => {
    const parsed = parseFieldElement(item, prime);
    if (typeof parsed !== "string") return parsed;
    problems.add(`${name}[${i}]`, `${name}[${i}] ${parsed}`);
    return 0n;
  });
  return problems.count > 0 ? { ok: false, details: problems.list() } : { ok: true, signals };
}

/**
 * Returns whether parsed JSON has more than `countMax` values; an empty list or object counts as one. Takes time for
 * `countMax` values at most, so that far too many are refused before they are copied or checked.
 */
export function hasMoreValues(inputs: unknown, countMax: number): boolean {
  let count = 0;
  const isOver = (value: unknown): boolean => {
    const items: readonly unknown[] =
      typeof value !== "object" || value === null ? [] : Array.isArray(value) ? value : Object.values(value);
    if (items.length === 0) {
      count += 1;
      return count > countMax;
    }
    return items.some(isOver);
  };
  return isOver(inputs) && count > countMax;
}

/** Collects problems up to the limit and counts the rest. */
export class Problems {
  readonly #listed: InputProblem[] = [];
  count = 0;

  /** Adds a problem with a member. */
  add(path: string, message: string): void {
    this.count += 1;
    if (this.#listed.length < INPUT_PROBLEMS_MAX) this.#listed.push({ message, code: "witness_invalid", path });
  }

  /** Returns the problems, and how many more there are. */
  list(): InputProblem[] {
    if (this.count <= this.#listed.length) return [...this.#listed];
    return [
      ...this.#listed,
      { message: `and ${this.count - this.#listed.length} more`, code: "witness_invalid", path: "" },
    ];
  }
}

const EMPTY = 0;
const FILLED = 1;
/** A problem with the element is reported already, so that it is neither missing nor usable. */
const FAULTY = 2;

interface SignalSlots {
  readonly signal: CircuitSignal;
  readonly values: bigint[];
  /** EMPTY, FILLED or FAULTY for each value. */
  readonly states: Uint8Array;
}

interface FillContext {
  readonly prime: bigint;
  readonly problems: Problems;
  /** Of the signal that is being filled. */
  readonly slots: SignalSlots;
}

/** A place inside a signal: a shape with its first `dimension` indices chosen, starting at value `offset`. */
interface Place {
  readonly shape: SignalShape;
  readonly dimension: number;
  readonly offset: number;
  readonly path: string;
}

function newSlots(signal: CircuitSignal): SignalSlots {
  const size = sizeOf(signal);
  return { signal, values: new Array<bigint>(size).fill(0n), states: new Uint8Array(size) };
}

/** `A[1].B` becomes A, 1, B; undefined when the key has no such form. */
function partsOf(key: string): (string | number)[] | undefined {
  if (key.length > KEY_CHARS_MAX || !KEY.test(key)) return undefined;
  return [...key.matchAll(KEY_PART)].map(([, index, name]) => (index === undefined ? (name ?? "") : Number(index)));
}

function reportUnwanted(key: string, other: CircuitSignal | undefined, problems: Problems): void {
  if (other?.visibility === "private") return;
  const shown = key.length <= KEY_CHARS_MAX ? key : `${key.slice(0, KEY_CHARS_MAX)}…`;
  if (other === undefined) problems.add(shown, `${shown} is not a member of this circuit`);
  else problems.add(shown, `${shown} is an output: the circuit computes it, so it cannot be given`);
}

/** Follows the rest of a key down to the place it names, then fills that place. */
function fillAt(start: Place, parts: readonly (string | number)[], value: unknown, context: FillContext): void {
  let place = start;
  for (const part of parts) {
    const next = typeof part === "number" ? elementAt(place, part) : memberAt(place, part);
    if (next === undefined) {
      const path = typeof part === "number" ? `${place.path}[${part}]` : `${place.path}.${part}`;
      context.problems.add(path, `${path} is not a member of this circuit`);
      return;
    }
    place = next;
  }
  fill(place, value, context);
}

function fill(place: Place, value: unknown, context: FillContext): void {
  if (place.dimension < place.shape.dimensions.length) fillArray(place, value, context);
  else if (place.shape.members !== undefined) fillBus(place, value, context);
  else fillValue(place, value, context);
}

function fillArray(place: Place, value: unknown, context: FillContext): void {
  const length = place.shape.dimensions[place.dimension] ?? 0;
  if (!Array.isArray(value)) {
    refuse(place, `${place.path} must be an array of ${length} values`, context);
    return;
  }
  const items: readonly unknown[] = value;
  if (isFlat(place, items)) {
    fillFlat(place, items, context);
    return;
  }
  if (items.length !== length) {
    refuse(place, `${place.path} has ${items.length} values, the circuit takes ${length}`, context);
    return;
  }
  for (let i = 0; i < length; i += 1) {
    const element = elementAt(place, i);
    if (element !== undefined) fill(element, items[i], context);
  }
}

/** Whether all values of an array of several dimensions come in one list, as snarkjs takes them. */
function isFlat({ shape, dimension }: Place, items: readonly unknown[]): boolean {
  const isNested = shape.dimensions.length - dimension > 1;
  return isNested && shape.members === undefined && items.length > 0 && !items.some((item) => Array.isArray(item));
}

function fillFlat(place: Place, items: readonly unknown[], context: FillContext): void {
  const size = sizeAt(place);
  if (items.length !== size) {
    const shape = place.shape.dimensions.slice(place.dimension).join(" x ");
    refuse(
      place,
      `${place.path} has ${items.length} values in one list, the circuit takes ${size} (${shape})`,
      context,
    );
    return;
  }
  const paths = elementPaths({ name: place.path, dimensions: place.shape.dimensions.slice(place.dimension) });
  items.forEach((item, i) => {
    const element: Place = {
      shape: place.shape,
      dimension: place.shape.dimensions.length,
      offset: place.offset + i,
      path: paths[i] ?? place.path,
    };
    fillValue(element, item, context);
  });
}

function fillBus(place: Place, value: unknown, context: FillContext): void {
  if (!isRecord(value)) {
    refuse(place, `${place.path} must be an object of member names and values`, context);
    return;
  }
  for (const [key, item] of Object.entries(value)) {
    const parts = partsOf(key);
    if (parts === undefined) {
      const path = `${place.path}.${key.slice(0, KEY_CHARS_MAX)}`;
      context.problems.add(path, `${path} is not a member of this circuit`);
    } else {
      fillAt(place, parts, item, context);
    }
  }
}

function fillValue(place: Place, value: unknown, context: FillContext): void {
  const { slots } = context;
  const parsed = parseFieldElement(value, context.prime);
  if (slots.states[place.offset] === FILLED) refuse(place, `${place.path} is given twice`, context);
  else if (typeof parsed === "string") refuse(place, `${place.path} ${parsed}`, context);
  else {
    slots.values[place.offset] = parsed;
    slots.states[place.offset] = FILLED;
  }
}

/** One message for the whole place; its elements are not reported as missing as well. */
function refuse(place: Place, message: string, context: FillContext): void {
  context.problems.add(place.path, message);
  context.slots.states.fill(FAULTY, place.offset, place.offset + sizeAt(place));
}

function reportMissing({ signal, states }: SignalSlots, problems: Problems): void {
  const missing = states.reduce((sum, state) => sum + (state === EMPTY ? 1 : 0), 0);
  if (missing === 0) return;
  if (missing === states.length) {
    problems.add(signal.name, `${signal.name} is missing`);
    return;
  }
  elementPaths(signal).forEach((path, i) => {
    if (states[i] === EMPTY) problems.add(path, `${path} is missing`);
  });
}

/** Reads a value; returns the number, or the end of a sentence that says what is wrong with it. */
export function parseFieldElement(value: unknown, prime: bigint): bigint | string {
  if (typeof value === "number") {
    if (!Number.isInteger(value)) return "must be a whole number";
    if (value < 0) return "must not be negative";
    return Number.isSafeInteger(value) ? BigInt(value) : "is too large for a JSON number: write it as a string";
  }
  if (typeof value !== "string") return "must be a decimal or 0x-hex string, or a whole number";
  if (value.length > VALUE_CHARS_MAX) return "is too long for a field element";
  if (/^-[0-9]+$/.test(value)) return "must not be negative";
  if (!DECIMAL.test(value) && !HEX.test(value)) return "must be a decimal or 0x-hex string";
  const parsed = BigInt(value);
  return parsed < prime ? parsed : "is not below the prime of the circuit's field";
}

function elementAt(place: Place, index: number): Place | undefined {
  const length = place.shape.dimensions[place.dimension];
  if (length === undefined || index >= length) return undefined;
  const stride = sizeAt(place) / length;
  return {
    ...place,
    dimension: place.dimension + 1,
    offset: place.offset + index * stride,
    path: `${place.path}[${index}]`,
  };
}

function memberAt(place: Place, name: string): Place | undefined {
  if (place.dimension < place.shape.dimensions.length) return undefined;
  let { offset } = place;
  for (const member of place.shape.members ?? []) {
    if (member.name === name) return { shape: member, dimension: 0, offset, path: `${place.path}.${name}` };
    offset += sizeOf(member);
  }
  return undefined;
}

function sizeAt({ shape, dimension }: Place): number {
  return sizeOf({ ...shape, dimensions: shape.dimensions.slice(dimension) });
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
