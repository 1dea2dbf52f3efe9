/** The statuses of a connector and which may follow which. */

export const CONNECTOR_STATUSES = [
  "init",
  "provisioning",
  "active",
  "available",
  "unavailable",
  "failed",
  "deprovisioning",
] as const;
export type ConnectorStatus = (typeof CONNECTOR_STATUSES)[number];

/**
 * A virtual connector goes from `init` straight to `active`. A failed one starts at `init` again when its configuration
 * is corrected.
 */
const FOLLOWERS: Readonly<Record<ConnectorStatus, readonly ConnectorStatus[]>> = {
  init: ["provisioning", "active", "failed", "deprovisioning"],
  provisioning: ["active", "available", "unavailable", "failed", "deprovisioning"],
  active: ["unavailable", "available", "deprovisioning"],
  available: ["unavailable", "active", "deprovisioning"],
  unavailable: ["available", "active", "deprovisioning"],
  failed: ["init", "deprovisioning"],
  deprovisioning: [],
};

/** Returns true when a connector may go from one status to the other. */
export function mayFollow(from: ConnectorStatus, to: ConnectorStatus): boolean {
  return FOLLOWERS[from].includes(to);
}

/** Returns true for a status that probes decide. */
export function isProbed(status: ConnectorStatus): boolean {
  return status === "active" || status === "available" || status === "unavailable";
}

/** Returns true for a status that a job is about to change. */
export function isUnsettled(status: ConnectorStatus): boolean {
  return status === "init" || status === "provisioning" || status === "deprovisioning";
}
