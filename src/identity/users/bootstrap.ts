/**
 * The first administrator. The first start of an empty store leaves a token, good once, in a private file for the
 * operator; on a stopped server `proofwright create-admin` does the same work. There is no default password, and the
 * first user to sign up gets no special rights.
 */
import { createOpaqueToken, opaqueTokenHash } from "../../platform/auth/opaque-token.js";
import { ADMINISTRATOR_PERMISSIONS } from "../../platform/auth/permissions.js";
import type { Subject } from "../../platform/auth/principal.js";
import type { Clock } from "../../platform/clock.js";
import { AppError } from "../../platform/errors.js";
import { replacePrivateFile } from "../../platform/files/private-file.js";
import type { Store, StoreCommit, StoreKey } from "../../platform/store/store.js";
import { mergeCommits, retryOnConflict } from "../../platform/store/tables.js";
import { ExpiringRecords, type Expiring } from "../expiring-records.js";
import type { IdentityRepository } from "../repository.js";
import type { Sessions } from "../tokens/sessions.js";
import type { Tokens } from "../tokens/tokens.js";
import { normalizeEmail } from "./email.js";

export interface BootstrapDependencies {
  readonly store: Store;
  readonly repository: IdentityRepository;
  readonly sessions: Sessions;
  readonly tokens: Tokens;
  readonly clock: Clock;
}

const LIFE_MS = 60 * 60 * 1000;
/** One record of the last offer, so that of nodes that start at once one makes a token. */
const OFFER_KEY: StoreKey = ["bootstrap_offer"];
const PAGE = { page: 1, rpp: 1 };

export class Bootstrap {
  readonly #dependencies: BootstrapDependencies;
  readonly #bootstrapTokens: ExpiringRecords<Expiring>;

  constructor(dependencies: BootstrapDependencies) {
    this.#dependencies = dependencies;
    this.#bootstrapTokens = new ExpiringRecords({ table: "bootstrap_token" }, dependencies);
  }

  /**
   * Writes a token to a file of mode 0600 if there is no user yet. The token is in the file and nowhere else.
   * @param options.isAlone false when other nodes run: the token of one of them stays, as long as it holds
   * @returns false when there is a user, or another node's token, and so none here
   */
  async offer(path: string, { isAlone = true }: { readonly isAlone?: boolean } = {}): Promise<boolean> {
    const { store, repository, clock } = this.#dependencies;
    let isFirst = isAlone;
    const token = await retryOnConflict(async () => {
      if (repository.listUsers(PAGE).total > 0 || (!isFirst && this.#isOffered())) return undefined;
      const expires_at_ms = clock.nowMs() + LIFE_MS;
      const made = createOpaqueToken("bootstrap");
      const offer = store.get(OFFER_KEY);
      isFirst = false;
      await store.commit(
        mergeCommits(this.#bootstrapTokens.insertCommit(made.hash, { expires_at_ms }), {
          checks: [{ key: OFFER_KEY, version: offer?.version ?? "absent" }],
          puts: [{ key: OFFER_KEY, value: { expires_at_ms } }],
          deletePrefixes: [["bootstrap_token"]],
        }),
      );
      return made;
    });
    if (token === undefined) return false;
    await replacePrivateFile(path, Buffer.from(`${token.text}\n`, "utf8"));
    return true;
  }

  #isOffered(): boolean {
    const nowMs = this.#dependencies.clock.nowMs();
    return this.#dependencies.store
      .range<Expiring>(["bootstrap_token"])
      .some(({ value }) => value.expires_at_ms > nowMs);
  }

  /**
   * Returns the commit that uses a token up, for merging into the one that creates the administrator.
   * @throws unauthorized for a token that is unknown, used or expired
   */
  useCommit(text: string): StoreCommit {
    const hash = opaqueTokenHash("bootstrap", text);
    const record = hash === undefined ? undefined : this.#bootstrapTokens.find(hash);
    if (record === undefined) throw new AppError("unauthorized", { message: "unauthorized" });
    return this.#bootstrapTokens.deleteCommit(record);
  }

  /**
   * Gives an existing user every permission and voids its tokens; for `proofwright create-admin`.
   * @throws not_found
   */
  async makeAdministrator(emailText: string): Promise<void> {
    const { repository, sessions, tokens } = this.#dependencies;
    const user = repository.findUserByEmail(normalizeEmail(emailText) ?? "");
    if (user === undefined) throw new AppError("not_found", { message: "there is no user with this address" });
    const subject: Subject = { kind: "user", id: user.value.id };
    await repository.commit(
      mergeCommits(
        repository.updateUserCommit(user, { ...user.value, permissions: ADMINISTRATOR_PERMISSIONS }),
        tokens.voidCommit(subject),
      ),
    );
    await sessions.endDerived(subject);
  }
}
