/**
 * What owners do with the ceremonies of their provers: look, change the deadline, invite, remove, end with the beacon,
 * give up. Every change is one commit that compares the ceremony's version.
 */
import { createHash } from "node:crypto";
import { drandChainName, findDrandFault } from "../../crypto/signatures/drand-round.js";
import { AppError, invalidMember, notFound } from "../../platform/errors.js";
import { createOpaqueToken } from "../../platform/auth/opaque-token.js";
import type { Subject } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import type { Events } from "../../platform/events/events.js";
import { newId } from "../../platform/ids.js";
import { retryOnConflict } from "../../platform/store/commits.js";
import type { Store, StoreCommit } from "../../platform/store/store.js";
import type { StatusWatch } from "../provisioning/status-watch.js";
import { ceremonyEvent, type CeremonyWord } from "../prover-events.js";
import type { StoredProver } from "../repository.js";
import type { CeremonyAccess } from "./ceremony-access.js";
import type { CeremonyBeacon, CeremonyRecords, StoredCeremony, StoredInvitation } from "./ceremony-records.js";
import {
  INVITATIONS_MAX,
  type BeaconBody,
  type Ceremony,
  type CeremonyInvitation,
  type NewCeremonyInvitation,
  type UpdateCeremony,
} from "./ceremony-schemas.js";
import { ceremonyOnWire } from "./ceremony-view.js";
import type { Contributions } from "./contributions.js";
import { requireState } from "./refusals.js";
import { leaveQueue, settleTurns } from "./turns.js";

export interface CeremoniesDependencies {
  readonly store: Pick<Store, "commit">;
  readonly records: CeremonyRecords;
  readonly access: CeremonyAccess;
  readonly events: Pick<Events, "commitOf">;
  readonly watch: Pick<StatusWatch, "notify">;
  readonly contributions: Pick<Contributions, "keepOnly">;
  readonly clock: Clock;
  readonly queue: EndingQueue;
  /** Prepares the failure of a prover; undefined when it is finished. */
  readonly failure: (
    owner: Subject,
    proverId: string,
    reason: { readonly code: string; readonly message: string },
  ) => StoreCommit | undefined;
}

/** The durable queue of endings. */
export interface EndingQueue {
  /** Prepares the job that applies a ceremony's beacon and provisions its prover. */
  prepare(owner: Subject, proverId: string): StoreCommit;
  /** Starts queued jobs now. */
  wake(): void;
}

/** Bytes of drand's randomness, and of a block's hash. */
const BEACON_BYTES = 32;

export class Ceremonies {
  readonly #with: CeremoniesDependencies;

  constructor(dependencies: CeremoniesDependencies) {
    this.#with = dependencies;
  }

  /** @throws AppError `not_found`, as every method */
  get(owner: Subject, id: string): Ceremony {
    const { record, prover } = this.#with.access.requireOwn(owner, id);
    const contributions = this.#with.records.contributions(record.value);
    const nowMs = this.#with.clock.nowMs();
    return ceremonyOnWire({ ceremony: record.value, prover: prover.value, contributions, nowMs });
  }

  /**
   * Changes the deadline, to a later time or none, and whether anyone may join.
   * @throws AppError `invalid_request`, `ceremony_closed`
   */
  async update(owner: Subject, id: string, { deadline, open }: UpdateCeremony): Promise<Ceremony> {
    await this.#change(owner, id, (ceremony) => {
      requireState(ceremony, ["preparing", "open"]);
      if (deadline !== undefined) this.#requireLater(ceremony, deadline);
      const end = deadline === undefined ? ceremony.deadline : deadline;
      const next = {
        ...ceremony,
        deadline: end === null ? null : isoTimestamp(Date.parse(end)),
        open: open ?? ceremony.open,
      };
      return { next: settleTurns(next, this.#with.clock.nowMs()) };
    });
    return this.get(owner, id);
  }

  /** Returns the invitations, oldest first. */
  invitations(owner: Subject, id: string): CeremonyInvitation[] {
    const { record } = this.#with.access.requireOwn(owner, id);
    return this.#with.records.invitations(record.value).map(({ value }) => invitationOnWire(value));
  }

