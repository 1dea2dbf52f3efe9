/** What tests of cluster stores stand on: one real PostgreSQL a file, stores closed after each test, folders that go at the end. */
import { afterAll, afterEach, beforeAll } from "vitest";
import type { DurableStore } from "../../src/platform/store/lmdb/lmdb-store.js";
import { Postgres } from "./postgres.js";
import { newFolder, removeFolder } from "./temporary-folder.js";

export class StoreGround {
  readonly #name: string;
  readonly #folders: string[] = [];
  #stores: DurableStore[] = [];
  #postgres: Postgres | undefined;

  /** To be called where a test file's hooks are set. */
  constructor(name: string) {
    this.#name = name;
    beforeAll(async () => {
      this.#postgres = await Postgres.start();
    });
    afterEach(async () => {
      await this.closeStores();
    });
    afterAll(async () => {
      await this.#postgres?.dispose();
      for (const folder of this.#folders) removeFolder(folder);
    });
  }

  get postgres(): Postgres {
    if (this.#postgres === undefined) throw new Error("PostgreSQL is started before the first test");
    return this.#postgres;
  }

  folder(): string {
    const made = newFolder(this.#name);
    this.#folders.push(made);
    return made;
  }

  /** Has a store closed after the test. */
  keep<Kept extends DurableStore>(store: Kept): Kept {
    this.#stores.push(store);
    return store;
  }

  async closeStores(): Promise<void> {
    const stores = this.#stores;
    this.#stores = [];
    for (const store of stores) await store.close();
  }
}
