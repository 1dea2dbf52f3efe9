/**
 * Tries the kernels of a pairing (pairing/) against the same on two lanes: on coefficients that are random or extreme
 * and need not be those of points.
 */
import type { CurveParameters } from "../../curves/curve-parameters.js";
import { MULTIPLES, NEGATIVE } from "../pairing/lane-multiples.js";
import { LINE_ENTRY_BYTES } from "../pairing/miller-steps.js";
import type { PairingModule } from "../pairing/pairing-module.js";
import { COEFFICIENTS } from "../pairing/target-field.js";
import { scratchBytesFor } from "../wasm/scratch-bytes.js";
import { TrialField } from "./trial-memory.js";
import type { KernelCall, RandomBelow, TrialMemory, WideTrial } from "./trial-memory.js";

interface PairingTrialOptions {
  readonly curve: CurveParameters;
  readonly layout: PairingModule;
}

/** Calls of a short kernel in a trial, so that it can be timed. */
const REPEATS = 16;
/** More where V8 must see short functions, which it optimises after so many calls, often enough. */
const MANY_REPEATS = 64;
const CYCLOTOMIC_REPEATS = 256;
/** An odd number: where two points are handled at once, one is left. */
const POINTS = 35;
const LINES = 3;
/** Elements whose roots are computed: one more than four at a time. */
const ROOTS = 5;
const LANES_MAX = 4;
/** Windows of digits: enough for all digits to occur; some are empty. */
const WINDOWS = 12;
const EMPTY_EVERY = 8n;
const EXTREME_EVERY = 4n;
const WORD_BYTES = 4;

/** Returns the trials of the kernels that `buildWidePairingModule` defines. */
export function pairingTrials(
  trialMemory: TrialMemory,
  options: PairingTrialOptions,
  random: RandomBelow,
): WideTrial[] {
  const inputs = new PairingInputs(trialMemory, options, random);
  return [
    ...stepTrials(inputs, options.layout),
    ...affineTrials(inputs, options.layout),
    multiplesTrial(inputs, options.layout, random),
    rootTrial(inputs, options.layout),
    ...targetTrials(inputs),
  ];
}

function targetTrials(inputs: PairingInputs): WideTrial[] {
  const [target, a, b] = [0, 0, 0].map(() => inputs.blocks(COEFFICIENTS)) as [Region, Region, Region];
  const repeated = (kernel: string, ...operands: readonly Region[]): WideTrial =>
    inputs.trial(kernel, target, (call) => {
      for (let i = 0; i < REPEATS; i += 1) call(kernel, target.address, ...operands.map(({ address }) => address));
    });
  return [
    repeated("gt_mul", a, b),
    repeated("gt_square", a),
    inputs.trial("gt_cyclotomic_square", target, (call) => {
      call("gt_cyclotomic_square", target.address, CYCLOTOMIC_REPEATS);
    }),
  ];
}

function stepTrials(inputs: PairingInputs, { blockBytes }: PairingModule): WideTrial[] {
  const [point, other, line, factors] = [3, 2, 3, 2].map((count) => inputs.blocks(count)) as [
    Region,
    Region,
    Region,
    Region,
  ];
  // The value and the spare: products go from one to the other.
  const values = inputs.blocks(2 * COEFFICIENTS);
  const [value, spare] = [values.address, values.address + COEFFICIENTS * blockBytes];
  const lines = Array.from({ length: LINES }, () => ({ line: inputs.blocks(2), point: inputs.blocks(2) }));
  const table = inputs.take(LINES * LINE_ENTRY_BYTES);
  const repeated =
    (run: (call: KernelCall) => void, repeats = REPEATS) =>
    (call: KernelCall) => {
      for (let i = 0; i < repeats; i += 1) run(call);
    };
  return [
    inputs.trial(
      "gt_mul_line",
      values,
      repeated((call) => {
        call("gt_mul_line", spare, value, line.address, factors.address);
        call("gt_mul_line", value, spare, line.address, factors.address);
      }),
    ),
    inputs.trial(
      "gt_mul_divided_lines",
      values,
      repeated((call) => {
        inputs.writeWords(
          table,
          lines.flatMap((each) => [each.line.address, each.point.address]),
        );
        call("gt_mul_divided_lines", value, spare, table, LINES);
      }),
    ),
    ...(["g2_double_step", "g2_add_step"] as const).map((kernel) =>
      inputs.trial(
        kernel,
        point,
        repeated((call) => {
          call(kernel, point.address, ...(kernel === "g2_add_step" ? [other.address] : []), line.address);
        }, MANY_REPEATS),
        line,
      ),
    ),
  ];
}

function affineTrials(inputs: PairingInputs, layout: PairingModule): WideTrial[] {
  const { blockBytes, recordBytes } = layout;
  const stride = 2 * blockBytes;
  const records = inputs.records(POINTS, recordBytes);
  const points = inputs.blocks(2 * POINTS);
  const lines = inputs.blocks(2 * POINTS);
  const scratch = inputs.take(scratchBytesFor(layout.lineScratch, POINTS));
  return [
    inputs.trial(
      "g2_lines_double",
      records,
      (call) => {
        call("g2_lines_double", records.address, lines.address, stride, scratch, POINTS);
      },
      lines,
    ),
    inputs.trial(
      "g2_lines_add",
      records,
      (call) => {
        call("g2_lines_add", records.address, points.address, lines.address, stride, scratch, POINTS);
      },
      lines,
    ),
  ];
}

