/** Where an S3-compatible storage keeps the files, from PROOFWRIGHT_ARTIFACTS_URL. */
import { StartError } from "../../start-error.js";

export interface S3Place {
  readonly bucket: string;
  /** Of all names, with its slash; empty for none. */
  readonly prefix: string;
  readonly region: string | undefined;
  /** Of a storage that is not AWS's. */
  readonly endpoint: string | undefined;
}

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;

/**
 * Reads `s3://bucket/prefix?region=...&endpoint=https://...`.
 * @throws StartError for another form, and for an endpoint beyond this machine without TLS
 */
export function s3Place(text: string): S3Place {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== "s3:") throw refused("is no s3:// URL");
  // Whatever is in the URL is shown in lists of settings.
  if (url.username !== "" || url.password !== "")
    throw refused("must have no credentials; they come from the environment");
  const { region, endpoint, ...unknown } = Object.fromEntries(url.searchParams);
  const [other] = Object.keys(unknown);
  if (other !== undefined) throw refused(`has the parameter ${JSON.stringify(other.slice(0, 40))}, which is not known`);
  if (!BUCKET.test(url.host)) throw refused("names no bucket");
  const prefix = decodeURIComponent(url.pathname).replace(/^\/+|\/+$/g, "");
  return { bucket: url.host, prefix: prefix === "" ? "" : `${prefix}/`, region, endpoint: endpointOf(endpoint) };
}

function endpointOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isSafe = url?.protocol === "https:" || (url?.protocol === "http:" && LOOPBACK.test(url.hostname));
  if (!isSafe) throw refused("names no https:// endpoint");
  return text;
}

function refused(what: string): StartError {
  return new StartError(`PROOFWRIGHT_ARTIFACTS_URL ${what}.`);
}
