/** What contributors do before they contribute: look, join, take and renew the lease, leave, download files. */
import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { createOpaqueToken, opaqueTokenHash, sameHash } from "../../platform/auth/opaque-token.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import type { FileAnswer } from "../../platform/contract/route.js";
import { AppError, notFound } from "../../platform/errors.js";
import type { Events } from "../../platform/events/events.js";
import { addressNetwork } from "../../platform/net/address-network.js";
import type { Nodes } from "../../platform/nodes/nodes.js";
import { shareOfLimit } from "../../platform/nodes/share-of-limit.js";
import { newId } from "../../platform/ids.js";
import type { Artifacts } from "../../platform/store/artifacts.js";
import { mergeCommits, retryOnConflict } from "../../platform/store/commits.js";
import type { Store, StoreCommit, StoreRecord } from "../../platform/store/store.js";
import { ceremonyEvent } from "../prover-events.js";
import type { CeremonyAccess } from "./ceremony-access.js";
import type { CeremonyRecords, StoredCeremony, StoredInvitation } from "./ceremony-records.js";
import {
  QUEUE_MAX,
  type CEREMONY_FILES,
  type JoinCeremony,
  type JoinedCeremony,
  type PublicCeremony,
  type TakenLease,
} from "./ceremony-schemas.js";
import { ceremonyOnWire, standingOf } from "./ceremony-view.js";
import type { Contributions } from "./contributions.js";
import { notYourTurn, requireState } from "./refusals.js";
import { isAccepting, joinQueue, leaveQueue, settleTurns, takeLease } from "./turns.js";
import { uploadBytesMax } from "./upload-limit.js";

interface ParticipantsDependencies {
  readonly store: Pick<Store, "commit">;
  readonly records: CeremonyRecords;
  readonly access: CeremonyAccess;
  readonly artifacts: Pick<Artifacts, "resolve" | "verify">;
  readonly contributions: Pick<Contributions, "received" | "keepOnly">;
  readonly events: Pick<Events, "commitOf">;
  readonly clock: Clock;
  /** The nodes that share the joins of an address; without it there is no other. */
  readonly nodes?: Pick<Nodes, "serving">;
}

/**
 * Whoever joins and never contributes costs a record and turns; more would be a crowd or a script. Those who have gone
 * without a contribution make room, and the owner's invitations have a limit of their own.
 */
const PARTICIPANTS_MAX = 1_000;
/** People behind one address of a university or a company. */
const OPEN_JOINS_PER_HOUR = 10;
const HOUR_MS = 3_600_000;
/** Addresses that are remembered; about 100 bytes each. */
const ADDRESSES_MAX = 10_000;

export class Participants {
  readonly #with: ParticipantsDependencies;
  /** Open joins by the hashed network in the present hour: a rate, which may begin anew with the process. */
  readonly #joins = new LRUCache<string, { readonly sinceMs: number; count: number }>({ max: ADDRESSES_MAX });

  constructor(dependencies: ParticipantsDependencies) {
    this.#with = dependencies;
  }

  /**
   * Returns the ceremony as it is seen by all, or by a participant.
   * @throws AppError `not_found`, as every method
   */
  show(id: string, bearer: string | undefined): PublicCeremony {
    const { record, prover, participant } = this.#with.access.requireSeen(id, bearer);
    const nowMs = this.#with.clock.nowMs();
    const contributions = this.#with.records.contributions(record.value);
    const seen = ceremonyOnWire({ ceremony: record.value, prover: prover.value, contributions, nowMs });
    if (participant === undefined) return { ...seen, you: null };
    const received = this.#with.contributions.received(record.value, participant.value.id);
    return { ...seen, you: standingOf(record.value, participant.value, { nowMs, received }) };
  }

