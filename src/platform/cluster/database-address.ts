/**
 * Where the cluster's PostgreSQL is, from its URL. Beyond this machine the connection is TLS with a checked
 * certificate: whoever reads the log reads the whole store, and the URL has the password.
 */
import { readFileSync } from "node:fs";
import type { ConnectionOptions } from "node:tls";
import { AppError } from "../errors.js";

export interface DatabaseAddress {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string | undefined;
  readonly database: string;
  readonly ssl: false | ConnectionOptions;
}

const DEFAULT_PORT = 5432;
const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[?::1\]?)$/;

/**
 * Reads `postgres://user:password@host:port/database`. `?host=/folder` names the folder of a Unix socket instead, and
 * `?sslrootcert=file` the certificates that the server's one is checked with; `sslmode` may only say `verify-full`.
 * @throws invalid_request for another form; the message never contains the URL
 */
export function databaseAddress(text: string): DatabaseAddress {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^postgres(ql)?:$/.test(url.protocol)) throw refused("is not a postgres:// URL");
  const { host: folder, sslmode, sslrootcert, ...unknown } = Object.fromEntries(url.searchParams);
  const [other] = Object.keys(unknown);
  if (other !== undefined) throw refused(`has the parameter ${JSON.stringify(other.slice(0, 40))}, which is not known`);
  if (sslmode !== undefined && sslmode !== "verify-full") throw refused("may have no sslmode but verify-full");
  if (folder !== undefined && !folder.startsWith("/")) throw refused("names no folder of a Unix socket with `host`");
  const host = folder ?? url.hostname;
  const database = decodeURIComponent(url.pathname.slice(1));
  if (host === "" || url.username === "" || database === "") throw refused("lacks its host, user or database");
  const isLocal = folder !== undefined || (LOOPBACK.test(host) && sslmode === undefined);
  return {
    host: host.replace(/^\[|\]$/g, ""),
    port: url.port === "" ? DEFAULT_PORT : Number(url.port),
    user: decodeURIComponent(url.username),
    password: url.password === "" ? undefined : decodeURIComponent(url.password),
    database,
    ssl: isLocal ? false : { rejectUnauthorized: true, ...certificatesOf(sslrootcert) },
  };
}

function certificatesOf(file: string | undefined): ConnectionOptions {
  if (file === undefined) return {};
  try {
    return { ca: readFileSync(file, "utf8") };
  } catch (cause) {
    throw new AppError("invalid_request", { message: `the file of sslrootcert cannot be read: ${file}`, cause });
  }
}

function refused(what: string): AppError {
  return new AppError("invalid_request", { message: `the URL of the cluster's database ${what}` });
}
