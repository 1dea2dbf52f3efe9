/**
 * Contributions: takes a key's file from whoever has the lease, has it checked in a process of its own, and makes it
 * the present key in one commit that compares the ceremony's version. Until that commit nothing has happened; after a
 * crash the contributor sends the same file again.
 */
import { formatSubject } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import type { StreamedBody } from "../../platform/contract/streamed-body.js";
import { AppError } from "../../platform/errors.js";
import type { Events } from "../../platform/events/events.js";
import type { Log } from "../../platform/log.js";
import { Lane } from "../../platform/pool/lane.js";
import type { ArtifactReference, Artifacts } from "../../platform/store/artifacts.js";
import { mergeCommits, retryOnConflict } from "../../platform/store/commits.js";
import type { Store, StoreKey, StoreRecord } from "../../platform/store/store.js";
import type { CeremonyCompute, CheckedContribution, SizedFile } from "../compute/ceremony-compute.js";
import { Uploads, type FinishedUpload, type UploadKey } from "../imports/uploads.js";
import { ceremonyEvent } from "../prover-events.js";
import type { SourceFiles } from "../provisioning/source-files.js";
import type { CeremonyAccess } from "./ceremony-access.js";
import type {
  CeremonyPlace,
  CeremonyRecords,
  StoredCeremony,
  StoredContribution,
  StoredParticipant,
} from "./ceremony-records.js";
import type { CeremonyContribution, Statement, StatementBody, UploadState } from "./ceremony-schemas.js";
import { contributionOnWire } from "./ceremony-view.js";
import type { GithubIdentities } from "./statements/github-identities.js";
import { notYourTurn, requireState } from "./refusals.js";
import { githubClaimOf, statementText, verifiedStatement } from "./statements/statements.js";
import { holdLease, leaveQueue, refuseUpload, settleTurns } from "./turns.js";
import { uploadBytesMax } from "./upload-limit.js";

export interface ContributionsDependencies {
  readonly store: Pick<Store, "commit">;
  readonly records: CeremonyRecords;
  readonly access: CeremonyAccess;
  readonly artifacts: Artifacts;
  readonly files: Pick<SourceFiles, "holdFile" | "removeUnused">;
  readonly compute: Pick<CeremonyCompute, "checkContribution">;
  readonly events: Pick<Events, "commitOf">;
  readonly clock: Clock;
  readonly log: Log;
  /** The name under which an owner's work waits for its turn. */
  readonly turnOf: (owner: StoredCeremony["owner"]) => string;
  /** Asked for the keys of those who say who they are on GitHub; their names stay claims without it. */
  readonly github?: Pick<GithubIdentities, "requirePublished"> | undefined;
}

/** What one contribution goes on from. */
interface Turn {
  readonly participant: StoredParticipant;
  readonly ceremony: StoredCeremony;
  readonly head: NonNullable<StoredCeremony["head"]>;
}

export type TakenContribution =
  | { readonly complete: false; readonly upload: UploadState }
  | { readonly complete: true; readonly contribution: CeremonyContribution };

/** One file for each ceremony that is open; each holds a file descriptor. */
const OPEN_UPLOADS_MAX = 64;
/** Ceremonies of one owner to which somebody uploads; all of one owner's must not fill the place of the others. */
const OPEN_UPLOADS_PER_OWNER_MAX = 4;
const IDLE_MS = 3_600_000;
/** A lease lasts so much longer while its upload waits for its check and is checked. */
const CHECK_MS = 900_000;
/** Twice within that time: a commit that fails costs no turn. */
const HOLD_EVERY_MS = CHECK_MS / 3;
/** One check takes all cores. */
const CHECKS = { name: "ceremony", places: 1, queueLengthMax: 32 } as const;

export class Contributions {
  readonly #with: ContributionsDependencies;
  readonly #uploads: Uploads;
  readonly #lane = new Lane(CHECKS);

