/**
 * The inputs and outputs of a circuit: its named signals in circuit order, read from the compiler's symbol table and
 * the R1CS header. The result is plain JSON, stored beside the compiled circuit, so that later steps do not need the
 * symbol table.
 */
import type { CurveName } from "../curves/curve-parameters.js";
import { curveNamed, curveOfScalarField } from "../curves/curves.js";
import type { R1csHeader } from "./r1cs.js";

type SignalVisibility = "output" | "public" | "private";

/** One member of a bus, or a signal itself: a scalar, an array, a bus, or an array of buses. */
export interface SignalShape {
  readonly name: string;
  /** Outermost first; empty for a single value. */
  readonly dimensions: readonly number[];
  /** Members of a bus, in circuit order; absent for a plain signal. */
  readonly members?: readonly SignalShape[];
}

export interface CircuitSignal extends SignalShape {
  readonly visibility: SignalVisibility;
}

export interface CircuitInterface {
  readonly curve: CurveName;
  readonly wireCount: number;
  readonly constraintCount: number;
  /** Field elements, not names: an array of 256 bits counts 256. */
  readonly outputCount: number;
  readonly publicInputCount: number;
  readonly privateInputCount: number;
  /** Outputs, then public inputs, then private inputs: the order of the wires 1, 2, 3 ... */
  readonly signals: readonly CircuitSignal[];
  /**
   * The circuit came without a symbol table: its signals have no names of their own, but are elements of the lists
   * `outputs`, `public_inputs` and `private_inputs`. Only its witness program knows inputs by their names.
   */
  readonly isUnnamed?: true;
}

/** Field elements by signal name, each array flattened in circuit order. */
export type SignalValues = ReadonlyMap<string, readonly bigint[]>;

/** The symbol table does not describe the signals that the R1CS counts. */
export class CircuitInterfaceError extends Error {
  override readonly name = "CircuitInterfaceError";
}

const NEWLINE = 0x0a;
const NAME = "[A-Za-z_$][A-Za-z0-9_$]*";
const PATH = new RegExp(`^main((?:\\.${NAME}(?:\\[\\d+\\])*)+)$`);
const STEP = new RegExp(`\\.(${NAME})((?:\\[\\d+\\])*)`, "g");

/** Returns the prime modulo which a curve's circuits compute. */
export function scalarFieldOf(curve: CurveName): bigint {
  return curveNamed(curve).r;
}

/**
 * Reads the signals of a compiled circuit.
 * @param symBytes the `.sym` file: one line `label,wire,component,path` per label, of which the first ones are outputs,
 *   public and private inputs in this order
 * @throws CircuitInterfaceError when the two files do not belong together or the field is of no supported curve
 */
export function readCircuitInterface(header: R1csHeader, symBytes: Uint8Array): CircuitInterface {
  const curve = curveOfScalarField(header.prime);
  if (curve === undefined) throw new CircuitInterfaceError("the circuit is over the field of no supported curve");
  const { outputCount, publicInputCount, privateInputCount } = header;
  const paths = readSignalPaths(symBytes, outputCount + publicInputCount + privateInputCount);
  const publicEnd = outputCount + publicInputCount;
  const signals = [
    ...signalsOf(paths.slice(0, outputCount), "output"),
    ...signalsOf(paths.slice(outputCount, publicEnd), "public"),
    ...signalsOf(paths.slice(publicEnd), "private"),
  ];
  const { wireCount, constraintCount } = header;
  const counts = { wireCount, constraintCount, outputCount, publicInputCount, privateInputCount };
  return { curve: curve.name, ...counts, signals };
}

/**
 * Returns the interface of a circuit without a symbol table.
 * @throws CircuitInterfaceError when the field is of no supported curve
 */
export function unnamedInterface(header: R1csHeader): CircuitInterface {
  const curve = curveOfScalarField(header.prime);
  if (curve === undefined) throw new CircuitInterfaceError("the circuit is over the field of no supported curve");
  const { wireCount, constraintCount, outputCount, publicInputCount, privateInputCount } = header;
  const lists = [
    { name: "outputs", dimensions: [outputCount], visibility: "output" },
    { name: "public_inputs", dimensions: [publicInputCount], visibility: "public" },
    { name: "private_inputs", dimensions: [privateInputCount], visibility: "private" },
  ] as const satisfies CircuitSignal[];
  const signals = lists.filter(({ dimensions: [length] }) => length > 0);
  const counts = { wireCount, constraintCount, outputCount, publicInputCount, privateInputCount };
  return { curve: curve.name, ...counts, signals, isUnnamed: true };
}

/** Returns the interface of a circuit of which only a verifying key is known: how many public signals it has. */
export function verifierInterface(curve: CurveName, publicCount: number): CircuitInterface {
  const signal = { name: "public_signals", dimensions: [publicCount], visibility: "public" } as const;
  return {
    ...{ curve, wireCount: publicCount + 1, constraintCount: 0, outputCount: 0 },
    ...{ publicInputCount: publicCount, privateInputCount: 0 },
    signals: publicCount === 0 ? [] : [signal],
    isUnnamed: true,
  };
}

/** Returns how many values a circuit has: outputs, public and private inputs. No inputs have more. */
export function valuesOf({ outputCount, publicInputCount, privateInputCount }: CircuitInterface): number {
  return outputCount + publicInputCount + privateInputCount;
}

