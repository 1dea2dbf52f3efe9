/**
 * A connector's container in Docker's terms. The rules of `security` become port bindings and a network; what Docker
 * cannot keep is refused rather than kept in part: it binds ports to addresses of its host and knows nothing of who
 * connects to them.
 */
import { createHash } from "node:crypto";
import { AppError } from "../../../platform/errors.js";
import type { Security } from "../connector-schemas.js";
import type { ContainerSpec } from "./provider.js";

/** Says on every object whose it is, and from what it was made. */
export const CONNECTOR_LABEL = "io.proofwright.connector";
export const SPEC_LABEL = "io.proofwright.spec";

/** A bridge network without masquerading: published ports are reached, nothing outside is. */
export const CLOSED_NETWORK = "proofwright-closed";
export const CLOSED_NETWORK_BODY = {
  Name: CLOSED_NETWORK,
  Driver: "bridge",
  Options: { "com.docker.network.bridge.enable_ip_masquerade": "false" },
  Labels: { [CONNECTOR_LABEL]: "shared" },
} as const;

export interface PortBinding {
  readonly port: number;
  readonly protocol: "tcp" | "udp";
  readonly hostIp: string;
}

/** A tenant's container must not take the operator's machine with it. */
const MEMORY_BYTES = 2 * 1024 ** 3;
const PIDS_MAX = 1024;
const CPUS_NANO = 2_000_000_000;
const LOG_OPTIONS = { "max-size": "10m", "max-file": "3" } as const;

/** CIDRs whose meaning Docker can keep, and the host address that a port is bound to for them. */
const INGRESS_ADDRESSES: Readonly<Record<string, string>> = {
  "0.0.0.0/0": "0.0.0.0",
  "::/0": "::",
  "127.0.0.0/8": "127.0.0.1",
  "127.0.0.1/32": "127.0.0.1",
  "::1/128": "::1",
};
const LOOPBACK = "127.0.0.1";
const OPEN_EGRESS: readonly string[] = ["*", "0.0.0.0/0"];
const NO_EGRESS: readonly string[] = ["", "none"];

export function containerName(connectorId: string): string {
  return `proofwright-${connectorId}`;
}

/**
 * Throws `connector_config_invalid` for rules that Docker cannot keep. @param isLocal whether the engine's loopback is
 * this server's
 */
export function portBindings(spec: ContainerSpec, isLocal: boolean): readonly PortBinding[] {
  const bindings: PortBinding[] = [];
  for (const [cidr, ports] of Object.entries(spec.security?.ingress ?? {})) {
    const hostIp = INGRESS_ADDRESSES[cidr];
    if (hostIp === undefined)
      throw invalid(
        "config.security.ingress",
        `config.security.ingress: docker cannot limit a port to ${cidr}; it knows ${Object.keys(INGRESS_ADDRESSES).join(", ")}`,
      );
    for (const protocol of ["tcp", "udp"] as const) {
      for (const port of ports[protocol] ?? []) bindings.push({ port, protocol, hostIp });
    }
  }
  for (const port of [spec.apiPort, ...(spec.gatewayPort === undefined ? [] : [spec.gatewayPort])]) {
    if (bindings.some((binding) => binding.port === port && binding.protocol === "tcp")) continue;
    // Ours to reach and nobody else's.
    if (isLocal) bindings.push({ port, protocol: "tcp", hostIp: LOOPBACK });
    else if (port === spec.apiPort)
      throw invalid(
        "config.security.ingress",
        `config.security.ingress: the Docker engine is on another machine, so that port ${String(port)} must be open for this server to reach it`,
      );
  }
  return bindings;
}

/** True when the container is to reach nothing outside. Throws `connector_config_invalid` for rules in between. */
export function isEgressClosed(security: Security | undefined): boolean {
  const egress = security?.egress?.trim().toLowerCase();
  if (egress === undefined || OPEN_EGRESS.includes(egress)) return false;
  if (NO_EGRESS.includes(egress)) return true;
  throw invalid("config.security.egress", "config.security.egress: docker knows `*` and `none`");
}

/** Names what a container was made from; one of another hash is made anew. */
export function specHash(spec: ContainerSpec): string {
  return createHash("sha256")
    .update(
      JSON.stringify([
        spec.image,
        Object.entries(spec.env).sort(),
        spec.command ?? null,
        spec.apiPort,
        spec.gatewayPort ?? null,
        spec.security ?? null,
      ]),
    )
    .digest("hex");
}

/** The body of `POST /containers/create`. */
export function createBody(spec: ContainerSpec, isLocal: boolean): Readonly<Record<string, unknown>> {
  const bindings = portBindings(spec, isLocal);
  const names = [...new Set(bindings.map(({ port, protocol }) => `${String(port)}/${protocol}`))];
  const isClosed = isEgressClosed(spec.security);
  return {
    Image: spec.image,
    Env: Object.entries(spec.env).map(([name, value]) => `${name}=${value}`),
    ...(spec.command === undefined ? {} : { Cmd: spec.command }),
    Labels: { [CONNECTOR_LABEL]: spec.connectorId, [SPEC_LABEL]: specHash(spec) },
    ExposedPorts: Object.fromEntries(names.map((name) => [name, {}])),
    HostConfig: {
      // Any free port of the host: two connectors of one kind must not fight for one.
      PortBindings: Object.fromEntries(
        names.map((name) => [
          name,
          bindings
            .filter(({ port, protocol }) => name === `${String(port)}/${protocol}`)
            .map(({ hostIp }) => ({ HostIp: hostIp, HostPort: "" })),
        ]),
      ),
      NetworkMode: isClosed ? CLOSED_NETWORK : "bridge",
      RestartPolicy: { Name: "unless-stopped" },
      Privileged: false,
      SecurityOpt: ["no-new-privileges:true"],
      Memory: MEMORY_BYTES,
      NanoCpus: CPUS_NANO,
      PidsLimit: PIDS_MAX,
      LogConfig: { Type: "json-file", Config: LOG_OPTIONS },
    },
  };
}

/** Reads the operator's list: exact names, or beginnings with a `*` at the end. */
export function isImageAllowed(image: string, allowed: string): boolean {
  return allowed
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "")
    .some((entry) => (entry.endsWith("*") ? image.startsWith(entry.slice(0, -1)) : image === entry));
}

/** Name and tag as `POST /images/create` takes them. */
export function imageReference(image: string): { readonly fromImage: string; readonly tag?: string } {
  if (image.includes("@")) return { fromImage: image };
  const colon = image.lastIndexOf(":");
  // A colon before a slash belongs to the registry's port.
  if (colon < 0 || image.indexOf("/", colon) >= 0) return { fromImage: image, tag: "latest" };
  return { fromImage: image.slice(0, colon), tag: image.slice(colon + 1) };
}

export function invalid(path: string, message: string): AppError {
  return new AppError("connector_config_invalid", {
    message,
    details: [{ message, code: "connector_config_invalid", path }],
  });
}