  /** @param options.uploadBytesMax longest file, whatever the present key's length */
  constructor(options: { readonly uploadBytesMax: number }, dependencies: ContributionsDependencies) {
    this.#with = dependencies;
    const { artifacts, clock } = dependencies;
    const fileBytesMax = options.uploadBytesMax;
    const openPerOwnerMax = OPEN_UPLOADS_PER_OWNER_MAX;
    const bytesPerOwnerMax = openPerOwnerMax * fileBytesMax;
    const limits = { fileBytesMax, bytesPerOwnerMax, openPerOwnerMax, openMax: OPEN_UPLOADS_MAX, idleMs: IDLE_MS };
    this.#uploads = new Uploads(limits, { artifacts, clock });
  }

  /** Returns how many bytes of a participant's upload have come. */
  received(place: CeremonyPlace, participantId: string): number {
    return this.#uploads.received(keyOf(place, participantId));
  }

  /** Drops the uploads to a ceremony, but for those of whoever has the turn. */
  async keepOnly(place: CeremonyPlace, participantId: string | undefined): Promise<void> {
    const kept = participantId === undefined ? undefined : keyOf(place, participantId).proverId;
    const all = keyOf(place, "").proverId;
    const isOver = (uploader: string): boolean => uploader.startsWith(all) && uploader !== kept;
    await this.#uploads.discardWhere(formatSubject(place.owner), isOver);
  }

  /**
   * Drops the uploads to this node whose turn another node has ended, as `keepOnly` does. They count no more when this
   * returns; a file that cannot be removed is removed at the next start.
   * @param keys those of the ceremonies
   */
  follow(keys: readonly StoreKey[]): void {
    const changed = new Set(keys.map((key) => key.at(-1)));
    const isOver = ({ proverId: uploader }: UploadKey): boolean => {
      const [id = "", participantId] = uploader.split("/");
      return changed.has(id) && this.#with.records.findById(id)?.value.lease?.participant_id !== participantId;
    };
    this.#uploads.dropWhere(isOver).catch(() => undefined);
  }

  /** Drops uploads that got no byte for an hour. */
  async sweep(): Promise<void> {
    await this.#uploads.sweep();
  }

  /** Returns how long a body may be; undefined for the route's own limit where there is no such ceremony. */
  bodyBytesMax(id: string): number | undefined {
    const head = this.#with.records.findById(id)?.value.head ?? undefined;
    return head === undefined ? undefined : uploadBytesMax(head.bytes);
  }

