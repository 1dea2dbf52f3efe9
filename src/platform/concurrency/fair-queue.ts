/**
 * The order of waiting work: owners take turns, and each owner's work is first come, first served. The owner with the
 * least running work goes first, so that while others wait nobody keeps more places than they have. Used by every lane
 * (pool/lane.ts), by the durable jobs and by the vault's threads.
 *
 * Nothing here runs or waits; the caller adds, takes and releases. Everything is in memory: a limit of one process.
 */

/** Work in the queue; what `add` returned is what `remove` takes. */
export interface Place<Item> {
  readonly owner: string;
  readonly item: Item;
}

export interface Admission<Item> {
  /** Undefined when the queue is full. */
  readonly place: Place<Item> | undefined;
  /** The work of another owner that left the queue to make room. */
  readonly displaced?: Place<Item>;
}

interface Link<Item> extends Place<Item> {
  previous: Link<Item> | undefined;
  next: Link<Item> | undefined;
  isWaiting: boolean;
}

/** One owner's waiting work. A linked list: an abort takes work out of the middle. */
interface Line<Item> {
  first: Link<Item> | undefined;
  last: Link<Item> | undefined;
  length: number;
}

/** An owner whose waiting line is longer than another's by this much gives up its newest work when there is no room. */
const DISPLACED_LEAD = 2;
/** An owner with this much more running work than one that waits holds more than its share. */
const SHARE_LEAD = 2;

export class FairQueue<Item> {
  readonly #lengthMax: number;
  /** Owners with waiting work, in the order of their turns; an owner without is not in it. */
  readonly #lines = new Map<string, Line<Item>>();
  /** Running work by owner; an owner without is not in it. */
  readonly #running = new Map<string, number>();
  #length = 0;

  /** @param options.lengthMax work that may wait; unlimited by default */
  constructor(options: { readonly lengthMax?: number } = {}) {
    this.#lengthMax = options.lengthMax ?? Infinity;
  }

  /** Work that waits. */
  get length(): number {
    return this.#length;
  }

  /** Owners with work that waits or runs. */
  get owners(): number {
    return new Set([...this.#lines.keys(), ...this.#running.keys()]).size;
  }

  /** Owners with work that runs. */
  get ownersRunning(): number {
    return this.#running.size;
  }

  /** Returns how much work of an owner waits. */
  waitingOf(owner: string): number {
    return this.#lines.get(owner)?.length ?? 0;
  }

  /** Returns how much work of an owner runs. */
  runningOf(owner: string): number {
    return this.#running.get(owner) ?? 0;
  }

  /**
   * Lets work wait behind the owner's other work. In a full queue the owner with the most waiting work loses its newest
   * to an owner with clearly less, so that no owner keeps the others out; alone, one owner may use the whole queue.
   * @param options.isFirst lets it wait before the owner's other work: it began once and was put back
   */
  add(owner: string, item: Item, options: { readonly isFirst?: boolean } = {}): Admission<Item> {
    let displaced: Link<Item> | undefined;
    if (this.#length >= this.#lengthMax) {
      displaced = this.#newestOfLongest(this.waitingOf(owner));
      if (displaced === undefined) return { place: undefined };
      this.remove(displaced);
    }
    const place = this.#link(owner, item, options);
    return displaced === undefined ? { place } : { place, displaced };
  }

  /**
   * Returns the work whose turn it is, which then runs until `release`; undefined when none waits.
   * @param mayRun passes over owners whose first work may not run now; all may unless given
   */
  take(mayRun: (item: Item) => boolean = () => true): Place<Item> | undefined {
    let next: Link<Item> | undefined;
    let fewest = Infinity;
    for (const [owner, { first }] of this.#lines) {
      const running = this.runningOf(owner);
      if (running >= fewest || first === undefined || !mayRun(first.item)) continue;
      next = first;
      fewest = running;
      if (running === 0) break;
    }
    if (next === undefined) return undefined;
    const { owner } = next;
    this.remove(next);
    // To the end of the turns.
    const line = this.#lines.get(owner);
    if (line !== undefined) {
      this.#lines.delete(owner);
      this.#lines.set(owner, line);
    }
    this.enter(owner);
    return next;
  }

  /** Counts work of an owner as running that did not wait. */
  enter(owner: string): void {
    this.#running.set(owner, this.runningOf(owner) + 1);
  }

  /** Counts work of an owner as ended; once for each `take` and `enter`. */
  release(owner: string): void {
    const running = this.runningOf(owner) - 1;
    if (running > 0) this.#running.set(owner, running);
    else this.#running.delete(owner);
  }

  /** Takes work out that need not run any more. Returns false when it does not wait. */
  remove(place: Place<Item>): boolean {
    const link = place as Link<Item>;
    const line = this.#lines.get(link.owner);
    if (!link.isWaiting || line === undefined) return false;
    link.isWaiting = false;
    this.#length -= 1;
    line.length -= 1;
    if (link.previous === undefined) line.first = link.next;
    else link.previous.next = link.next;
    if (link.next === undefined) line.last = link.previous;
    else link.next.previous = link.previous;
    if (line.length === 0) this.#lines.delete(link.owner);
    return true;
  }

  /** Returns how much waiting work begins before new work of this owner, at most. */
  aheadOf(owner: string): number {
    const own = this.waitingOf(owner);
    let ahead = own;
    for (const [other, { length }] of this.#lines) if (other !== owner) ahead += Math.min(length, own + 1);
    return ahead;
  }

  /** Returns how much waiting work begins before this, at most: its owner's before it, and as many of each other. */
  aheadOfPlace(place: Place<Item>): number {
    let own = 0;
    for (let link = (place as Link<Item>).previous; link !== undefined; link = link.previous) own += 1;
    let ahead = own;
    for (const [other, { length }] of this.#lines) if (other !== place.owner) ahead += Math.min(length, own + 1);
    return ahead;
  }

  /**
   * Returns the owner with the most running work when that is more than its share: at least two more than an owner has
   * that waits. Undefined when nobody is wronged.
   */
  overdrawn(): string | undefined {
    if (this.#length === 0) return undefined;
    let fewest = Infinity;
    for (const owner of this.#lines.keys()) fewest = Math.min(fewest, this.runningOf(owner));
    let most: string | undefined;
    for (const [owner, running] of this.#running)
      if (running >= fewest + SHARE_LEAD && (most === undefined || running > this.runningOf(most))) most = owner;
    return most;
  }

  #link(owner: string, item: Item, options: { readonly isFirst?: boolean }): Link<Item> {
    const link: Link<Item> = { owner, item, previous: undefined, next: undefined, isWaiting: true };
    this.#length += 1;
    const line = this.#lines.get(owner) ?? { first: undefined, last: undefined, length: 0 };
    if (line.length === 0) this.#lines.set(owner, line);
    line.length += 1;
    if (options.isFirst === true) {
      link.next = line.first;
      line.first = link;
    } else {
      link.previous = line.last;
      line.last = link;
    }
    if (link.previous === undefined) line.first = link;
    else link.previous.next = link;
    if (link.next === undefined) line.last = link;
    else link.next.previous = link;
    return link;
  }

  #newestOfLongest(own: number): Link<Item> | undefined {
    let longest: Line<Item> | undefined;
    for (const line of this.#lines.values())
      if (line.length >= own + DISPLACED_LEAD && line.length > (longest?.length ?? 0)) longest = line;
    return longest?.last;
  }
}
