/** The SDK's client for the profile that a command names: its token is renewed shortly before it expires. */
import { systemClock } from "../../platform/clock.js";
import { StartError } from "../../platform/start-error.js";
import { Proofwright } from "../../sdk/proofwright.js";
import { withProfileLock } from "./profile-lock.js";
import { PROFILE_DEFAULT, configFolder, readProfiles, requireProfileName, writeProfile } from "./profiles.js";
import type { Profile } from "./profiles.js";

/** Flags that every command of the client takes. */
export interface ClientFlags {
  readonly profile?: string;
  readonly server?: string;
  readonly json?: boolean;
}

/** Who is not logged in; the exit status tells it apart from other wrong use. */
export class NotSignedInError extends StartError {
  override readonly name = "NotSignedInError";
}

/** A token that expires sooner is renewed first: what a command sends at once must arrive. */
const RENEW_BEFORE_MS = 60_000;
/** Not of the server's own prefix, whose unknown names it refuses. */
const TOKEN_VARIABLE = "PW_TOKEN";
const SERVER_VARIABLE = "PW_SERVER";
const LOOPBACK_HOSTS = ["127.0.0.1", "localhost", "[::1]"];
export const SERVER_DEFAULT = "http://127.0.0.1:8080";

/**
 * Checks a server's address, to which passwords and tokens are sent.
 * @throws StartError when it is no web address, or a plain one beyond this machine
 */
export function requireServerUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !["http:", "https:"].includes(url.protocol) || url.username !== "")
    throw new StartError(`"${text}" is not a server's address; one looks like https://proofwright.example.com.`);
  if (url.protocol === "http:" && !LOOPBACK_HOSTS.includes(url.hostname))
    throw new StartError(`${text} would send passwords and tokens readable on the way; name the server with https://.`);
  return text.replace(/\/+$/, "");
}

/**
 * Returns a client of the profile, or of the token in PW_TOKEN and the server in PW_SERVER or --server.
 * @throws NotSignedInError when there is neither
 * @throws StartError when --server names another server than the profile's, whose token must not go there
 */
export async function signedIn(flags: ClientFlags): Promise<Proofwright> {
  const { [TOKEN_VARIABLE]: token = "", [SERVER_VARIABLE]: server } = process.env;
  const named = flags.server ?? server;
  if (usesTokenVariable(flags)) return new Proofwright({ baseUrl: requireServerUrl(named ?? SERVER_DEFAULT), token });
  const { name, profile } = await chosenProfile(flags);
  if (flags.server !== undefined && requireServerUrl(flags.server) !== profile.server)
    throw new StartError(
      `profile "${name}" is of ${profile.server}. Log in to ${flags.server} under another name: \`proofwright login --server=${flags.server} --profile=NAME\`.`,
    );
  return new Proofwright({ baseUrl: profile.server, token: freshTokens(name, profile) });
}

/** Whether a command uses the token in PW_TOKEN, and no profile. */
export function usesTokenVariable({ profile }: ClientFlags): boolean {
  const { [TOKEN_VARIABLE]: token } = process.env;
  return token !== undefined && token !== "" && profile === undefined;
}

/** Returns what to do when the server does not accept the token of a command any more. */
export function wayToLogIn(flags: ClientFlags): string {
  if (usesTokenVariable(flags))
    return `the token in ${TOKEN_VARIABLE} is not accepted: it has expired or was revoked. Make another with \`proofwright admin token\`, or unset it`;
  return `the session has ended, or was revoked. Run \`${loginCommand(flags.profile ?? PROFILE_DEFAULT)}\``;
}

function loginCommand(profile: string): string {
  return `proofwright login${profile === PROFILE_DEFAULT ? "" : ` --profile=${profile}`}`;
}

/**
 * Returns the profile that the flags name.
 * @throws NotSignedInError when there is none
 */
export async function chosenProfile({ profile: name = PROFILE_DEFAULT }: ClientFlags) {
  requireProfileName(name);
  const { profiles } = await readProfiles(configFolder(process.env));
  const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (profile === undefined)
    throw new NotSignedInError(`nobody is logged in under the profile "${name}". Run \`${loginCommand(name)}\`.`);
  return { name, profile };
}

/** Returns what gives the token of each request. Requests that begin together renew it once. */
function freshTokens(name: string, profile: Profile): () => Promise<string> {
  let current = Promise.resolve(profile);
  return async () => {
    current = current.then((known) => renewed(name, known));
    return (await current).access_token;
  };
}

async function renewed(name: string, known: Profile): Promise<Profile> {
  if (!isEnding(known)) return known;
  const folder = configFolder(process.env);
  return await withProfileLock(folder, async () => {
    // Another command may have renewed it meanwhile: a refresh token is good once.
    const { profiles } = await readProfiles(folder);
    const stored = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
    const profile = stored?.session_id === known.session_id ? stored : known;
    if (!isEnding(profile) || profile.refresh_token === null) return profile;
    const nowMs = systemClock.nowMs();
    const token = await new Proofwright({ baseUrl: profile.server }).tokens.create({
      grant_type: "refresh_token",
      refresh_token: profile.refresh_token,
      ...(profile.client_id === undefined ? {} : { client_id: profile.client_id }),
    });
    const next: Profile = {
      ...profile,
      access_token: token.access_token,
      expires_at_ms: nowMs + token.expires_in * 1000,
      refresh_token: token.refresh_token ?? null,
    };
    await writeProfile(folder, name, next);
    return next;
  });
}

function isEnding({ refresh_token: refreshToken, expires_at_ms: expiresAtMs }: Profile): boolean {
  return refreshToken !== null && systemClock.nowMs() >= expiresAtMs - RENEW_BEFORE_MS;
}
