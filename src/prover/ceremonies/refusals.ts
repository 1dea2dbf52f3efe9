/** Refusals that several parts of a ceremony share. */
import { AppError } from "../../platform/errors.js";
import type { StoredCeremony } from "./ceremony-records.js";

/**
 * Requires that a ceremony is in one of the states.
 * @throws AppError `ceremony_closed`
 */
export function requireState({ state }: StoredCeremony, allowed: readonly StoredCeremony["state"][]): void {
  if (allowed.includes(state)) return;
  throw new AppError("ceremony_closed", { message: `the ceremony is ${state}, not ${allowed.join(" or ")}` });
}

/** Returns the refusal of one whose turn it is not, which says why. */
export function notYourTurn({ queue, lease }: StoredCeremony, participantId: string): AppError {
  const place = queue.findIndex(({ participant_id }) => participant_id === participantId);
  const message =
    place < 0
      ? "you are not in the queue: you have contributed, left, or were absent too often"
      : lease?.participant_id === participantId
        ? lease.taken
          ? "the lease was renewed as often as it may be; upload before its end"
          : "take the lease first"
        : `you are number ${String(place + 1)} of the queue; wait for your turn`;
  return new AppError("ceremony_not_your_turn", { message });
}
