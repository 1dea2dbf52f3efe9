/** A discrete-event simulation: processes that take time and wait for resources, on a clock of its own. */

/** What a process does next: let time pass, or take one of a resource's places and keep it until it is released. */
export type Step = { readonly ms: number } | { readonly take: Resource };
export type Process = Generator<Step, void>;

interface Event {
  readonly atMs: number;
  readonly order: number;
  readonly process: Process;
}

/** Places that processes take in the order of their asking. */
export class Resource {
  readonly waiting: Process[] = [];
  free: number;

  /** @param places Infinity for a resource that nobody waits for */
  constructor(places: number) {
    this.free = places;
  }
}

export class Simulation {
  #nowMs = 0;
  #order = 0;
  /** A binary heap by time, then by the order of scheduling. */
  readonly #events: Event[] = [];

  /** Time since the start. */
  get nowMs(): number {
    return this.#nowMs;
  }

  /** Starts a process at the present time. */
  start(process: Process): void {
    this.#schedule(0, process);
  }

  /** Gives a place back; whoever has waited longest gets it. */
  release(resource: Resource): void {
    const next = resource.waiting.shift();
    if (next === undefined) resource.free += 1;
    else this.#schedule(0, next);
  }

  /** Runs all processes up to a time. */
  run(untilMs: number): void {
    for (;;) {
      const event = this.#events[0];
      if (event === undefined || event.atMs > untilMs) return;
      this.#removeFirst();
      this.#nowMs = event.atMs;
      this.#advance(event.process);
    }
  }

  #advance(process: Process): void {
    const { value, done } = process.next();
    if (done === true) return;
    if ("ms" in value) {
      this.#schedule(value.ms, process);
      return;
    }
    const { take } = value;
    if (take.free > 0) {
      take.free -= 1;
      this.#schedule(0, process);
      return;
    }
    take.waiting.push(process);
  }

  #schedule(delayMs: number, process: Process): void {
    const events = this.#events;
    events.push({ atMs: this.#nowMs + delayMs, order: (this.#order += 1), process });
    for (let at = events.length - 1; at > 0;) {
      const parent = (at - 1) >> 1;
      if (!isBefore(events[at], events[parent])) return;
      this.#swap(at, parent);
      at = parent;
    }
  }

  #removeFirst(): void {
    const events = this.#events;
    this.#swap(0, events.length - 1);
    events.pop();
    for (let at = 0; ;) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      const child = isBefore(events[right], events[left]) ? right : left;
      if (!isBefore(events[child], events[at])) return;
      this.#swap(at, child);
      at = child;
    }
  }

  #swap(a: number, b: number): void {
    const [first, second] = [this.#events[a], this.#events[b]];
    if (first === undefined || second === undefined) return;
    this.#events[a] = second;
    this.#events[b] = first;
  }
}

function isBefore(a: Event | undefined, b: Event | undefined): boolean {
  if (a === undefined || b === undefined) return a !== undefined && b === undefined;
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}
