/**
 * Tells when a prover's provisioning has ended, from the log of events: each end is committed there once, wherever it
 * came from.
 */
import { parseSubject, type Subject } from "../platform/auth/principal.js";
import type { EventLog, LoggedEvent } from "../platform/events/event-log.js";
import type { ProverOutcome } from "../platform/metrics.js";

export interface ProverOutcomesDependencies {
  readonly events: Pick<EventLog, "head" | "after" | "onAppend">;
  /** Returns when a prover was created, ISO 8601. Throws when it is deleted already. */
  readonly createdAt: (owner: Subject, id: string) => string;
  readonly onEnded: (outcome: ProverOutcome, prover: EndedProver) => void;
}

/** The owner is undefined for an event that is for others. */
interface EndedProver {
  readonly owner: Subject | undefined;
  readonly id: string;
}

const OUTCOMES: ReadonlyMap<string, ProverOutcome["outcome"]> = new Map([
  ["privacy.prover.setup.complete", "provisioned"],
  ["privacy.prover.setup.failed", "failed"],
]);
/** What the provers' events say, among other things. */
type SetupPayload = { readonly prover_id: string; readonly proving_scheme: string };

/** Events per turn of the event loop, 10 us each. */
const PAGE = 64;

export class ProverOutcomes {
  readonly #with: ProverOutcomesDependencies;
  #last = 0;
  #turn: NodeJS.Immediate | undefined;
  #stopListening: (() => void) | undefined;

  constructor(dependencies: ProverOutcomesDependencies) {
    this.#with = dependencies;
  }

  /** Counts what ends from now on. */
  start(): void {
    this.#last = this.#with.events.head();
    this.#stopListening = this.#with.events.onAppend(() => {
      this.#wake();
    });
  }

  /** Counts nothing more. */
  stop(): void {
    this.#stopListening?.();
    clearImmediate(this.#turn);
  }

  #wake(): void {
    this.#turn ??= setImmediate(() => {
      this.#turn = undefined;
      this.#readPage();
    });
  }

  #readPage(): void {
    const page = this.#with.events.after(this.#last, PAGE);
    for (const event of page) {
      this.#last = event.number;
      const outcome = event.subjects.map((subject) => OUTCOMES.get(subject)).find((found) => found !== undefined);
      if (outcome !== undefined) this.#count(outcome, event);
    }
    if (page.length === PAGE) this.#wake();
  }

  #count(outcome: ProverOutcome["outcome"], event: LoggedEvent): void {
    const { prover_id: id, proving_scheme: scheme } = event.payload as SetupPayload;
    const owner = ownerOf(event);
    const seconds = this.#secondsOf({ owner, id }, event);
    this.#with.onEnded({ outcome, provingScheme: scheme, seconds }, { owner, id });
  }

  #secondsOf({ owner, id }: EndedProver, { at }: LoggedEvent): number | undefined {
    if (owner === undefined) return undefined;
    try {
      return (Date.parse(at) - Date.parse(this.#with.createdAt(owner, id))) / 1000;
    } catch {
      // It was deleted meanwhile.
      return undefined;
    }
  }
}

function ownerOf({ to }: LoggedEvent): Subject | undefined {
  return typeof to === "string" ? undefined : to.map(parseSubject).find((found) => found !== undefined);
}