  /**
   * Takes the file of a contribution, or a part of it; with the last one it is checked.
   * @throws AppError `not_found`, `unauthorized`, `ceremony_closed`, `ceremony_not_your_turn`, `contribution_invalid`,
   *   `conflict`, `insufficient_memory`, and as `Uploads.take`
   */
  async take(id: string, bearer: string | undefined, body: StreamedBody): Promise<TakenContribution> {
    const turn = this.#requireTurn(id, bearer);
    const total = body.part?.total ?? body.bytes;
    if (total > uploadBytesMax(turn.head.bytes))
      throw new AppError("body_too_large", {
        message: `a contribution to this key has ${String(uploadBytesMax(turn.head.bytes))} bytes at most`,
      });
    // What one left who was here before does not stand in the way.
    await this.keepOnly(turn.ceremony, turn.participant.id);
    const key = keyOf(turn.ceremony, turn.participant.id);
    const finished = await this.#receive(key, body, () => this.#requireTurn(id, bearer));
    if (finished === undefined)
      return { complete: false, upload: { received: this.#uploads.received(key), bytes: total } };
    return { complete: true, contribution: await this.#finish(id, bearer, finished) };
  }

  /**
   * Takes the contributor's signature of a contribution.
   * @throws AppError `not_found`, `unauthorized`, `ceremony_closed`, `conflict` where there is one,
   *   `statement_invalid`, and as `GithubIdentities.requirePublished`
   */
  async sign(
    id: string,
    bearer: string | undefined,
    { index, body }: { readonly index: number; readonly body: StatementBody },
  ): Promise<CeremonyContribution> {
    const { statement } = this.#signable(id, bearer, { index, body });
    const signedBy = await this.#identified(body, statement, `${id}/${String(index)}`);
    return await retryOnConflict(async () => {
      const { record, found } = this.#signable(id, bearer, { index, body });
      const signed = { ...found.value, statement: signedBy };
      // The transcript is written of what is there when the ceremony ends.
      const isOpen = { checks: [{ key: record.key, version: record.version }] };
      await this.#with.store.commit(mergeCommits(isOpen, this.#with.records.updateContribution(found, signed)));
      return contributionOnWire(record.value, signed);
    });
  }

  /** Finds the contribution that a statement is about, and verifies the signature. */
  #signable(
    id: string,
    bearer: string | undefined,
    { index, body }: { readonly index: number; readonly body: StatementBody },
  ): {
    readonly record: StoreRecord<StoredCeremony>;
    readonly found: StoreRecord<StoredContribution>;
    readonly statement: Statement;
  } {
    const { record, participant } = this.#with.access.requireParticipant(id, bearer);
    const found = this.#with.records.findContribution(record.value, index);
    if (found?.value.participant_id !== participant.value.id)
      throw new AppError("not_found", { message: "you have made no contribution of this index" });
    requireState(record.value, ["open"]);
    if (found.value.statement !== null)
      throw new AppError("conflict", { message: "the contribution is signed already" });
    return { record, found, statement: verifiedStatement(body, statementText(record.value, found.value)) };
  }

  /** A signature shows who has the key; whose key it is, GitHub says. It is asked last, for who has contributed. */
  async #identified(body: StatementBody, statement: Statement, contribution: string): Promise<Statement> {
    const claim = githubClaimOf(body);
    if (claim === undefined || statement.kind !== "ssh" || this.#with.github === undefined) return statement;
    await this.#with.github.requirePublished({ ...claim, contribution });
    return { ...statement, github_checked_at: isoTimestamp(this.#with.clock.nowMs()) };
  }

  /** @param requireTurn throws what ended the turn of an upload that was dropped meanwhile */
  async #receive(key: UploadKey, body: StreamedBody, requireTurn: () => Turn): Promise<FinishedUpload | undefined> {
    try {
      return await this.#uploads.take(key, body, { said: undefined, heldBytes: 0 });
    } catch (error) {
      if (error instanceof AppError && error.code === "not_found") requireTurn();
      throw error;
    }
  }

  /** Publishes the file, checks it and makes it the present key. */
  async #finish(
    id: string,
    bearer: string | undefined,
    { sha256, writer }: FinishedUpload,
  ): Promise<CeremonyContribution> {
    let turn: Turn;
    try {
      turn = await this.#holdTurn(id, bearer);
    } catch (error) {
      await writer.discard();
      throw error;
    }
    return await this.#with.files.holdFile(
      sha256,
      async () => await writer.publish(),
      async (stored) =>
        // Held: the ceremony may be deleted while the check reads the key before.
        await this.#with.files.holdFile(
          turn.head.sha256,
          async () => await this.#verifyHead(turn, () => this.#requireTurn(id, bearer)),
          async () => {
            const checked = await this.#check(turn, stored, async () => await this.#holdTurn(id, bearer));
            return await this.#commit(id, bearer, { turn, stored, checked });
          },
        ),
    );
  }