/** Returns the number of field elements of a signal. */
export function sizeOf(shape: SignalShape): number {
  const inner = shape.members === undefined ? 1 : shape.members.reduce((sum, member) => sum + sizeOf(member), 0);
  return shape.dimensions.reduce((product, length) => product * length, inner);
}

/**
 * A run of field elements with one name in the witness program: a whole plain array, or one member of one bus of an
 * array.
 */
interface SignalRun {
  /** Such as `Preimage`, `Document.Hash` or `points[1].x`; array indices at its end are left out. */
  readonly path: string;
  readonly size: number;
}

/** Splits a signal into its runs, in circuit order. */
export function runsOf(shape: SignalShape, prefix = ""): SignalRun[] {
  const path = `${prefix}${shape.name}`;
  const { members } = shape;
  if (members === undefined) return [{ path, size: sizeOf(shape) }];
  return indexTexts(shape.dimensions).flatMap((index) =>
    members.flatMap((member) => runsOf(member, `${path}${index}.`)),
  );
}

/** Returns the names of all field elements of a signal, in circuit order: `a[0][0]`, `a[0][1]`, ... */
export function elementPaths(shape: SignalShape, prefix = ""): string[] {
  const path = `${prefix}${shape.name}`;
  const { members } = shape;
  const indices = indexTexts(shape.dimensions);
  if (members === undefined) return indices.map((index) => `${path}${index}`);
  return indices.flatMap((index) => members.flatMap((member) => elementPaths(member, `${path}${index}.`)));
}

/**
 * Returns the public signals in the order of proofs: outputs, then public inputs.
 * @param values must hold every public signal, complete
 */
export function publicSignalsFrom(circuit: CircuitInterface, values: SignalValues): bigint[] {
  const signals: bigint[] = [];
  for (const signal of circuit.signals) {
    if (signal.visibility === "private") continue;
    const given = values.get(signal.name);
    if (given?.length !== sizeOf(signal)) throw new Error(`invariant broken: public signal ${signal.name} is complete`);
    signals.push(...given);
  }
  return signals;
}

/** Reads only the lines of the signals: the rest of the table, often megabytes, names inner wires. */
function readSignalPaths(symBytes: Uint8Array, count: number): string[] {
  const paths: string[] = [];
  let at = 0;
  for (let label = 1; label <= count; label += 1) {
    const newline = symBytes.indexOf(NEWLINE, at);
    const end = newline < 0 ? symBytes.length : newline;
    const [labelText, , , path] = Buffer.from(symBytes.buffer, symBytes.byteOffset + at, end - at)
      .toString("utf8")
      .trim()
      .split(",");
    if (Number(labelText) !== label || path === undefined)
      throw new CircuitInterfaceError("the symbol table does not match the R1CS");
    paths.push(path);
    at = end + 1;
  }
  return paths;
}

interface Step {
  readonly name: string;
  readonly indices: readonly number[];
}

interface ShapeBuilder {
  readonly name: string;
  dimensions: number[];
  readonly members: Map<string, ShapeBuilder>;
}

function signalsOf(paths: readonly string[], visibility: SignalVisibility): CircuitSignal[] {
  const root: ShapeBuilder = { name: "main", dimensions: [], members: new Map() };
  for (const path of paths) addPath(root, stepsOf(path));
  const signals = [...root.members.values()].map((builder) => ({ ...shapeOf(builder), visibility }));
  // The shapes were inferred from the largest index of each array; they are right if they name the same elements in the
  // same order. The sizes come first, so that an absurd index is refused before its array is spelled out.
  const size = signals.reduce((sum, signal) => sum + sizeOf(signal), 0);
  if (size !== paths.length) throw new CircuitInterfaceError("the symbol table has an array with missing elements");
  const named = signals.flatMap((signal) => elementPaths(signal, "main."));
  if (named.some((path, i) => path !== paths[i])) {
    throw new CircuitInterfaceError("the symbol table has signals of an unknown shape");
  }
  return signals;
}

function stepsOf(path: string): Step[] {
  const tail = PATH.exec(path)?.[1];
  if (tail === undefined) throw new CircuitInterfaceError("the symbol table has a name of an unknown form");
  return [...tail.matchAll(STEP)].map(([, name = "", indices = ""]) => ({
    name,
    indices: [...indices.matchAll(/\d+/g)].map(([digits]) => Number(digits)),
  }));
}

function addPath(root: ShapeBuilder, steps: readonly Step[]): void {
  let parent = root;
  for (const { name, indices } of steps) {
    const builder: ShapeBuilder = parent.members.get(name) ?? {
      name,
      dimensions: indices.map(() => 0),
      members: new Map(),
    };
    builder.dimensions = indices.map((index, i) => Math.max(index + 1, builder.dimensions[i] ?? 0));
    parent.members.set(name, builder);
    parent = builder;
  }
}

function shapeOf({ name, dimensions, members }: ShapeBuilder): SignalShape {
  if (members.size === 0) return { name, dimensions };
  return { name, dimensions, members: [...members.values()].map(shapeOf) };
}

/** `[""]` without dimensions, else `[0][0]`, `[0][1]`, ... with the last index running fastest. */
function indexTexts(dimensions: readonly number[]): string[] {
  let texts = [""];
  for (const length of dimensions) texts = texts.flatMap((text) => Array.from({ length }, (_, i) => `${text}[${i}]`));
  return texts;
}
