/** Reads a peer's addresses from the configuration. Resolves no names and opens nothing; the egress guard does. */
import { isIP } from "node:net";
import { invalidMember, type AppError } from "../../../platform/errors.js";
import type { ConnectorConfig } from "../connector-schemas.js";
import type { HttpAddress, SocketAddress, PeerAddresses } from "./peer-address.js";
import { CONNECTOR_KINDS, type ConnectorKind, type ConnectorType } from "./probes.js";
import type { ContainerRuntime } from "../providers/provider.js";

/** Returns the addresses that a configuration names. Throws `connector_config_invalid`, naming the member. */
export function addressesOf(type: ConnectorType, config: ConnectorConfig): PeerAddresses {
  const kind: ConnectorKind = CONNECTOR_KINDS[type];
  const given = config.rpc_url ?? config.api_url;
  const member = config.rpc_url === undefined ? "config.api_url" : "config.rpc_url";
  const gateway = config.gateway_url === undefined ? undefined : httpBase(config.gateway_url, "config.gateway_url");
  if (given !== undefined) return { api: fromUrl(kind, given, member, config), gateway };
  return { api: config.host === undefined ? undefined : fromHost(kind, config.host, config), gateway };
}

/** Returns the addresses of the containers that a provider runs. */
export function addressesOfRuntime(type: ConnectorType, { api, gateway }: ContainerRuntime): PeerAddresses {
  const kind: ConnectorKind = CONNECTOR_KINDS[type];
  const place =
    api === null
      ? undefined
      : kind.protocol === "http"
        ? { kind: "http" as const, url: api.url }
        : { kind: "socket" as const, host: api.host, port: api.port, tls: false, path: undefined };
  return { api: place, gateway: gateway?.url };
}

/** Returns the URL by which the egress guard checks an address. */
export function guardedUrl(address: HttpAddress | SocketAddress): string {
  return address.kind === "http" ? address.url : `https://${bracketed(address.host)}:${String(address.port)}/`;
}

function fromUrl(
  kind: ConnectorKind,
  text: string,
  member: string,
  config: ConnectorConfig,
): HttpAddress | SocketAddress {
  const { plain, tls } = kind.schemes;
  const url = parse(text, [...plain, ...tls], member);
  if (kind.protocol === "http") return { kind: "http", url: baseOf(url) };
  return {
    kind: "socket",
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port === "" ? kind.port : Number(url.port),
    tls: tls.includes(url.protocol.slice(0, -1)) || isTls(config),
    path: decodeURIComponent(url.pathname.replace(/^\/+|\/+$/g, "")) || undefined,
  };
}

function fromHost(kind: ConnectorKind, host: string, config: ConnectorConfig): HttpAddress | SocketAddress {
  const bare = host.replace(/^\[|\]$/g, "");
  if (bare.includes(":") && isIP(bare) !== 6)
    throw invalid("config.host", "config.host: expected a host name or an address; give the port in config.port");
  const port = config.port ?? config.rpc_port ?? config.api_port ?? kind.port;
  if (kind.protocol !== "http") return { kind: "socket", host: bare, port, tls: isTls(config), path: undefined };
  return {
    kind: "http",
    url: baseOf(
      parse(
        `${isTls(config) ? "https" : "http"}://${bracketed(bare)}:${String(port)}`,
        ["http", "https"],
        "config.host",
      ),
    ),
  };
}

function httpBase(text: string, member: string): string {
  return baseOf(parse(text, ["http", "https"], member));
}

function parse(text: string, schemes: readonly string[], member: string): URL {
  const scheme = text.slice(0, text.indexOf(":")).toLowerCase();
  if (!schemes.includes(scheme))
    throw invalid(
      member,
      `${member}: expected a URL that starts with ${schemes.map((name) => `${name}://`).join(" or ")}`,
    );
  if (!URL.canParse(text)) throw invalid(member, `${member}: not a URL`);
  const url = new URL(text);
  if (url.username !== "" || url.password !== "")
    throw invalid(member, `${member}: give user and password in config.credentials, which are stored in the vault`);
  if (url.hostname === "") throw invalid(member, `${member}: names no host`);
  if (url.search !== "" || url.hash !== "") throw invalid(member, `${member}: must have no query or fragment`);
  return url;
}

function baseOf(url: URL): string {
  return url.href.replace(/\/+$/, "");
}

function bracketed(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

function isTls(config: ConnectorConfig): boolean {
  return config.tls !== undefined && config.tls !== false;
}

function invalid(path: string, message: string): AppError {
  return invalidMember(path, message, "connector_config_invalid");
}