  /** @param requireTurn throws what became of a ceremony whose key was removed */
  async #verifyHead({ head }: Turn, requireTurn: () => Turn): Promise<ArtifactReference> {
    try {
      await this.#with.artifacts.verify(head.sha256);
      return head;
    } catch (error) {
      requireTurn();
      throw error;
    }
  }

  /** The lease lasts while its upload is checked, which is no fault of its holder. */
  async #holdTurn(id: string, bearer: string | undefined): Promise<Turn> {
    return await retryOnConflict(async () => {
      const turn = this.#requireTurn(id, bearer);
      const next = holdLease(turn.ceremony, this.#with.clock.nowMs() + CHECK_MS);
      const { record } = this.#with.access.requireParticipant(id, bearer);
      if (next !== record.value) await this.#with.store.commit(this.#with.records.update(record, next));
      return { ...turn, ceremony: next };
    });
  }

  /** @param hold makes the lease last; throws when the turn is over, before anything is computed */
  async #check(turn: Turn, stored: ArtifactReference, hold: () => Promise<Turn>): Promise<CheckedContribution> {
    const { artifacts, compute, turnOf } = this.#with;
    const { ceremony, head } = turn;
    const owner = turnOf(ceremony.owner);
    const file = async ({ sha256, bytes }: ArtifactReference): Promise<SizedFile> => ({
      ...{ sha256, bytes },
      path: await artifacts.resolve(sha256),
    });
    const timer = setInterval(() => {
      // The commit of the contribution says what has ended the turn.
      hold().catch(() => undefined);
    }, HOLD_EVERY_MS).unref();
    try {
      const checked = await this.#lane.run({ owner }, async () => {
        await hold();
        return await compute.checkContribution({ before: await file(head), after: await file(stored) }, { owner });
      });
      if (checked.ok) return checked.value;
      await this.#refuse(turn);
      const { code, message } = checked;
      const details = [
        { code: "contribution_invalid", message },
        { code, message },
      ];
      throw new AppError("contribution_invalid", { message, details });
    } finally {
      clearInterval(timer);
    }
  }

  async #refuse({ ceremony, participant, head }: Turn): Promise<void> {
    await retryOnConflict(async () => {
      const record = this.#with.records.find(ceremony);
      if (record === undefined || !isTurnOf(record.value, participant, head)) return;
      const next = refuseUpload(record.value, this.#with.clock.nowMs());
      await this.#with.store.commit(this.#with.records.update(record, next));
    });
  }

  async #commit(
    id: string,
    bearer: string | undefined,
    made: { readonly turn: Turn; readonly stored: ArtifactReference; readonly checked: CheckedContribution },
  ): Promise<CeremonyContribution> {
    const { turn, stored, checked } = made;
    const { sha256, bytes } = stored;
    const index = turn.head.index + 1;
    const contribution = await retryOnConflict(async () => {
      const { record, participant } = this.#with.access.requireParticipant(id, bearer);
      if (!isTurnOf(record.value, participant.value, turn.head)) throw notYourTurn(record.value, turn.participant.id);
      const now = isoTimestamp(this.#with.clock.nowMs());
      const made = {
        ...{ index, kind: "contribution" as const, participant_id: participant.value.id, name: participant.value.name },
        ...{ written_name: checked.name, hash: checked.hash, contributed_at: now },
        ...{ key: { sha256, bytes }, statement: null },
      };
      const next = { ...record.value, updated_at: now, head: { index, sha256, bytes } };
      await this.#with.store.commit(
        this.#with.records.change(
          record,
          leaveQueue(next, participant.value.id, this.#with.clock.nowMs()),
          this.#with.records.insertContribution(record.value, made),
          this.#with.records.updateParticipant(participant, { ...participant.value, contributed: index }),
          this.#with.events.commitOf([ceremonyEvent(record.value.owner, id, "contribution", { index })]),
        ),
      );
      return contributionOnWire(record.value, made);
    });
    this.#with.log.info("contribution taken", { prover_id: id, count: index });
    return contribution;
  }

  #requireTurn(id: string, bearer: string | undefined): Turn {
    const { record, participant } = this.#with.access.requireParticipant(id, bearer);
    requireState(record.value, ["open"]);
    const ceremony = settleTurns(record.value, this.#with.clock.nowMs());
    const { head } = ceremony;
    if (head === null || !isTurnOf(ceremony, participant.value, head))
      throw notYourTurn(ceremony, participant.value.id);
    return { ceremony, head, participant: participant.value };
  }
}

function isTurnOf(
  { state, lease, head }: StoredCeremony,
  { id }: Pick<StoredParticipant, "id">,
  expected: Turn["head"],
): boolean {
  const isLeased = lease?.participant_id === id && lease.taken;
  return state === "open" && isLeased && head?.sha256 === expected.sha256 && head.index === expected.index;
}

/** `Uploads` names by a prover what is dropped together: here the uploads of one participant of one ceremony. */
function keyOf({ owner, id }: CeremonyPlace, participantId: string): UploadKey {
  return { owner: formatSubject(owner), proverId: `${id}/${participantId}`, name: "contribution" };
}