  /**
   * Makes an invitation and returns its token, of which only the hash is kept.
   * @throws AppError `ceremony_closed`, `ceremony_full`
   */
  async invite(owner: Subject, id: string, name: string): Promise<NewCeremonyInvitation> {
    const { record } = this.#with.access.requireOwn(owner, id);
    requireState(record.value, ["preparing", "open"]);
    if (this.#with.records.countInvitations(record.value) >= INVITATIONS_MAX)
      throw new AppError("ceremony_full", { message: `at most ${String(INVITATIONS_MAX)} invitations; withdraw some` });
    const token = createOpaqueToken("ceremony_invitation");
    const created_at = isoTimestamp(this.#with.clock.nowMs());
    const invitation = { id: newId(), created_at, name, token_hash: token.hash, participant_id: null };
    await this.#with.store.commit(this.#with.records.putInvitation(record.value, invitation));
    return { ...invitationOnWire(invitation), token: token.text };
  }

  /** Withdraws an invitation. */
  async withdraw(owner: Subject, id: string, invitationId: string): Promise<void> {
    await retryOnConflict(async () => {
      const { record } = this.#with.access.requireOwn(owner, id);
      const found = this.#with.records.invitations(record.value).find(({ value }) => value.id === invitationId);
      if (found === undefined) throw notFound("invitation");
      await this.#with.store.commit(this.#with.records.deleteInvitation(found));
    });
  }

  /**
   * Removes a participant from the queue or from its turn.
   * @throws AppError `not_found` for one who does not wait, `ceremony_closed`
   */
  async remove(owner: Subject, id: string, participantId: string): Promise<void> {
    await this.#change(owner, id, (ceremony) => {
      if (!ceremony.queue.some(({ participant_id }) => participant_id === participantId)) throw notFound("participant");
      requireState(ceremony, ["open"]);
      return { next: leaveQueue(ceremony, participantId, this.#with.clock.nowMs()) };
    });
  }

  /**
   * Ends the contributions with the beacon's value and queues what follows.
   * @throws AppError `ceremony_closed`, `ceremony_unfinished` before the minimum or while somebody contributes,
   *   `invalid_request` for a value that is none of the beacon's source
   */
  async end(owner: Subject, id: string, body: BeaconBody): Promise<Ceremony> {
    await this.#change(owner, id, (stored) => {
      requireState(stored, ["open"]);
      const ceremony = settleTurns(stored, this.#with.clock.nowMs());
      requireEnough(ceremony);
      const given = givenBeacon(ceremony, body);
      const next: StoredCeremony = {
        ...ceremony,
        ...{ state: "ending", queue: [], lease: null, beacon: { ...ceremony.beacon, ...given } },
      };
      return { next, word: "ending", more: [this.#with.queue.prepare(owner, id)] };
    });
    this.#with.queue.wake();
    return this.get(owner, id);
  }

  /**
   * Gives the ceremony up; its prover fails.
   * @throws AppError `ceremony_closed`
   */
  async cancel(owner: Subject, id: string): Promise<Ceremony> {
    await this.#change(owner, id, (ceremony) => {
      requireState(ceremony, ["open"]);
      const message = "the ceremony was given up by its owner";
      return this.#failed(ceremony, { state: "cancelled", code: "ceremony_cancelled", message });
    });
    this.#with.watch.notify(id);
    return this.get(owner, id);
  }

  /**
   * Passes on turns that are over, and fails what cannot end any more; called by the sweep.
   * @throws what the store throws
   */
  async settle(owner: Subject, id: string): Promise<void> {
    const isChanged = await this.#change(owner, id, (ceremony, prover) => {
      const next = settleTurns(ceremony, this.#with.clock.nowMs());
      if (prover.status === "failed") {
        const reason = prover.errors[0]?.message ?? null;
        return { next: { ...next, state: "failed", reason, queue: [], lease: null } };
      }
      if (!this.#isTooLate(next)) return next === ceremony ? undefined : { next };
      const { index } = ceremony.head ?? { index: 0 };
      const message = `only ${String(index)} of ${String(ceremony.minimum)} contributions came before the deadline`;
      return this.#failed(next, { state: "failed", code: "ceremony_expired", message });
    });
    if (isChanged) this.#with.watch.notify(id);
  }

  #isTooLate({ state, deadline, lease, head, minimum }: StoredCeremony): boolean {
    const isOver = deadline !== null && Date.parse(deadline) <= this.#with.clock.nowMs();
    // Whoever contributes at the deadline may finish.
    return state === "open" && isOver && lease === null && (head?.index ?? 0) < minimum;
  }

