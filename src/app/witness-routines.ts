/** The field routines of witness programs in this process: chosen before threads start, and their end told of. */
import { setEnvironmentData } from "node:worker_threads";
import {
  ROUTINE_STATE_KEY,
  areFasterRoutinesOn,
  newRoutineState,
  useRoutineState,
} from "../engine/circuit/routines/routine-use.js";
import type { Log } from "../platform/log.js";

/** `faster`: ours, where the program's own are known; `circom`: the program as circom made it. */
export type WitnessRoutineMode = "faster" | "circom";

export class WitnessRoutines {
  readonly #log: Log;
  #isTold: boolean;

  constructor({ mode }: { readonly mode: WitnessRoutineMode }, { log }: { readonly log: Log }) {
    const state = newRoutineState(mode === "faster");
    useRoutineState(state);
    setEnvironmentData(ROUTINE_STATE_KEY, state);
    this.#log = log;
    this.#isTold = mode !== "faster";
  }

  /** Says once that a thread found a routine wrong, after the proof, which was made with circom's own routines then. */
  tellEnd(): void {
    if (this.#isTold || areFasterRoutinesOn()) return;
    this.#isTold = true;
    this.#log.error(
      "a witness that was computed with this server's field routines differed from that of circom's own, which all programs run on from now on: report it with the circuit, and set PROOFWRIGHT_WITNESS_ROUTINES=circom until it is solved",
    );
  }
}
