/**
 * The witness programs that a thread has compiled, by the hash of the program: with our field routines where its own
 * are known and ours agree with them, and as circom made it where that is asked for.
 */
import { randomBytes } from "node:crypto";
import { LRUCache } from "lru-cache";
import { curveNamed } from "../../curves/curves.js";
import type { CurveName } from "../../curves/curve-parameters.js";
import { knownRoutines, replaced, withRoutineExports } from "./faster-program.js";
import { withMemoryImport } from "./memory-import.js";
import { useOutsideMemory, type MemoryLimits } from "../program-memory.js";
import { ModuleFormError, readModuleParts, type ModuleParts } from "./module-sections.js";
import { areFasterRoutinesOn, discardFasterRoutines } from "./routine-use.js";
import { findRoutineFault, type RandomBelow } from "./routine-trial.js";

export interface StoredProgram {
  /** Hex. */
  readonly sha256: string;
  readonly bytes: SharedArrayBuffer;
}

export interface OpenProgram {
  readonly module: WebAssembly.Module;
  /** Whether it runs on our routines. */
  readonly isFaster: boolean;
  /** Of a program that takes its memory from outside. */
  readonly memory?: MemoryLimits;
}

/** Rounds of the trial that a thread makes with the first program of a curve, some milliseconds. */
const TRIAL_ROUNDS = 20;

export class WitnessPrograms {
  readonly #compiled: LRUCache<string, OpenProgram>;
  readonly #plain: LRUCache<string, WebAssembly.Module>;
  readonly #tried = new Set<CurveName>();

  constructor({ max }: { readonly max: number }) {
    this.#compiled = new LRUCache({ max });
    this.#plain = new LRUCache({ max });
  }

  /** Returns a program on our routines where that is possible and nothing speaks against them. */
  async open(program: StoredProgram): Promise<OpenProgram> {
    const wantsFaster = areFasterRoutinesOn();
    const known = this.#compiled.get(program.sha256);
    if (known !== undefined && (wantsFaster || !known.isFaster)) return known;
    const opened = (wantsFaster ? await this.#openFaster(program) : undefined) ?? {
      module: await this.openPlain(program),
      isFaster: false,
    };
    this.#compiled.set(program.sha256, opened);
    return opened;
  }

  /** Returns a program as circom made it. */
  async openPlain({ sha256, bytes }: StoredProgram): Promise<WebAssembly.Module> {
    const known = this.#plain.get(sha256);
    if (known !== undefined) return known;
    // WebAssembly takes no shared memory, so the program is copied.
    const module = await WebAssembly.compile(new Uint8Array(bytes).slice());
    this.#plain.set(sha256, module);
    return module;
  }

  async #openFaster({ bytes }: StoredProgram): Promise<OpenProgram | undefined> {
    const parts = orUndefined(() => readModuleParts(new Uint8Array(bytes)));
    const curve = parts === undefined ? undefined : knownRoutines(parts);
    if (parts === undefined || curve === undefined) return undefined;
    if (!this.#tried.has(curve)) {
      if (isFaulty(parts, curve)) {
        discardFasterRoutines();
        return undefined;
      }
      this.#tried.add(curve);
    }
    const imported = orUndefined(() => withMemoryImport(parts));
    const module = await WebAssembly.compile(replaced(imported?.parts ?? parts, curve));
    if (imported === undefined) return { module, isFaster: true };
    useOutsideMemory(module, imported.limits);
    return { module, isFaster: true, memory: imported.limits };
  }
}

/** Undefined for a module of another form than circom's. */
function orUndefined<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof ModuleFormError) return undefined;
    throw error;
  }
}

/** Whether our routines answer differently here than those that they replace, on random and extreme operands. */
function isFaulty(parts: ModuleParts, curve: CurveName): boolean {
  const [own, faster] = [withRoutineExports(parts), replaced(parts, curve, { exports: true })].map(
    (wasm) => new WebAssembly.Module(wasm),
  ) as [WebAssembly.Module, WebAssembly.Module];
  return (
    findRoutineFault({ own, faster, curve: curveNamed(curve), random: randomBelow, rounds: TRIAL_ROUNDS }) !== undefined
  );
}

const randomBelow: RandomBelow = (limit) => BigInt(`0x${randomBytes(48).toString("hex")}`) % limit;
