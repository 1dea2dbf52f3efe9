/**
 * Makes the fields of a form from a circuit's interface, and the inputs of a proof from what stands in them. Field
 * elements are decimal numbers, or hexadecimal ones with 0x; arrays are JSON, or their elements in circuit order with
 * spaces, commas or lines between.
 */

export interface SignalShape {
  readonly name: string;
  /** Outermost first; empty for a single value. */
  readonly dimensions: readonly number[];
  /** Members of a bus. */
  readonly members?: readonly SignalShape[];
}

export interface CircuitSignal extends SignalShape {
  readonly visibility: "output" | "public" | "private";
}

export interface CircuitInterface {
  readonly wireCount: number;
  readonly constraintCount: number;
  readonly outputCount: number;
  readonly publicInputCount: number;
  readonly privateInputCount: number;
  readonly signals: readonly CircuitSignal[];
  readonly isUnnamed?: true;
}

export interface InputField {
  readonly name: string;
  readonly visibility: "public" | "private";
  readonly kind: "number" | "list" | "json";
  /** What is to be put in, in words. */
  readonly hint: string;
  readonly shape: SignalShape;
}

export type InputValue = string | readonly InputValue[] | { readonly [name: string]: InputValue };

const ELEMENT = /^(?:-?[0-9]+|0[xX][0-9a-fA-F]+)$/;

/** Returns one field for each input, in circuit order. */
export function inputFields({ signals }: CircuitInterface): InputField[] {
  return signals.flatMap((signal) => {
    if (signal.visibility === "output") return [];
    const { name, visibility } = signal;
    return [{ name, visibility, shape: signal, ...kindOf(signal) }];
  });
}

/** Returns how many field elements a shape has. */
export function elementCount({ dimensions, members }: SignalShape): number {
  const own = dimensions.reduce((product, length) => product * length, 1);
  return own * (members?.reduce((sum, member) => sum + elementCount(member), 0) ?? 1);
}

/** Returns a signal as circom writes it, such as `PathElements[20]`. */
export function signalText({ name, dimensions }: SignalShape): string {
  return name + dimensions.map((length) => `[${String(length)}]`).join("");
}

/**
 * Returns the value that a field's text stands for.
 * @throws Error with a sentence that names the field and what is wrong
 */
export function inputValue(field: InputField, text: string): InputValue {
  const { name, kind, shape } = field;
  const trimmed = text.trim();
  if (trimmed === "") throw new Error(`${name} is empty. ${field.hint}`);
  if (kind === "number") return element(trimmed, name);
  if (kind === "json" || /^[[{]/.test(trimmed)) return checked(parsed(trimmed, name), shape, name);
  const words = trimmed.split(/[\s,]+/).filter((word) => word !== "");
  const wanted = elementCount(shape);
  if (words.length !== wanted)
    throw new Error(`${name} takes ${String(wanted)} numbers, and ${String(words.length)} are given.`);
  return folded(
    words.map((word) => element(word, name)),
    shape.dimensions,
  );
}

/** Returns a value as the text of its field. */
export function inputText(value: unknown): string {
  if (typeof value === "string" || typeof value === "number") return String(value);
  if (Array.isArray(value) && value.every((item) => typeof item === "string" || typeof item === "number"))
    return value.join("\n");
  return JSON.stringify(value, null, 1);
}

function kindOf(shape: SignalShape): Pick<InputField, "kind" | "hint"> {
  if (shape.members !== undefined)
    return { kind: "json", hint: `JSON with ${shape.members.map(({ name }) => name).join(", ")}.` };
  if (shape.dimensions.length === 0) return { kind: "number", hint: "A whole number, or 0x and hexadecimal digits." };
  const size = shape.dimensions.join(" × ");
  return { kind: "list", hint: `${size} numbers, one a line, or JSON.` };
}

function element(text: string, name: string): string {
  if (!ELEMENT.test(text)) throw new Error(`${name}: “${text}” is not a whole number.`);
  return text;
}

function parsed(text: string, name: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${name} is not JSON.`);
  }
}

/** Checks the lengths of the arrays and the members of buses, so that the sentence can name the place. */
function checked(value: unknown, { dimensions, members }: SignalShape, name: string): InputValue {
  const [length, ...inner] = dimensions;
  if (length !== undefined) {
    if (!Array.isArray(value)) throw new Error(`${name} must be a list of ${String(length)}.`);
    if (value.length !== length)
      throw new Error(`${name} takes ${String(length)} elements, and ${String(value.length)} are given.`);
    const shape = { name, dimensions: inner, ...(members === undefined ? {} : { members }) };
    return value.map((item: unknown, index) => checked(item, shape, `${name}[${String(index)}]`));
  }
  if (members === undefined) {
    if (typeof value !== "string" && typeof value !== "number") throw new Error(`${name} must be a number.`);
    if (typeof value === "number" && !Number.isSafeInteger(value))
      throw new Error(`${name}: write this number as a text, in quotes, so that no digit is lost.`);
    return element(String(value), name);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Error(`${name} must be an object with ${members.map((member) => member.name).join(", ")}.`);
  const own = value as Readonly<Record<string, unknown>>;
  return Object.fromEntries(
    members.map((member) => [member.name, checked(own[member.name], member, `${name}.${member.name}`)]),
  );
}

function folded(elements: readonly string[], dimensions: readonly number[]): InputValue {
  const [length = 0, ...inner] = dimensions;
  if (inner.length === 0) return elements;
  const size = elements.length / length;
  return Array.from({ length }, (_, index) => folded(elements.slice(index * size, (index + 1) * size), inner));
}
