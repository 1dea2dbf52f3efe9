/** What a request to make a prover says of its ceremony: read, checked and completed. */
import { AppError, invalidMember } from "../../platform/errors.js";
import { isoTimestamp } from "../../platform/clock.js";
import type { Subject } from "../../platform/auth/principal.js";
import { PUBLISHED } from "../provisioning/reference-strings.js";
import type { OfferedSystem } from "../providers/provider.js";
import type { CreateProver } from "../schemas.js";
import { ITERATIONS_EXP_DEFAULT, LEASE_SECONDS_DEFAULT, type CeremonyRequest } from "./ceremony-schemas.js";
import type { CeremonyBeacon, CeremonySettings, StoredCeremony } from "./ceremony-records.js";

/**
 * Returns the settings of the ceremony that a request asks for; undefined where it asks for none.
 * @throws AppError `invalid_request`, `prover_unsupported`
 */
export function ceremonySettings(
  request: CreateProver,
  { system, bringsKey, nowMs }: { readonly system: OfferedSystem; readonly bringsKey: boolean; readonly nowMs: number },
): CeremonySettings | undefined {
  const asked = request.ceremony ?? undefined;
  if (request.setup !== "ceremony") {
    if (asked !== undefined) throw invalidMember("ceremony", "settings of a ceremony belong to `setup: ceremony`");
    return undefined;
  }
  if (asked === undefined) throw invalidMember("ceremony", "a ceremony needs its settings: a beacon at least");
  if (system.setup !== "own" || system.stringCurve === undefined)
    throw new AppError("prover_unsupported", { message: "ceremonies are held for groth16 over BN254" });
  if (bringsKey) throw invalidMember("setup", "the key that is imported is ready; it takes no ceremony");
  const deadline = asked.deadline ?? null;
  if (deadline !== null && Date.parse(deadline) <= nowMs)
    throw invalidMember("ceremony.deadline", "the deadline has passed");
  return {
    minimum: asked.minimum ?? 1,
    deadline: deadline === null ? null : isoTimestamp(Date.parse(deadline)),
    open: asked.open ?? false,
    lease_seconds: asked.lease_seconds ?? LEASE_SECONDS_DEFAULT,
    beacon: beaconOf(asked.beacon),
  };
}

/** Returns the request with where phase 1 comes from: of a ceremony always from a published file. */
export function withPhase1(request: CreateProver): CreateProver {
  return request.setup === "ceremony" ? { ...request, phase1: request.phase1 ?? PUBLISHED } : request;
}

/** Returns the ceremony of a new prover. */
export function newCeremony(
  settings: CeremonySettings,
  { id, owner, now }: { readonly id: string; readonly owner: Subject; readonly now: string },
): StoredCeremony {
  return {
    ...settings,
    ...{ id, owner, created_at: now, updated_at: now, state: "preparing", reason: null },
    ...{ phase1: null, circuit_hash: null, initial: null, head: null, queue: [], lease: null, transcript: null },
  };
}

function beaconOf({
  source,
  round = null,
  network = null,
  description = null,
  iterations_exp = ITERATIONS_EXP_DEFAULT,
}: CeremonyRequest["beacon"]): CeremonyBeacon {
  if (source === "manual" && description === null)
    throw invalidMember("ceremony.beacon.description", "say which public value the beacon will be");
  if (source !== "manual" && round === null)
    throw invalidMember("ceremony.beacon.round", "name the round, or the number of the block, in advance");
  if (source === "drand" && network === null)
    throw invalidMember("ceremony.beacon.network", "name the hash of drand's chain: each chain has its own rounds");
  return { source, round, network, description, iterations_exp, value: null };
}