/** The three kernels that have a parameter for each lane, by the name of the longest. */
function multiplesTrial(inputs: PairingInputs, { elementBytes }: PairingModule, random: RandomBelow): WideTrial {
  const points = inputs.elements(2 * LANES_MAX);
  const results = inputs.elements(3 * LANES_MAX);
  const tables = Array.from({ length: LANES_MAX }, () => inputs.take((MULTIPLES + 1) * 3 * elementBytes));
  const accumulator = inputs.take(3 * LANES_MAX * elementBytes);
  const [table, places] = [inputs.take(LANES_MAX * WORD_BYTES), inputs.take(2 * WINDOWS * LANES_MAX)];
  // A window without digits is skipped, whose infinities would change the coordinates but not the points: so all lanes
  // have digits, or none has.
  const isEmpty = Array.from({ length: 2 * WINDOWS }, () => random(EMPTY_EVERY) === 0n);
  const digits = Array.from({ length: LANES_MAX }, () =>
    isEmpty.map((none) => (none ? 0 : (1 + Number(random(BigInt(MULTIPLES)))) | (Number(random(2n)) * NEGATIVE))),
  );
  return inputs.trial("g1_lane_accumulate", results, (call, lanes) => {
    for (let first = 0; first < LANES_MAX; first += lanes) {
      const own = Array.from({ length: lanes }, (_, lane) => first + lane);
      const [toTables, fromPoints, toResults] = [
        own.map((i) => tables[i] ?? 0),
        own.map((i) => points.address + i * 2 * elementBytes),
        own.map((i) => results.address + i * 3 * elementBytes),
      ] as const;
      call("g1_lane_tables", ...toTables, ...fromPoints, accumulator);
      inputs.writeWords(table, toTables);
      inputs.writeBytes(
        places,
        Array.from({ length: 2 * WINDOWS }, (_, i) => own.map((j) => digits[j]?.[i] ?? 0)).flat(),
      );
      call("g1_lane_accumulate", accumulator, table, 1, places, WINDOWS);
      call("g1_lane_points", ...toResults, accumulator);
    }
  });
}

function rootTrial(inputs: PairingInputs, layout: PairingModule): WideTrial {
  const elements = inputs.elements(ROOTS);
  const scratch = inputs.take(layout.rootScratchBytes);
  return inputs.trial("fq_root_powers", elements, (call) => {
    call("fq_root_powers", elements.address, ROOTS, scratch);
  });
}

/** A part of the memory that has inputs, answers or both. */
interface Region {
  readonly address: number;
  readonly bytes: number;
}

/** Inputs that are written before every trial. */
class PairingInputs {
  readonly #memory: TrialMemory;
  readonly #layout: PairingModule;
  readonly #field: TrialField;
  readonly #coefficient: () => bigint;
  /** Bytes of all inputs, as they were written. */
  readonly #written: { readonly address: number; readonly limbs: readonly number[] }[] = [];

  constructor(memory: TrialMemory, { curve, layout }: PairingTrialOptions, random: RandomBelow) {
    this.#memory = memory;
    this.#layout = layout;
    this.#field = new TrialField(curve.q);
    const extremes = this.#field.extremes();
    this.#coefficient = () =>
      random(EXTREME_EVERY) === 0n ? (extremes[Number(random(BigInt(extremes.length)))] ?? 0n) : random(curve.q);
  }

  /** Takes room for what kernels leave. */
  take(bytes: number): number {
    return this.#memory.arena.take(bytes);
  }

  /** Takes blocks: the limbs of two coefficients side by side. */
  blocks(count: number): Region {
    const { blockBytes } = this.#layout;
    const region = { address: this.take(count * blockBytes), bytes: count * blockBytes };
    for (let i = 0; i < count; i += 1) this.#block(region.address + i * blockBytes);
    return region;
  }

  /** Takes records of points: two blocks and a flag, which is 0. */
  records(count: number, recordBytes: number): Region {
    const region = { address: this.take(count * recordBytes), bytes: count * recordBytes };
    for (let i = 0; i < count; i += 1) {
      const record = region.address + i * recordBytes;
      for (const offset of [0, this.#layout.blockBytes]) this.#block(record + offset);
      this.#written.push({ address: record + 2 * this.#layout.blockBytes, limbs: [0, 0] });
    }
    return region;
  }

  /** Takes elements of Fq, one after the other. */
  elements(count: number): Region {
    const { elementBytes } = this.#layout;
    const region = { address: this.take(count * elementBytes), bytes: count * elementBytes };
    for (let i = 0; i < count; i += 1)
      this.#written.push({
        address: region.address + i * elementBytes,
        limbs: this.#field.limbsOf(this.#coefficient()),
      });
    return region;
  }

  writeWords(address: number, words: readonly number[]): void {
    this.#memory.words.set(words, address / WORD_BYTES);
  }

  writeBytes(address: number, bytes: readonly number[]): void {
    new Uint8Array(this.#memory.memory.buffer).set(bytes, address);
  }

  /** Returns a trial whose answers are in those regions. */
  trial(kernel: string, first: Region, run: WideTrial["run"], ...others: readonly Region[]): WideTrial {
    const regions = [first, ...others];
    const answers = (): number[] =>
      regions.flatMap(({ address, bytes }) => this.#memory.readLimbs(address, bytes / Float64Array.BYTES_PER_ELEMENT));
    const prepare = (): void => {
      for (const { address, limbs } of this.#written) this.#memory.writeLimbs(address, limbs);
    };
    return {
      kernel,
      isComposed: true,
      prepare,
      run,
      isRight: (onTwo) => {
        const given = answers();
        prepare();
        run(onTwo, 2);
        // A number that is none is never right.
        return answers().every((answer, i) => answer === given[i]);
      },
    };
  }

  #block(address: number): void {
    const [low, high] = [0, 0].map(() => this.#field.limbsOf(this.#coefficient())) as [number[], number[]];
    this.#written.push({ address, limbs: low.flatMap((limb, j) => [limb, high[j] ?? 0]) });
  }
}
