/** The settings that the nodes of a cluster tell each other when they join. None of them may be a secret. */
import { createHash } from "node:crypto";
import { hostname } from "node:os";
import { DockerEngine } from "../chain/connectors/providers/docker-engine.js";
import { readTrustedIssuers } from "../platform/auth/external-issuers.js";
import type { MemberSettings, SettingValues } from "../platform/cluster/members/member-settings.js";
import { listOf, type Config } from "../platform/config.js";
import { bootId } from "../platform/files/boot-id.js";
import type { NodeRole } from "../platform/nodes/nodes.js";

/** Returns when users confirm their e-mail addresses, which follows from the mail server where nothing is said. */
export function emailConfirmationOf({
  confirm_email: said,
  mail_url: mail,
}: Pick<Config, "confirm_email" | "mail_url">): NonNullable<Config["confirm_email"]> {
  return said ?? (mail === undefined ? "on_request" : "ask");
}

/**
 * Returns what a node compares with the others. Containers and callers are another matter for nodes that take requests
 * alone. Limits of sizes are left out, since they go by what a machine can do, and so are the URLs of networks, which
 * may have keys in them.
 * @throws StartError for a file of issuers that cannot be read
 */
export async function sharedSettings(config: Config, role: NodeRole): Promise<MemberSettings> {
  const isServer = role === "server";
  return {
    fixed: {
      ...(isServer ? { PROOFWRIGHT_DOCKER_HOST: sharedEngine(config.docker_host) } : {}),
      ...answersOf(config),
    },
    changeable: isServer ? await admissionsOf(config) : {},
  };
}

/** What tokens, events, confirmations and files depend on: nodes that differ would answer differently. */
function answersOf(config: Config): SettingValues {
  return {
    PROOFWRIGHT_ISSUER: config.issuer,
    PROOFWRIGHT_SIGNING_ALGORITHM: config.signing_algorithm,
    PROOFWRIGHT_EVENTS_MAX: String(config.events_max),
    PROOFWRIGHT_EVENTS_DAYS: String(config.events_days),
    PROOFWRIGHT_EVENT_CONFIRMATIONS: String(config.event_confirmations),
    PROOFWRIGHT_ARTIFACTS_URL: config.artifacts_url ?? "",
  };
}

/**
 * Who and what is let in. Whoever is refused by one node should not get through by another, and what one has accepted,
 * such as the address of a webhook, another has to carry out; but operators add to these while their nodes serve.
 */
async function admissionsOf(config: Config): Promise<SettingValues> {
  return {
    PROOFWRIGHT_DOCKER_IMAGES: sorted(config.docker_images),
    PROOFWRIGHT_CONFIRM_EMAIL: emailConfirmationOf(config),
    PROOFWRIGHT_TRUSTED_ISSUERS: await issuersOf(config.trusted_issuers),
    PROOFWRIGHT_RATE_LIMITS: String(config.rate_limits),
    PROOFWRIGHT_EGRESS_ALLOW: sorted(config.egress_allow),
    PROOFWRIGHT_EGRESS_PORTS: sorted(config.egress_ports),
    PROOFWRIGHT_GITHUB_URL: config.github_url.replace(/\/$/, ""),
    PROVER_PROVIDER_ALIASES: sorted(config.provider_aliases),
  };
}

/** Names a Docker engine so that two nodes have the same name for the same one only. */
function sharedEngine(host: string | undefined): string {
  if (host === undefined) return "";
  return new DockerEngine(host).isLocal ? `${host} of the machine with boot ${bootId() ?? hostname()}` : host;
}

/** A list whose order says nothing. */
function sorted(text: string): string {
  return [...new Set(listOf(text))].sort().join(",");
}

/** The file lies elsewhere on each machine; what counts is whom it names. */
async function issuersOf(path: string | undefined): Promise<string> {
  if (path === undefined) return "";
  const issuers = await readTrustedIssuers(path);
  return `a file of SHA-256 ${createHash("sha256").update(JSON.stringify(issuers)).digest("hex")}`;
}
