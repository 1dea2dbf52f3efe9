/**
 * Device codes (RFC 8628): a program without a browser waits with one, and a user who logs in elsewhere approves it by
 * the short code that goes with it. Both and the decision are in the store, so that any node answers after any restart.
 */
import { createOpaqueToken, opaqueTokenHash } from "../../../platform/auth/opaque-token.js";
import type { Clock } from "../../../platform/clock.js";
import { AppError } from "../../../platform/errors.js";
import type { Store, StoreRecord } from "../../../platform/store/store.js";
import { mergeCommits, retryOnConflict } from "../../../platform/store/tables.js";
import { ExpiringRecords, type Expiring } from "../../expiring-records.js";
import type { IdentityRepository } from "../../repository.js";
import type { PreparedSession, Sessions } from "../../tokens/sessions.js";
import { clientSession } from "../client-session.js";
import type { ClientRecord } from "../clients.js";
import { DevicePace } from "./device-pace.js";
import { createUserCode, parseUserCode, userCodeHash } from "./user-code.js";

/** A type, not an interface, so that it is a StoreValue. */
type DeviceRecord = Expiring & {
  /** The record stays longer than the code is good, so that a late device is told so. */
  readonly good_until_ms: number;
  readonly client_id: string;
  readonly scope: string;
  readonly decision: "pending" | "approved" | "denied";
  /** Of the user who approved. */
  readonly user_id: string | null;
  readonly epoch: number | null;
  readonly password_at_ms: number | null;
};

type UserCodeRecord = Expiring & { readonly device_hash: string };

/** What the device gets. */
export interface IssuedCodes {
  readonly deviceCode: string;
  readonly userCode: string;
  readonly lifeSec: number;
}

/** A device that waits for a decision. */
export interface WaitingDevice {
  readonly userCode: string;
  readonly clientId: string;
  readonly scope: string;
}

/** The session that an approved device opened. */
export interface RedeemedDevice {
  readonly prepared: PreparedSession;
  readonly userId: string;
  readonly scope: string;
  readonly passwordAtMs: number | undefined;
}

/** The user who approves, just logged in. */
export interface ApprovingUser {
  readonly userId: string;
  readonly passwordAtMs: number;
}

export interface DeviceCodesDependencies {
  readonly store: Store;
  readonly repository: IdentityRepository;
  readonly sessions: Sessions;
  readonly clock: Clock;
}

/** Time to find the other device and to log in there. */
const LIFE_SEC = 10 * 60;
const KEPT_AFTERWARDS_MS = 10 * 60_000;

export class DeviceCodes {
  readonly #dependencies: DeviceCodesDependencies;
  readonly #devices: ExpiringRecords<DeviceRecord>;
  readonly #userCodes: ExpiringRecords<UserCodeRecord>;
  readonly #pace: DevicePace;

  constructor(dependencies: DeviceCodesDependencies) {
    this.#dependencies = dependencies;
    this.#devices = new ExpiringRecords({ table: "device_code" }, dependencies);
    this.#userCodes = new ExpiringRecords({ table: "device_user_code" }, dependencies);
    this.#pace = new DevicePace(dependencies);
  }

