/**
 * Problems with inputs that came encrypted. Who sends them on need not be who wrote them, so that names which the
 * circuit does not have are not repeated: only its own are known to everybody.
 */
import type { InputProblem } from "../circuit/inputs.js";
import type { CircuitInterface, SignalShape } from "../circuit/interface.js";

const NAMES = /[A-Za-z_$][A-Za-z0-9_$]*/g;
const PATH = /^[A-Za-z0-9_$.[\]]+$/;

/** Returns the problems without names that are not the circuit's. */
export function withoutUnknownNames(circuit: CircuitInterface, problems: readonly InputProblem[]): InputProblem[] {
  const known = new Set(circuit.isUnnamed === true ? [] : circuit.signals.flatMap(namesOf));
  return problems.map((problem) =>
    problem.path === "" || isKnown(problem.path, known)
      ? problem
      : {
          ...problem,
          path: "",
          message: "the encrypted inputs have a member that is none of the circuit, or is wrong",
        },
  );
}

function isKnown(path: string, known: ReadonlySet<string>): boolean {
  return PATH.test(path) && [...path.matchAll(NAMES)].every(([name]) => known.has(name));
}

function namesOf({ name, members = [] }: SignalShape): string[] {
  return [name, ...members.flatMap(namesOf)];
}