  /**
   * Takes a new participant into the queue and returns its token, of which only the hash is kept.
   * @param address of the client, whose open joins are limited
   * @throws AppError `not_found`, `invitation_invalid`, `ceremony_closed`, `ceremony_full`, `too_many_requests`
   */
  async join(id: string, { name, invitation }: JoinCeremony, address: string): Promise<JoinedCeremony> {
    const token = createOpaqueToken("ceremony_participant");
    const participantId = newId();
    if (invitation === undefined) this.#countJoin(id, address);
    await retryOnConflict(async () => {
      const { record, invited } = this.#requireJoinable(id, invitation);
      const nowMs = this.#with.clock.nowMs();
      const ceremony = settleTurns(record.value, nowMs);
      requireRoom(ceremony, nowMs);
      const room = this.#makeRoom(ceremony, { isInvited: invited !== undefined });
      const joined_at = isoTimestamp(nowMs);
      const participant = { id: participantId, name, joined_at, contributed: null, token_hash: token.hash };
      const used = invited === undefined ? {} : this.#use(ceremony, invited, participantId);
      await this.#commit(
        record,
        joinQueue(ceremony, { participant_id: participantId, name }, nowMs),
        this.#with.records.insertParticipant(ceremony, participant),
        room,
        used,
        this.#with.events.commitOf([ceremonyEvent(ceremony.owner, id, "joined")]),
      );
    });
    return { participant_id: participantId, token: token.text };
  }

  /**
   * Gives up the place in the queue or the lease.
   * @throws AppError `ceremony_closed`
   */
  async leave(id: string, bearer: string | undefined): Promise<void> {
    await retryOnConflict(async () => {
      const { record, participant } = this.#with.access.requireParticipant(id, bearer);
      requireState(record.value, ["preparing", "open"]);
      await this.#commit(record, leaveQueue(record.value, participant.value.id, this.#with.clock.nowMs()));
    });
  }

  /**
   * Gives the lease to the participant whose turn it is, or renews it.
   * @throws AppError `ceremony_closed`, `ceremony_not_your_turn`
   */
  async lease(id: string, bearer: string | undefined): Promise<TakenLease> {
    return await retryOnConflict(async () => {
      const { record, participant } = this.#with.access.requireParticipant(id, bearer);
      requireState(record.value, ["open"]);
      const nowMs = this.#with.clock.nowMs();
      const ceremony = settleTurns(record.value, nowMs);
      const leased = takeLease(ceremony, participant.value.id, nowMs);
      if (leased?.lease === undefined || leased.lease === null || leased.head === null)
        throw notYourTurn(ceremony, participant.value.id);
      await this.#commit(record, leased);
      const { index, sha256, bytes } = leased.head;
      return {
        index: index + 1,
        expires_at: leased.lease.expires_at,
        key: { sha256, bytes },
        upload_bytes_max: uploadBytesMax(bytes),
      };
    });
  }

  /**
   * Returns the present key.
   * @throws AppError `ceremony_closed` before there is one, `artifact_corrupt`
   */
  async key(id: string, bearer: string | undefined): Promise<FileAnswer> {
    const { head } = this.#with.access.requireSeen(id, bearer).record.value;
    if (head === null) throw new AppError("ceremony_closed", { message: "the first key is still being made" });
    return await this.#answer(head.sha256);
  }

  /** Returns a file with which the ceremony can be verified elsewhere. */
  async file(id: string, name: (typeof CEREMONY_FILES)[number], bearer: string | undefined): Promise<FileAnswer> {
    const { record, prover } = this.#with.access.requireSeen(id, bearer);
    const { artifacts } = prover.value.build;
    const isEnded = prover.value.status === "provisioned";
    const found = {
      "initial_key.zkey": record.value.initial ?? undefined,
      "circuit.r1cs": artifacts["circuit.r1cs"],
      "ceremony-transcript.json": isEnded ? artifacts["ceremony-transcript.json"] : undefined,
      "proving_key.zkey": isEnded ? artifacts["proving_key"] : undefined,
    }[name];
    if (found === undefined) throw notFound("file");
    const answer = await this.#answer(found.sha256);
    return name.endsWith(".json") ? { ...answer, contentType: "application/json" } : answer;
  }

  async #answer(sha256: string): Promise<FileAnswer> {
    const { bytes } = await this.#with.artifacts.verify(sha256);
    return { path: await this.#with.artifacts.resolve(sha256), bytes, sha256, contentType: "application/octet-stream" };
  }

  /** A ceremony that is not open is seen with an invitation only. */
  #requireJoinable(
    id: string,
    invitation: string | undefined,
  ): {
    readonly record: StoreRecord<StoredCeremony>;
    readonly invited: StoreRecord<StoredInvitation> | undefined;
  } {
    const record = this.#with.records.findById(id);
    if (record === undefined) throw notFound("ceremony");
    if (invitation === undefined) {
      if (!record.value.open) throw notFound("ceremony");
      return { record, invited: undefined };
    }
    const hash = opaqueTokenHash("ceremony_invitation", invitation) ?? "";
    const all = this.#with.records.invitations(record.value);
    const invited = all.find(({ value }) => sameHash(value.token_hash, hash));
    if (invited === undefined && !record.value.open) throw notFound("ceremony");
    if (invited === undefined || invited.value.participant_id !== null)
      throw new AppError("invitation_invalid", { message: "the invitation was used or withdrawn" });
    return { record, invited };
  }

  #use(ceremony: StoredCeremony, invited: StoreRecord<StoredInvitation>, participantId: string): StoreCommit {
    return this.#with.records.putInvitation(ceremony, { ...invited.value, participant_id: participantId }, invited);
  }

  /** Prepares the deletion of those who have gone without a contribution, once the records are too many. */
  #makeRoom(ceremony: StoredCeremony, { isInvited }: { readonly isInvited: boolean }): StoreCommit {
    const { records } = this.#with;
    const count = records.countParticipants(ceremony);
    if (count < PARTICIPANTS_MAX) return {};
    const waiting = new Set(ceremony.queue.map(({ participant_id }) => participant_id));
    const gone = records
      .participants(ceremony)
      .filter(({ value }) => value.contributed === null && !waiting.has(value.id));
    if (!isInvited && count - gone.length >= PARTICIPANTS_MAX)
      throw new AppError("ceremony_full", { message: `${String(PARTICIPANTS_MAX)} participants have joined` });
    return mergeCommits(...gone.map((record) => records.deleteParticipant(ceremony, record)));
  }

  #countJoin(id: string, address: string): void {
    const nowMs = this.#with.clock.monotonicMs();
    const key = createHash("sha256")
      .update(`${id} ${addressNetwork(address)}`)
      .digest("hex");
    const known = this.#joins.get(key);
    const count = known === undefined || nowMs - known.sinceMs >= HOUR_MS ? { sinceMs: nowMs, count: 0 } : known;
    count.count += 1;
    this.#joins.set(key, count);
    if (count.count <= shareOfLimit(OPEN_JOINS_PER_HOUR, this.#with.nodes)) return;
    const retryAfterSec = Math.ceil((count.sinceMs + HOUR_MS - nowMs) / 1000);
    throw new AppError("too_many_requests", { message: "too many joins from this address", retryAfterSec });
  }

  async #commit(
    record: StoreRecord<StoredCeremony>,
    next: StoredCeremony,
    ...more: readonly StoreCommit[]
  ): Promise<void> {
    const updated_at = isoTimestamp(this.#with.clock.nowMs());
    await this.#with.store.commit(this.#with.records.change(record, { ...next, updated_at }, ...more));
    await this.#with.contributions.keepOnly(next, next.lease?.participant_id);
  }
}

function requireRoom(ceremony: StoredCeremony, nowMs: number): void {
  requireState(ceremony, ["preparing", "open"]);
  if (ceremony.state === "open" && !isAccepting(ceremony, nowMs))
    throw new AppError("ceremony_closed", { message: "no contribution is taken any more" });
  if (ceremony.queue.length >= QUEUE_MAX)
    throw new AppError("ceremony_full", {
      message: `${String(QUEUE_MAX)} participants wait already; try again later`,
    });
}
