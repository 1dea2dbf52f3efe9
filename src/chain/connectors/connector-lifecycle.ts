/** The statuses of a connector and which may follow which (interoperability facts, 7.6). */

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
 * A virtual connector goes from `init` straight to `active`. A changed address is probed anew; a failed connector may
 * be set right.
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

export function mayFollow(from: ConnectorStatus, to: ConnectorStatus): boolean {
  return FOLLOWERS[from].includes(to);
}

/** True where a probe decides about the status. */
export function isProbed(status: ConnectorStatus): boolean {
  return status === "active" || status === "available" || status === "unavailable";
}

/** True where a job is on its way to another status. */
export function isUnsettled(status: ConnectorStatus): boolean {
  return status === "init" || status === "provisioning" || status === "deprovisioning";
}
