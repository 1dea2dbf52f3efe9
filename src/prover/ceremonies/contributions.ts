/**
 * Contributions: takes a key's file from whoever has the lease, has it checked in a process of its own, and makes it
 * the present key in one commit that compares the ceremony's version. Until that commit nothing has happened; after a
 * crash the contributor sends the same file again.
 */
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import type { StreamedBody } from "../../platform/contract/streamed-body.js";
import { AppError } from "../../platform/errors.js";
import type { Events } from "../../platform/events/events.js";
import type { Log } from "../../platform/log.js";
import { Lane } from "../../platform/pool/lane.js";
import type { ArtifactReference, Artifacts } from "../../platform/store/artifacts.js";
import { mergeCommits, retryOnConflict } from "../../platform/store/commits.js";
import type { Store } from "../../platform/store/store.js";
import type { CeremonyCompute, CheckedContribution } from "../compute/ceremony-compute.js";
import { Uploads, type FinishedUpload, type UploadKey } from "../imports/uploads.js";
import { ceremonyEvent } from "../prover-events.js";
import type { SourceFiles } from "../provisioning/source-files.js";
import type { CeremonyAccess } from "./ceremony-access.js";
import type { CeremonyPlace, CeremonyRecords, StoredCeremony, StoredParticipant } from "./ceremony-records.js";
import type { CeremonyContribution, StatementBody, UploadState } from "./ceremony-schemas.js";
import { contributionOnWire } from "./ceremony-view.js";
import { notYourTurn, requireState } from "./refusals.js";
import { statementText, verifiedStatement } from "./statements.js";
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
const IDLE_MS = 3_600_000;
/** A key that was contributed is checked within minutes; its lease lasts until then. */
const CHECK_MS = 900_000;
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
    const limits = { fileBytesMax, bytesPerOwnerMax: fileBytesMax, openPerOwnerMax: 1, openMax: OPEN_UPLOADS_MAX };
    this.#uploads = new Uploads({ ...limits, idleMs: IDLE_MS }, { artifacts, clock });
  }

  /** Returns how many bytes of a participant's upload have come. */
  received({ id }: CeremonyPlace, participantId: string): number {
    return this.#uploads.received(keyOf(id, participantId));
  }

  /** Drops the upload of a participant who leaves. */
  async discard({ id }: CeremonyPlace, participantId: string): Promise<void> {
    await this.#uploads.discard(ownerOf(id), participantId);
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
    const key = keyOf(id, turn.participant.id);
    const finished = await this.#uploads.take(key, body, { said: undefined, heldBytes: 0 });
    if (finished === undefined)
      return { complete: false, upload: { received: this.#uploads.received(key), bytes: total } };
    return { complete: true, contribution: await this.#finish(id, bearer, finished) };
  }

  /**
   * Takes the contributor's signature of a contribution.
   * @throws AppError `not_found`, `unauthorized`, `ceremony_closed`, `conflict` where there is one,
   *   `statement_invalid`
   */
  async sign(
    id: string,
    bearer: string | undefined,
    { index, body }: { readonly index: number; readonly body: StatementBody },
  ): Promise<CeremonyContribution> {
    return await retryOnConflict(async () => {
      const { record, participant } = this.#with.access.requireParticipant(id, bearer);
      const found = this.#with.records.findContribution(record.value, index);
      if (found?.value.participant_id !== participant.value.id)
        throw new AppError("not_found", { message: "you have made no contribution of this index" });
      requireState(record.value, ["open"]);
      if (found.value.statement !== null)
        throw new AppError("conflict", { message: "the contribution is signed already" });
      const statement = verifiedStatement(body, statementText(record.value, found.value));
      const signed = { ...found.value, statement };
      // The transcript is written of what is there when the ceremony ends.
      const isOpen = { checks: [{ key: record.key, version: record.version }] };
      await this.#with.store.commit(mergeCommits(isOpen, this.#with.records.updateContribution(found, signed)));
      return contributionOnWire(record.value, signed);
    });
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
      async (stored) => {
        const checked = await this.#check(turn, stored);
        const contribution = await this.#commit(id, bearer, { turn, stored, checked });
        await this.#with.files.removeUnused(turn.head.sha256);
        return contribution;
      },
    );
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

  async #check(turn: Turn, stored: ArtifactReference): Promise<CheckedContribution> {
    const { artifacts, compute, turnOf } = this.#with;
    const { ceremony, head } = turn;
    const owner = turnOf(ceremony.owner);
    const file = ({ sha256, bytes }: ArtifactReference) => ({ sha256, bytes, path: artifacts.resolve(sha256) });
    await artifacts.verify(head.sha256);
    const checked = await this.#lane.run(
      { owner },
      async () => await compute.checkContribution({ before: file(head), after: file(stored) }, { owner }),
    );
    if (checked.ok) return checked.value;
    await this.#refuse(turn);
    const { code, message } = checked;
    throw new AppError("contribution_invalid", { message, details: [{ code, message }] });
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

function ownerOf(id: string): string {
  return `ceremony:${id}`;
}

/** `Uploads` names by a prover what is dropped together: here the uploads of one participant. */
function keyOf(id: string, participantId: string): UploadKey {
  return { owner: ownerOf(id), proverId: participantId, name: "contribution" };
}
