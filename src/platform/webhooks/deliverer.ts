/**
 * Sends deliveries that are due. An attempt begins with a commit that moves the delivery's next attempt beyond it, so
 * that one which a crash cut off is sent again: by the next start, here or on another node, or when its time is over.
 * There is no queue in memory.
 */
import { formatSubject as nameOf, type Subject } from "../auth/principal.js";
import { isoTimestamp, type Clock } from "../clock.js";
import { AppError } from "../errors.js";
import { failureFields } from "../events/event-log.js";
import type { Log } from "../log.js";
import type { Egress } from "../net/egress.js";
import { retryOnConflict } from "../store/commits.js";
import { StoreConflict, type StoreRecord } from "../store/store.js";
import { pauseMs, retryAfterMs } from "./delivery-schedule.js";
import { signatureHeaders } from "./signature.js";
import type { WebhookDisabling } from "./webhook-disabling.js";
import { notSending, placeOf, type DeliveryRow, type WebhookRecords, type WebhookRow } from "./webhook-records.js";
import type { AttemptJson } from "./webhook-schemas.js";
import type { SigningSecrets, WebhookSecrets } from "./webhook-secrets.js";

export interface DelivererDependencies {
  readonly records: WebhookRecords;
  readonly secrets: WebhookSecrets;
  readonly egress: Pick<Egress, "fetch">;
  readonly disabling: WebhookDisabling;
  readonly clock: Clock;
  readonly log: Log;
}

/** A receiver should take a message and work on it later. */
const TIMEOUT_MS = 15_000;
/** Longer than an attempt with its commits; after it an attempt counts as cut off. */
const LEASE_MS = 60_000;
/** What receivers answer is not kept, and not read beyond this. */
const ANSWER_BYTES_MAX = 16 * 1024;
/** Attempts at a time, of all webhooks and of one: a slow receiver takes few of them. */
const ATTEMPTS_AT_ONCE = 32;
const ATTEMPTS_PER_WEBHOOK = 4;
/** A third of the webhooks' attempts that run are of one owner at most. */
const ATTEMPTS_PER_OWNER = 12;
/** When due deliveries are looked for although nothing was queued: the shortest pause. */
const TICK_MS = 5_000;
const ATTEMPTS_KEPT = 20;

/** Statuses by which a receiver asks for less, and may say when to come again (RFC 9110 section 10.2.3). */
const STATUSES_OF_LOAD: readonly number[] = [429, 503];

/** An attempt, and the pause that the receiver asked for. */
interface Outcome {
  readonly attempt: AttemptJson;
  readonly wishedPauseMs: number | undefined;
}

export class Deliverer {
  readonly #with: DelivererDependencies;
  /** Deliveries that are being sent, each with its webhook and owner. */
  readonly #running = new Map<string, { readonly names: readonly string[]; readonly settled: Promise<void> }>();
  #stopping = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  /** Whose delivery began last; the next turn begins behind. */
  #lastOwner = "";
  /** True when deliveries of anybody may wait for room. */
  #isFull = false;
  #resuming: Promise<void> = Promise.resolve();

  constructor(dependencies: DelivererDependencies) {
    this.#with = dependencies;
  }