  #failed(
    ceremony: StoredCeremony,
    {
      state,
      code,
      message,
    }: { readonly state: "failed" | "cancelled"; readonly code: string; readonly message: string },
  ): Change {
    const failure = this.#with.failure(ceremony.owner, ceremony.id, { code, message });
    const next = { ...ceremony, state, reason: message, queue: [], lease: null };
    return { next, word: "failed", more: failure === undefined ? [] : [failure] };
  }

  #requireLater({ deadline }: StoredCeremony, wanted: string | null): void {
    if (wanted === null) return;
    const ms = Date.parse(wanted);
    if (ms <= this.#with.clock.nowMs() || (deadline !== null && ms < Date.parse(deadline)))
      throw invalidMember("deadline", "a deadline moves to a later time only, which contributors can rely on");
  }

  /** Returns whether there was anything to change. */
  async #change(
    owner: Subject,
    id: string,
    decide: (ceremony: StoredCeremony, prover: StoredProver) => Change | undefined,
  ): Promise<boolean> {
    return await retryOnConflict(async () => {
      const { record, prover } = this.#with.access.requireOwn(owner, id);
      const change = decide(record.value, prover.value);
      if (change === undefined) return false;
      const { next, word, more = [] } = change;
      const updated_at = isoTimestamp(this.#with.clock.nowMs());
      const events = word === undefined ? {} : this.#with.events.commitOf([ceremonyEvent(owner, id, word)]);
      await this.#with.store.commit(this.#with.records.change(record, { ...next, updated_at }, ...more, events));
      await this.#with.contributions.keepOnly(next, next.lease?.participant_id);
      return true;
    });
  }
}

interface Change {
  readonly next: StoredCeremony;
  readonly word?: CeremonyWord;
  readonly more?: readonly StoreCommit[];
}

function requireEnough({ head, minimum, lease }: StoredCeremony): void {
  const index = head?.index ?? 0;
  if (index < minimum)
    throw new AppError("ceremony_unfinished", {
      message: `the ceremony has ${String(index)} contributions of at least ${String(minimum)}`,
    });
  if (lease?.taken === true)
    throw new AppError("ceremony_unfinished", {
      message: `a contributor has the lease until ${lease.expires_at}; wait, or remove the participant`,
    });
}

type GivenBeacon = Pick<CeremonyBeacon, "value" | "signature" | "previous_signature">;

/** The beacon's value, after verifying that it is the drand round's that was named. */
function givenBeacon({ beacon }: StoredCeremony, body: BeaconBody): GivenBeacon {
  const value = body.value.replace(/^0x/, "").toLowerCase();
  const signature = body.signature?.toLowerCase() ?? null;
  const previous = body.previous_signature?.toLowerCase() ?? null;
  if (beacon.source !== "manual" && value.length !== 2 * BEACON_BYTES)
    throw invalidMember("value", `the value of this beacon has ${String(BEACON_BYTES)} bytes`);
  if (signature === null && previous !== null) throw invalidMember("previous_signature", "give the signature as well");
  if (beacon.source !== "drand") {
    if (signature !== null) throw invalidMember("signature", "only a round of drand has a signature");
    return { value };
  }
  const fault = drandFault(beacon, { value, signature, previous });
  if (fault !== undefined) throw new AppError("beacon_invalid", { message: fault });
  return signature === null ? { value } : { value, signature, previous_signature: previous };
}

function drandFault(
  { network, round }: CeremonyBeacon,
  given: { readonly value: string; readonly signature: string | null; readonly previous: string | null },
): string | undefined {
  const { value: randomness, signature, previous: previousSignature } = given;
  const chain = network?.toLowerCase() ?? "";
  const name = drandChainName(chain);
  if (signature === null)
    return name === undefined ? undefined : `give the signature of drand's ${name} with the value: it is verified`;
  if (name !== undefined && round !== null)
    return findDrandFault({ chain, round, randomness, signature, previousSignature });
  const isOwn = createHash("sha256").update(Buffer.from(signature, "hex")).digest("hex") === randomness;
  return isOwn ? undefined : "the value is not the SHA-256 of the signature";
}

function invitationOnWire({ id, created_at, name, participant_id }: StoredInvitation): CeremonyInvitation {
  return { id, created_at, name, used: participant_id !== null };
}
