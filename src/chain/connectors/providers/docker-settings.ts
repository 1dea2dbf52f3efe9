/**
 * The settings of a connector's container for Docker. The rules of `security` become port bindings and a network. A
 * rule that Docker cannot enforce is refused rather than enforced in part: Docker binds ports to addresses of its host,
 * and cannot limit which clients connect to them.
 */
import { createHash } from "node:crypto";
import { invalidMember, type AppError } from "../../../platform/errors.js";
import type { Security } from "../connector-schemas.js";
import type { ContainerSpec } from "./provider.js";

/** Labels of every object: the connector that it belongs to, and the hash of the settings that it was made from. */
export const CONNECTOR_LABEL = "io.proofwright.connector";
export const SETTINGS_LABEL = "io.proofwright.spec";

/**
 * The networks of containers: in both, none reaches another one, whose owner may be another tenant. Without
 * masquerading, what a container sends comes from an address that nobody answers. Published ports are reached in both.
 */
export interface NetworkBody {
  readonly Name: string;
  /** Older engines make a second network of a name without it. */
  readonly CheckDuplicate: true;
  readonly Driver: "bridge";
  readonly EnableIPv6: false;
  readonly Options: Readonly<Record<string, string>>;
  readonly Labels: Readonly<Record<string, string>>;
}
const OPEN_NETWORK = networkBody("proofwright-egress", { canMasquerade: true });
const CLOSED_NETWORK = networkBody("proofwright-no-egress", { canMasquerade: false });

/** Whether the engine runs on this server's machine. */
interface EngineLocation {
  readonly isLocal: boolean;
}

interface PortBinding {
  readonly port: number;
  readonly protocol: "tcp" | "udp";
  readonly hostIp: string;
}

/** Limits of one container, so that a tenant's container cannot exhaust the operator's machine. */
const MEMORY_BYTES = 2 * 1024 ** 3;
const PIDS_MAX = 1024;
const CPUS_NANO = 2_000_000_000;
const LOG_OPTIONS = { "max-size": "10m", "max-file": "3" } as const;

/** CIDRs that Docker can enforce, and the address of the host to which it binds a port for each. */
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

/**
 * Docker forwards the questions of names that it does not know to the resolver of its host, also from a network that
 * leads nowhere. At 0.0.0.0, which is the container itself, nobody answers, and a program is told so after a second.
 */
const NO_RESOLVER = { Dns: ["0.0.0.0"], DnsOptions: ["timeout:1", "attempts:1"] } as const;

/** Returns the name of a connector's container. */
export function containerName(connectorId: string): string {
  return `proofwright-${connectorId}`;
}

/**
 * Returns the port bindings for the rules of ingress. Throws `connector_config_invalid` for rules that Docker cannot
 * enforce.
 * @param engine.isLocal true when the engine's loopback interface is this server's
 */
export function portBindings(spec: ContainerSpec, { isLocal }: EngineLocation): readonly PortBinding[] {
  const bindings: PortBinding[] = [];
  for (const [cidr, ports] of Object.entries(spec.security?.ingress ?? {})) {
    const hostIp = INGRESS_ADDRESSES[cidr];
    if (hostIp === undefined)
      throw invalid(
        "config.security.ingress",
        `config.security.ingress: docker cannot limit a port to ${cidr}; it supports ${Object.keys(INGRESS_ADDRESSES).join(", ")}`,
      );
    for (const protocol of ["tcp", "udp"] as const) {
      for (const port of ports[protocol] ?? []) bindings.push({ port, protocol, hostIp });
    }
  }
  for (const port of [spec.apiPort, ...(spec.gatewayPort === undefined ? [] : [spec.gatewayPort])]) {
    const bound = bindings.filter((binding) => binding.port === port && binding.protocol === "tcp");
    // This server connects by IPv4, which a rule for IPv6 alone does not open.
    if (bound.some(({ hostIp }) => !isLocal || !hostIp.includes(":"))) continue;
    // On the loopback interface, only this server reaches the port.
    if (isLocal) bindings.push({ port, protocol: "tcp", hostIp: LOOPBACK });
    else if (port === spec.apiPort)
      throw invalid(
        "config.security.ingress",
        `config.security.ingress: the Docker engine is on another machine; open port ${String(port)}, so that this server can reach it`,
      );
  }
  return bindings;
}