  /** Sends what is due, now and from now on. Nobody else may be sending: whoever has ended with attempts under way. */
  start(): void {
    if (this.#stopping.signal.aborted) this.#stopping = new AbortController();
    this.#timer = setInterval(() => this.wake(), TICK_MS).unref();
    this.#resuming = this.#resumeCutOff();
    this.wake();
  }

  /** Ends the running attempts, which are made again after the next start, here or elsewhere, and resolves then. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#stopping.abort(new AppError("shutting_down", { message: "this server delivers no messages any more" }));
    await this.idle();
  }

  /** Resolves when no attempt runs. */
  async idle(): Promise<void> {
    await this.#resuming;
    while (this.#running.size > 0) await Promise.all([...this.#running.values()].map(({ settled }) => settled));
  }

  /** Starts what is due, as far as there is room. */
  wake(): void {
    this.#startDue(undefined);
  }

  /** Starts what is due of one owner, as far as there is room. */
  wakeOwner(owner: Subject): void {
    this.#startDue(owner);
  }

  /** Makes due what was being sent when its process ended. Never rejects: without it an attempt's time runs out. */
  async #resumeCutOff(): Promise<void> {
    const { records, clock, log } = this.#with;
    const now = isoTimestamp(clock.nowMs());
    try {
      // Read before the first attempt begins.
      const cutOff = records.sending();
      for (const record of cutOff) {
        const next = { ...notSending(record.value), next_attempt_at: now };
        await records.commit(records.deliveries.updateCommit(record, next)).catch(ignoreConflict);
      }
      if (cutOff.length > 0) this.wake();
    } catch (error) {
      log.warn("messages that were being sent are sent again after a minute", failureFields(error));
    }
  }

  #startDue(owner: Subject | undefined): void {
    const { records, secrets, log } = this.#with;
    if (this.#stopping.signal.aborted || !secrets.isUnsealed) return;
    try {
      this.#isFull = false;
      this.#startInTurn(byOwner(records.waiting(owner)));
    } catch (error) {
      log.error("due messages of webhooks cannot be read; the next round tries again", failureFields(error));
    }
  }

  /**
   * Starts one delivery of each owner at a time, those first of whom the fewest run: whoever has many slow receivers
   * keeps nobody else waiting.
   */
  #startInTurn(webhooks: ReadonlyMap<string, readonly WebhookRow[]>): void {
    const names = [...webhooks.keys()];
    const behind = names.findIndex((name) => name > this.#lastOwner);
    let waiting = behind < 0 ? names : [...names.slice(behind), ...names.slice(0, behind)];
    while (waiting.length > 0) {
      const counts = new Map(waiting.map((name) => [name, this.#count(name)]));
      waiting.sort((a, b) => (counts.get(a) ?? 0) - (counts.get(b) ?? 0));
      const started: string[] = [];
      for (const name of waiting) {
        if (this.#running.size >= ATTEMPTS_AT_ONCE) {
          this.#isFull = true;
          return;
        }
        if (this.#startOne(name, webhooks.get(name) ?? [])) started.push(name);
      }
      waiting = started;
    }
  }

  /** Starts one delivery of an owner that is due. Returns false when there is none, or no room for it. */
  #startOne(owner: string, webhooks: readonly WebhookRow[]): boolean {
    if (this.#count(owner) >= ATTEMPTS_PER_OWNER) return false;
    for (const webhook of webhooks) {
      const record = this.#nextDue(webhook);
      if (record === undefined) continue;
      this.#start(webhook, record);
      this.#lastOwner = owner;
      return true;
    }
    return false;
  }

  #nextDue(webhook: WebhookRow): StoreRecord<DeliveryRow> | undefined {
    if (!webhook.enabled || this.#count(webhook.id) >= ATTEMPTS_PER_WEBHOOK) return undefined;
    const now = isoTimestamp(this.#with.clock.nowMs());
    // Those that run have moved, or are about to, and are passed over.
    return this.#with.records
      .soonest(placeOf(webhook), 2 * ATTEMPTS_PER_WEBHOOK)
      .find(({ value: { id, next_attempt_at: dueAt } }) => dueAt !== null && dueAt <= now && !this.#running.has(id));
  }

  #start(webhook: WebhookRow, record: StoreRecord<DeliveryRow>): void {
    const { id } = record.value;
    const settled = this.#attempt(webhook, record).then(
      (isSealed) => {
        this.#running.delete(id);
        if (isSealed) return;
        // Without a lack of room only the same owner's deliveries can have waited for this one.
        if (this.#isFull) this.wake();
        else this.wakeOwner(webhook.owner);
      },
      (error: unknown) => {
        this.#running.delete(id);
        if (this.#stopping.signal.aborted) return;
        // What failed would fail again at once, as long as the store takes no writes: the next round tries again.
        this.#with.log.error("an attempt of a webhook cannot be recorded", {
          webhook_id: webhook.id,
          ...failureFields(error),
        });
      },
    );
    this.#running.set(id, { names: [webhook.id, nameOf(webhook.owner)], settled });
  }

  #count(name: string): number {
    return [...this.#running.values()].filter(({ names }) => names.includes(name)).length;
  }

  /** Makes an attempt and notes it. Returns true where the vault is sealed, which ends all attempts until it is not. */
  async #attempt(webhook: WebhookRow, record: StoreRecord<DeliveryRow>): Promise<boolean> {
    const { secrets } = this.#with;
    if (!(await this.#lease(record))) return false;
    let keys: SigningSecrets;
    try {
      keys = await secrets.read(webhook.owner, webhook.secret);
    } catch (error) {
      const code = error instanceof AppError ? error.code : "";
      if (code !== "vault_sealed" && code !== "webhook_secret_missing") throw error;
      await this.#release(record);
      if (code === "webhook_secret_missing" && this.#isPresent(webhook))
        await this.#with.disabling.disable(webhook, {
          code,
          message: "its secret is no longer in the vault; rotate the secret, then enable it",
        });
      return code === "vault_sealed";
    }
    const outcome = await this.#sendOrRelease(webhook, record, keys);
    const ended = await this.#record(record.value, outcome);
    if (ended !== undefined) await this.#disableFailing(webhook, ended, outcome.attempt);
    return false;
  }

  /** Disables a webhook whose receiver is gone, or at which nothing has arrived for too long. */
  async #disableFailing(webhook: WebhookRow, ended: DeliveryRow, attempt: AttemptJson): Promise<void> {
    if (attempt.status === 410)
      await this.#with.disabling.disable(webhook, { code: "webhook_gone", message: "the receiver answered 410" });
    else if (ended.state === "failed" && (this.#with.records.lastSuccess(ended) ?? "") < ended.created_at)
      await this.#with.disabling.disable(webhook, {
        code: "webhook_failing",
        message: `no message arrived for 3 days; the last attempt: ${attempt.error?.message ?? ""}`,
      });
  }

  /** Moves the next attempt beyond this one. Returns false when another node was first, or the delivery is gone. */
  async #lease(record: StoreRecord<DeliveryRow>): Promise<boolean> {
    const { records, clock } = this.#with;
    const next_attempt_at = isoTimestamp(clock.nowMs() + LEASE_MS);
    const next: DeliveryRow = { ...record.value, next_attempt_at, is_sending: true };
    try {
      await records.commit(records.deliveries.updateCommit(record, next));
      return true;
    } catch (error) {
      if (error instanceof StoreConflict) return false;
      throw error;
    }
  }

  /** Puts a leased delivery back without counting an attempt. */
  async #release({ key, value }: StoreRecord<DeliveryRow>): Promise<void> {
    await this.#change(key.slice(1), (row) => ({ ...notSending(row), next_attempt_at: value.next_attempt_at }));
  }

  /** True while the webhook has the secret that was read: a rotation during the attempt gives it another. */
  #isPresent({ owner, id, secret }: WebhookRow): boolean {
    const present = this.#with.records.webhooks.get([owner.kind, owner.id, id])?.value;
    return present?.secret.secret_id === secret.secret_id;
  }

  /** Sends a leased delivery. One that is cut off because this server stops is due again at once. */
  async #sendOrRelease(webhook: WebhookRow, record: StoreRecord<DeliveryRow>, keys: SigningSecrets): Promise<Outcome> {
    try {
      return await this.#send(webhook, record.value, keys);
    } catch (error) {
      if (this.#stopping.signal.aborted) await this.#release(record);
      throw error;
    }
  }

  async #send(webhook: WebhookRow, { id, payload }: DeliveryRow, keys: SigningSecrets): Promise<Outcome> {
    const { egress, clock } = this.#with;
    const startedMs = clock.nowMs();
    const started = clock.monotonicMs();
    const outcome = (status: number | null, error: AttemptJson["error"], wishedPauseMs?: number): Outcome => ({
      attempt: {
        at: isoTimestamp(startedMs),
        duration_ms: Math.max(0, Math.round(clock.monotonicMs() - started)),
        status,
        error,
      },
      wishedPauseMs,
    });
    const signed = { id: `msg_${id}`, timestampSec: Math.floor(startedMs / 1000), body: payload };
    const isRotating = (webhook.previous_secret_until ?? "") > isoTimestamp(startedMs);
    const previous = isRotating && keys.previous !== undefined ? [keys.previous] : [];
    try {
      const { status, headers } = await egress.fetch(webhook.url, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          "user-agent": "Proofwright-Webhooks",
          ...signatureHeaders(signed, [keys.current, ...previous]),
        },
        body: payload,
        timeoutMs: TIMEOUT_MS,
        answerBytesMax: ANSWER_BYTES_MAX,
        isStatusEnough: true,
        signal: this.#stopping.signal,
      });
      if (status >= 200 && status < 300) return outcome(status, null);
      const text = status >= 300 && status < 400 ? "which is not followed" : "in place of 200 to 299";
      const wished = STATUSES_OF_LOAD.includes(status)
        ? retryAfterMs(headers["retry-after"], clock.nowMs())
        : undefined;
      const message = `the receiver answered ${String(status)}, ${text}`;
      return outcome(status, { code: "webhook_refused", message }, wished);
    } catch (error) {
      if (!(error instanceof AppError) || error.code === "shutting_down") throw error;
      return outcome(null, { code: error.code, message: error.message });
    }
  }

  /** Notes an attempt. Returns the delivery as it is then; undefined when it was deleted. */
  async #record(before: DeliveryRow, { attempt, wishedPauseMs = 0 }: Outcome): Promise<DeliveryRow | undefined> {
    const { records } = this.#with;
    const isDelivered = attempt.error === null;
    const tries = before.tries + 1;
    const scheduled = isDelivered || attempt.status === 410 ? undefined : pauseMs(tries);
    const pause = scheduled === undefined ? undefined : Math.max(scheduled, wishedPauseMs);
    const nowMs = this.#with.clock.nowMs();
    const now = isoTimestamp(nowMs);
    return await retryOnConflict(async () => {
      const current = records.deliveries.get([before.owner.kind, before.owner.id, before.webhook_id, before.id]);
      if (current === undefined) return undefined;
      const next: DeliveryRow = {
        ...notSending(current.value),
        tries,
        attempts: [...current.value.attempts, attempt].slice(-ATTEMPTS_KEPT),
        state: isDelivered ? "delivered" : pause === undefined ? "failed" : "pending",
        next_attempt_at: pause === undefined ? null : isoTimestamp(nowMs + pause),
        ended_at: pause === undefined ? now : null,
      };
      await records.commit(
        records.deliveries.updateCommit(current, next),
        pause === undefined ? records.trimCommit(next) : {},
        isDelivered ? records.successCommit(next, now) : {},
      );
      return next;
    });
  }

  async #change(key: readonly (string | number)[], decide: (row: DeliveryRow) => DeliveryRow): Promise<void> {
    const { records } = this.#with;
    await retryOnConflict(async () => {
      const current = records.deliveries.get(key);
      if (current !== undefined) await records.commit(records.deliveries.updateCommit(current, decide(current.value)));
    });
  }
}

/** Of a delivery that has changed meanwhile an attempt has begun, or it is gone. */
function ignoreConflict(error: unknown): void {
  if (!(error instanceof StoreConflict)) throw error;
}

function byOwner(webhooks: readonly WebhookRow[]): Map<string, WebhookRow[]> {
  const owners = new Map<string, WebhookRow[]>();
  for (const webhook of webhooks) {
    const name = nameOf(webhook.owner);
    const own = owners.get(name);
    if (own === undefined) owners.set(name, [webhook]);
    else own.push(webhook);
  }
  return owners;
}