  /** Makes the two codes of a device. */
  async issue(client: ClientRecord, scope: string): Promise<IssuedCodes> {
    const goodUntilMs = this.#dependencies.clock.nowMs() + LIFE_SEC * 1000;
    const device = createOpaqueToken("device_code");
    // A code that is in use already is a conflict, and another one is drawn.
    const userCode = await retryOnConflict(async () => {
      const drawn = createUserCode();
      await this.#dependencies.store.commit(
        mergeCommits(
          this.#devices.insertCommit(device.hash, {
            expires_at_ms: goodUntilMs + KEPT_AFTERWARDS_MS,
            good_until_ms: goodUntilMs,
            client_id: client.id,
            scope,
            decision: "pending",
            user_id: null,
            epoch: null,
            password_at_ms: null,
          }),
          this.#userCodes.insertCommit(userCodeHash(drawn), { expires_at_ms: goodUntilMs, device_hash: device.hash }),
        ),
      );
      return drawn;
    });
    await this.#devices.sweep();
    await this.#userCodes.sweep();
    return { deviceCode: device.text, userCode, lifeSec: LIFE_SEC };
  }

  /** Returns the device that waits under a code as a person typed it; undefined for a code that is not good now. */
  findWaiting(typed: string): WaitingDevice | undefined {
    const found = this.#find(typed);
    if (found === undefined) return undefined;
    const { client_id: clientId, scope } = found.device.value;
    return { userCode: found.userCode, clientId, scope };
  }

  /**
   * Approves a device for a user, or denies it. The code that the person typed is used up.
   * @param user undefined to deny
   * @returns false when the code is not good any more
   */
  async decide(typed: string, user: ApprovingUser | undefined): Promise<boolean> {
    const { store, repository } = this.#dependencies;
    return retryOnConflict(async () => {
      const found = this.#find(typed);
      if (found === undefined) return false;
      const approval =
        user === undefined
          ? { decision: "denied" as const }
          : {
              decision: "approved" as const,
              user_id: user.userId,
              epoch: repository.findState({ kind: "user", id: user.userId })?.value.epoch ?? 0,
              password_at_ms: user.passwordAtMs,
            };
      await store.commit(
        mergeCommits(
          this.#devices.replaceCommit(found.device, { ...found.device.value, ...approval }),
          this.#userCodes.deleteCommit(found.entry),
        ),
      );
      return true;
    });
  }

  /**
   * Exchanges the code of an approved device for an open session, once.
   * @param client as it is now, which may differ from when it got the code
   * @throws authorization_pending, slow_down, access_denied, expired_token or invalid_grant (RFC 8628 section 3.5);
   *   unauthorized_client when the client may not use the flow any more
   */
  async redeem(code: string, client: ClientRecord): Promise<RedeemedDevice> {
    const { repository, sessions, clock } = this.#dependencies;
    const hash = opaqueTokenHash("device_code", code);
    if (hash === undefined) throw invalidCode();
    let isCounted = false;
    return retryOnConflict(async () => {
      const record = this.#devices.find(hash);
      if (record?.value.client_id !== client.id) throw invalidCode();
      requireDeviceFlow(client);
      const { value } = record;
      if (value.good_until_ms <= clock.nowMs()) throw refusal("expired_token", "the device code has expired");
      if (value.decision === "denied") throw refusal("access_denied", "the user denied the request");
      if (!isCounted) this.#pace.step(hash);
      isCounted = true;
      if (value.decision === "pending") throw refusal("authorization_pending", "the user has not decided yet");
      const userId = value.user_id ?? "";
      const state = repository.findState({ kind: "user", id: userId })?.value;
      if (state?.enabled !== true || (value.epoch ?? 0) < state.epoch) throw invalidCode();
      const { scope, password_at_ms: passwordAtMs } = value;
      const prepared = sessions.prepare(
        clientSession({ clientId: client.id, userId, epoch: state.epoch, scope, passwordAtMs }),
      );
      await repository.commit(mergeCommits(prepared.commit, this.#devices.deleteCommit(record)));
      return { prepared, userId, scope, passwordAtMs: passwordAtMs ?? undefined };
    });
  }

  #find(typed: string):
    | {
        readonly userCode: string;
        readonly entry: StoreRecord<UserCodeRecord>;
        readonly device: StoreRecord<DeviceRecord>;
      }
    | undefined {
    const userCode = parseUserCode(typed);
    const entry = userCode === undefined ? undefined : this.#userCodes.find(userCodeHash(userCode));
    const device = entry === undefined ? undefined : this.#devices.find(entry.value.device_hash);
    if (userCode === undefined || entry === undefined || device?.value.decision !== "pending") return undefined;
    return { userCode, entry, device };
  }
}

/**
 * Rejects a client that may not use the flow.
 * @throws unauthorized_client (RFC 6749 section 5.2)
 */
export function requireDeviceFlow(client: ClientRecord): void {
  if (client.device_flow === true) return;
  throw new AppError("unauthorized_client", {
    message: "the client may not use the device flow; set device_flow of the application's client",
  });
}

function refusal(code: "expired_token" | "access_denied" | "authorization_pending", message: string): AppError {
  return new AppError(code, { message });
}

function invalidCode(): AppError {
  return new AppError("invalid_grant", { message: "the device code is not valid" });
}