/** Whether the container may reach nothing outside. Throws `connector_config_invalid` for partial rules. */
function isEgressClosed(security: Security | undefined): boolean {
  const egress = security?.egress?.trim().toLowerCase();
  if (egress === undefined || OPEN_EGRESS.includes(egress)) return false;
  if (NO_EGRESS.includes(egress)) return true;
  throw invalid("config.security.egress", "config.security.egress: docker supports `*` and `none`");
}

/** Returns the network of a container. Throws `connector_config_invalid` for rules that Docker cannot enforce. */
export function networkOf(security: Security | undefined): NetworkBody {
  return isEgressClosed(security) ? CLOSED_NETWORK : OPEN_NETWORK;
}

/** Returns a hash of the settings that a container is made from; a container with another hash is replaced. */
export function settingsHash(spec: ContainerSpec): string {
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

/**
 * Returns the body of `POST /containers/create`.
 * @param networkId of the engine's network that `networkOf` describes
 */
export function createBody(
  spec: ContainerSpec,
  engine: EngineLocation,
  networkId: string,
): Readonly<Record<string, unknown>> {
  const bindings = portBindings(spec, engine);
  const names = [...new Set(bindings.map(({ port, protocol }) => `${String(port)}/${protocol}`))];
  return {
    Image: spec.image,
    Env: Object.entries(spec.env).map(([name, value]) => `${name}=${value}`),
    ...(spec.command === undefined ? {} : { Cmd: spec.command }),
    Labels: { [CONNECTOR_LABEL]: spec.connectorId, [SETTINGS_LABEL]: settingsHash(spec) },
    ExposedPorts: Object.fromEntries(names.map((name) => [name, {}])),
    HostConfig: {
      // Docker chooses a free port of the host, so that two connectors of one type do not conflict.
      PortBindings: Object.fromEntries(
        names.map((name) => [
          name,
          bindings
            .filter(({ port, protocol }) => name === `${String(port)}/${protocol}`)
            .map(({ hostIp }) => ({ HostIp: hostIp, HostPort: "" })),
        ]),
      ),
      NetworkMode: networkId,
      ...(isEgressClosed(spec.security) ? NO_RESOLVER : {}),
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

/** Returns true for an image in the operator's list, which has exact names or beginnings followed by `*`. */
export function isImageAllowed(image: string, allowed: string): boolean {
  return allowed
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "")
    .some((entry) => (entry.endsWith("*") ? image.startsWith(entry.slice(0, -1)) : image === entry));
}

/** Returns name and tag as `POST /images/create` takes them. */
export function imageReference(image: string): { readonly fromImage: string; readonly tag?: string } {
  if (image.includes("@")) return { fromImage: image };
  const colon = image.lastIndexOf(":");
  // A colon before a slash belongs to the registry's port.
  if (colon < 0 || image.indexOf("/", colon) >= 0) return { fromImage: image, tag: "latest" };
  return { fromImage: image.slice(0, colon), tag: image.slice(colon + 1) };
}

/** Returns the error for a member that Docker cannot use. */
export function invalid(path: string, message: string): AppError {
  return invalidMember(path, message, "connector_config_invalid");
}

function networkBody(name: string, { canMasquerade }: { readonly canMasquerade: boolean }): NetworkBody {
  return {
    Name: name,
    CheckDuplicate: true,
    Driver: "bridge",
    // Its addresses would be reachable without masquerading.
    EnableIPv6: false,
    Options: {
      "com.docker.network.bridge.enable_icc": "false",
      "com.docker.network.bridge.enable_ip_masquerade": String(canMasquerade),
    },
    Labels: { [CONNECTOR_LABEL]: "shared" },
  };
}
