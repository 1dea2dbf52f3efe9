/** A registry with a prover of a universal scheme and a proof of it, as the tests of each scheme begin. */
import { readFileSync } from "node:fs";
import type { CreateProver, Prover, ProveResult } from "../../src/prover/schemas.js";
import { subject } from "../vault/support.js";
import { CUBIC, never, openTestRegistry, principalOf, provision, type TestRegistry } from "./support.js";

export const INPUTS = { X: "3", Y: "35" };

type Scheme = "plonk" | "fflonk";

interface Opened {
  readonly test: TestRegistry;
  readonly prover: Prover;
}

/** Two outputs, so that a proof has more than one public signal. The names are other spellings. */
export function twoOutputs(scheme: Scheme): CreateProver {
  return {
    source:
      "pragma circom 2.0.0; template M() { signal input a; signal input b; signal output c; signal output d; c <== a * b; d <== a + b; } component main = M();",
    proving_scheme: scheme.toUpperCase(),
    curve: "bn128",
  };
}

/** Returns the proof with another digit at this place. */
export function changed(hex: string, digit: number): string {
  return `${hex.slice(0, digit)}${hex[digit] === "1" ? "2" : "1"}${hex.slice(digit + 1)}`;
}

export class UniversalProver {
  readonly owner = subject();
  readonly #scheme: Scheme;
  #opened: Opened | undefined;

  constructor(scheme: Scheme) {
    this.#scheme = scheme;
  }

  /** Opens the registry, provisions the prover and proves once with it. */
  async open(): Promise<Opened & { readonly made: ProveResult }> {
    const test = await openTestRegistry();
    const prover = await provision(test.provers, this.owner, { ...CUBIC, proving_scheme: this.#scheme });
    this.#opened = { test, prover };
    return { test, prover, made: await this.prove() };
  }

  async close(): Promise<void> {
    await this.#opened?.test.close();
  }

  async prove(inputs: object = INPUTS, format?: "snarkjs" | "solidity"): Promise<ProveResult> {
    const { test, prover } = this.#required;
    return await test.provers.prove(this.owner, prover.id, { inputs, format, signal: never });
  }

  async verify(item: object, id = this.#required.prover.id): Promise<boolean> {
    const { provers } = this.#required.test;
    return await provers.verify(principalOf(this.owner), id, { item, store: false, signal: never });
  }

  async artifact(name: string, id = this.#required.prover.id): Promise<Buffer> {
    return readFileSync((await this.#required.test.provers.artifact(this.owner, id, name)).path);
  }

  get #required(): Opened {
    if (this.#opened === undefined) throw new Error("the prover is not open");
    return this.#opened;
  }
}
