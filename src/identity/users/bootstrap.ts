/**
 * The first administrator: by a one-use token in a private file that the first start of an empty store leaves for the
 * operator, or by `proofwright create-admin` on a stopped server. Never by a default password, never by being first to
 * sign up.
 */
import { createOpaqueToken, opaqueTokenHash } from "../../platform/auth/opaque-token.js";
import type { Clock } from "../../platform/clock.js";
import { AppError } from "../../platform/errors.js";
import { replacePrivateFile } from "../../platform/files/private-file.js";
import type { Store, StoreCommit } from "../../platform/store/store.js";
import { ExpiringRecords, type Expiring } from "../oauth/expiring-records.js";
import type { IdentityRepository } from "../repository.js";

export interface BootstrapDependencies {
  readonly store: Store;
  readonly repository: IdentityRepository;
  readonly clock: Clock;
}

const LIFE_MS = 60 * 60 * 1000;
const PAGE = { page: 1, rpp: 1 };

export class Bootstrap {
  readonly #store: Store;
  readonly #repository: IdentityRepository;
  readonly #clock: Clock;
  readonly #tokens: ExpiringRecords<Expiring>;

  constructor(dependencies: BootstrapDependencies) {
    this.#store = dependencies.store;
    this.#repository = dependencies.repository;
    this.#clock = dependencies.clock;
    this.#tokens = new ExpiringRecords({ table: "bootstrap_token" }, dependencies);
  }

  /**
   * Leaves a token in a file of mode 0600 when there is no user at all. True when it did. The token is in the file and
   * nowhere else.
   */
  async offer(path: string): Promise<boolean> {
    if (this.#repository.listUsers(PAGE).total > 0) return false;
    const token = createOpaqueToken("bootstrap");
    await this.#store.commit({
      ...this.#tokens.insertCommit(token.hash, { expires_at_ms: this.#clock.nowMs() + LIFE_MS }),
      deletePrefixes: [["bootstrap_token"]],
    });
    await replacePrivateFile(path, Buffer.from(`${token.text}\n`, "utf8"));
    return true;
  }

  /** What uses the token up in the commit that makes the administrator. Throws `unauthorized`. */
  useCommit(text: string): StoreCommit {
    const hash = opaqueTokenHash("bootstrap", text);
    const record = hash === undefined ? undefined : this.#tokens.find(hash);
    if (record === undefined) throw new AppError("unauthorized", { message: "unauthorized" });
    return this.#tokens.deleteCommit(record);
  }
}
