/** Lists that the server answers in pages, as one sequence. */

export interface Page<T> {
  readonly items: T[];
  /** Results over all pages. */
  readonly total: number;
}

export interface PageChoice {
  /** 1-based. */
  readonly page?: number;
  /** Results per page, 100 at most. */
  readonly rpp?: number;
}

const RPP_MAX = 100;

/** A list that asks for its pages when they are needed: `for await`, one page, or all. */
export class Pages<T> implements AsyncIterable<T> {
  readonly #read: (choice: Required<PageChoice>) => Promise<Page<T>>;

  constructor(read: (choice: Required<PageChoice>) => Promise<Page<T>>) {
    this.#read = read;
  }

  /** Returns one page and how many results there are. */
  async page({ page = 1, rpp = 25 }: PageChoice = {}): Promise<Page<T>> {
    return await this.#read({ page, rpp });
  }

  /** Returns all results; each that is deleted meanwhile may hide another one, which moves up by a place. */
  async all(): Promise<T[]> {
    const items: T[] = [];
    for await (const item of this) items.push(item);
    return items;
  }

  /** Yields all results, page by page. */
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for (let page = 1; ; page += 1) {
      const { items, total } = await this.#read({ page, rpp: RPP_MAX });
      yield* items;
      if (items.length === 0 || page * RPP_MAX >= total) return;
    }
  }
}
