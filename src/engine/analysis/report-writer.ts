/** Puts what an analysis knows of wires into words: paths, templates and lines, bounded in number. */
import { UNIQUE, CONDITIONAL } from "./knowledge.js";
import type { AnalysisReport, ReportedCondition, ReportedSignal, WitnessPair } from "./analysis-report.js";
import { signed } from "./bound-rules.js";
import type { ComponentSources } from "./component-sources.js";
import type { LinearForm } from "./constraint-system.js";
import type { Propagated } from "./propagation.js";
import type { SignalTable } from "./signal-table.js";

interface ReportSubject {
  readonly table: SignalTable;
  readonly places: ComponentSources;
  readonly prime: bigint;
  readonly inert: ReadonlySet<number>;
  readonly propagated: Propagated;
}

/** Outputs and internal signals that are listed; the counts are of all. */
export const OUTPUTS_LISTED_MAX = 64;
export const INTERNAL_LISTED_MAX = 20;
export const CONDITIONS_LISTED_MAX = 20;
export const DIFFERENCES_LISTED_MAX = 50;
export const INPUTS_LISTED_MAX = 200;
const TERMS_LISTED_MAX = 6;
/** Paths and texts are cut to this length. */
export const NAME_CHARACTERS_MAX = 400;

export class ReportWriter {
  readonly #about: ReportSubject;
  readonly #outputs: ReadonlySet<number>;

  constructor(about: ReportSubject) {
    this.#about = about;
    this.#outputs = new Set(about.table.outputs);
  }

  /** Returns what is known of the signals, and under which conditions. */
  states(): Pick<AnalysisReport, "counts" | "signals" | "conditions" | "condition_count"> {
    const { table, inert, propagated } = this.#about;
    const inputs = new Set(table.inputs);
    let [determined, conditional, open] = [0, 0, 0];
    const listed: number[] = [];
    propagated.knowledge.states.forEach((state, wire) => {
      if (wire === 0 || inputs.has(wire) || inert.has(wire)) return;
      if (state === UNIQUE) determined += 1;
      else {
        if (state === CONDITIONAL) conditional += 1;
        else open += 1;
        listed.push(wire);
      }
    });
    const outputs = listed.filter((wire) => this.#outputs.has(wire)).slice(0, OUTPUTS_LISTED_MAX);
    const internal = listed.filter((wire) => !this.#outputs.has(wire));
    // Open before conditional: that is where the proof ends.
    internal.sort((left, right) => this.#stateOf(left) - this.#stateOf(right) || left - right);
    const guards = propagated.guards.filter(({ wire }) => !inert.has(wire));
    return {
      counts: { inputs: inputs.size, determined, conditional, open, without_effect: inert.size },
      signals: [...outputs, ...internal.slice(0, INTERNAL_LISTED_MAX)].map((wire) => this.#signal(wire)),
      conditions: guards.slice(0, CONDITIONS_LISTED_MAX).map(({ wire, denominator }): ReportedCondition => ({
        denominator: this.#formText(denominator),
        signal: this.#signal(wire),
      })),
      condition_count: guards.length,
    };
  }

  /** Returns the values in which two witnesses of the same inputs differ. */
  pair(pair: {
    readonly first: readonly bigint[];
    readonly second: readonly bigint[];
    readonly differsInOutput: boolean;
  }): WitnessPair {
    const { table, inert } = this.#about;
    const differing: number[] = [];
    pair.first.forEach((value, wire) => {
      if (value !== pair.second[wire] && !inert.has(wire)) differing.push(wire);
    });
    differing.sort((left, right) => Number(this.#outputs.has(right)) - Number(this.#outputs.has(left)) || left - right);
    return {
      differs: pair.differsInOutput ? "output" : "internal",
      inputs: Object.fromEntries(
        table.inputs
          .slice(0, INPUTS_LISTED_MAX)
          .map((wire) => [this.#nameOf(wire), (pair.first[wire] ?? 0n).toString()]),
      ),
      signals: differing.slice(0, DIFFERENCES_LISTED_MAX).map((wire) => {
        const { state: _state, ...signal } = this.#signal(wire);
        return { ...signal, values: [(pair.first[wire] ?? 0n).toString(), (pair.second[wire] ?? 0n).toString()] };
      }),
      signalCount: differing.length,
    };
  }

  #stateOf(wire: number): number {
    return this.#about.propagated.knowledge.states[wire] ?? 0;
  }

  #nameOf(wire: number): string {
    return (this.#about.table.names[wire] ?? `wire ${String(wire)}`).slice(0, NAME_CHARACTERS_MAX);
  }

  #signal(wire: number): ReportedSignal {
    const name = this.#about.table.names[wire];
    return {
      name: this.#nameOf(wire),
      role: this.#outputs.has(wire) ? "output" : "internal",
      state: this.#stateOf(wire) === CONDITIONAL ? "conditional" : "open",
      ...(name === undefined ? {} : this.#about.places.placeOf(name)),
    };
  }

  #formText({ wires, coefficients }: LinearForm): string {
    const terms = wires.slice(0, TERMS_LISTED_MAX).map((wire, i) => {
      const value = signed(coefficients[i] ?? 0n, this.#about.prime);
      const size = value < 0n ? -value : value;
      const name = wire === 0 ? size.toString() : this.#nameOf(wire);
      return { isNegative: value < 0n, text: wire === 0 || size === 1n ? name : `${size.toString()} * ${name}` };
    });
    const text = terms.map(({ isNegative, text: term }, i) =>
      i === 0 ? `${isNegative ? "-" : ""}${term}` : ` ${isNegative ? "-" : "+"} ${term}`,
    );
    return `${text.join("")}${wires.length > TERMS_LISTED_MAX ? " + ..." : ""}`;
  }
}
