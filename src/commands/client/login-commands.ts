/** `proofwright login`, `logout` and `whoami`. */
import { systemClock } from "../../platform/clock.js";
import { StartError } from "../../platform/start-error.js";
import { ApiError } from "../../sdk/errors.js";
import { Proofwright } from "../../sdk/proofwright.js";
import { readPhrases } from "../read-phrases.js";
import { COMMAND_LINE_CLIENT_ID, loginWithBrowser } from "./login/browser-login.js";
import { printResult } from "./print-result.js";
import { withProfileLock } from "./profile-lock.js";
import { PROFILE_DEFAULT, configFolder, readProfiles, requireProfileName, writeProfile } from "./profiles.js";
import { SERVER_DEFAULT, chosenProfile, requireServerUrl, signedIn, type ClientFlags } from "./signed-in.js";

export interface LoginFlags extends ClientFlags {
  /** Logs in with the password of this user; with a browser unless given. */
  readonly email?: string;
  /** The OAuth client of another application than this program's own. */
  readonly clientId?: string;
  /** Whether the browser is on another device. */
  readonly isOnOtherDevice: boolean;
  readonly isBrowserOpened: boolean;
}

interface Login {
  readonly user: { readonly id: string; readonly email: string };
  readonly token: Awaited<ReturnType<Proofwright["tokens"]["create"]>>;
  readonly clientId?: string;
}

/**
 * Logs in with a browser, here or on another device, or with the password from the terminal, not shown, or from a pipe;
 * and keeps the tokens. A session that the profile had before ends.
 * @throws ApiError `invalid_credentials`
 * @throws ConnectionError when the server cannot be reached
 * @throws StartError for flags that exclude each other
 */
export async function runLogin(flags: LoginFlags): Promise<number> {
  const name = flags.profile ?? PROFILE_DEFAULT;
  requireProfileName(name);
  const server = requireServerUrl(flags.server ?? process.env.PW_SERVER ?? SERVER_DEFAULT);
  if (flags.email !== undefined && (flags.isOnOtherDevice || flags.clientId !== undefined))
    throw new StartError("--email logs in with a password; --device and --client-id are for the login without it.");
  const folder = configFolder(process.env);
  const { profiles } = await readProfiles(folder);
  const { user, token, clientId } =
    flags.email === undefined ? await loginByClient(server, flags) : await loginByPassword(server, flags.email);
  const nowMs = systemClock.nowMs();
  if (Object.hasOwn(profiles, name)) await endSession({ profile: name });
  await storeProfile(folder, name, {
    server,
    email: user.email,
    user_id: user.id,
    session_id: token.id,
    access_token: token.access_token,
    expires_at_ms: nowMs + token.expires_in * 1000,
    refresh_token: token.refresh_token ?? null,
    ...(clientId === undefined ? {} : { client_id: clientId }),
  });
  printResult(flags, { profile: name, server, user_id: user.id, email: user.email }, () => [
    `${user.email} is logged in to ${server}${name === PROFILE_DEFAULT ? "" : ` under the profile "${name}"`}.`,
  ]);
  return 0;
}

/** Ends the session on the server and forgets its tokens. They are forgotten too when the session was over already. */
export async function runLogout(flags: ClientFlags): Promise<number> {
  const { name, profile } = await chosenProfile(flags);
  await endSession({ ...flags, profile: name });
  await storeProfile(configFolder(process.env), name, undefined);
  printResult(flags, { profile: name }, () => [`${profile.email} is logged out of ${profile.server}.`]);
  return 0;
}

/** Tells who is logged in, as the server sees it. */
export async function runWhoAmI(flags: ClientFlags): Promise<number> {
  const { name, profile } = await chosenProfile(flags);
  const user = await (await signedIn(flags)).users.get(profile.user_id);
  printResult(flags, { profile: name, server: profile.server, user }, () => [
    `${user.email} on ${profile.server}, user ${user.id}`,
  ]);
  return 0;
}

async function loginByPassword(server: string, email: string): Promise<Login> {
  const [password = new Uint8Array()] = await readPhrases([`Password of ${email}`]);
  const text = Buffer.from(password).toString("utf8");
  password.fill(0);
  return await new Proofwright({ baseUrl: server }).auth.login({ email, password: text, scope: "offline_access" });
}

/** @throws StartError for another device without a client that may use its flow */
async function loginByClient(server: string, flags: LoginFlags): Promise<Login> {
  const { clientId = COMMAND_LINE_CLIENT_ID, isBrowserOpened } = flags;
  if (flags.isOnOtherDevice && flags.clientId === undefined)
    throw new StartError(
      "--device needs --client-id=ID of an application whose client has device_flow; without one use --email.",
    );
  // Nobody shall wait for a login page that no server has.
  await new Proofwright({ baseUrl: server }).request("GET /.well-known/oauth-authorization-server", {});
  const token = flags.isOnOtherDevice
    ? await (await import("./login/device-login.js")).loginWithDevice(server, clientId)
    : await loginWithBrowser({ server, clientId, isBrowserOpened });
  const client = new Proofwright({ baseUrl: server, token: token.access_token });
  const { body } = await client.request("POST /api/v1/oauth/introspect", { body: { token: token.access_token } });
  const user = await client.users.get((body.sub ?? "").replace(/^user:/, ""));
  return { user, token, clientId };
}

async function storeProfile(...parameters: Parameters<typeof writeProfile>): Promise<void> {
  await withProfileLock(parameters[0], async () => writeProfile(...parameters));
}

async function endSession(flags: ClientFlags): Promise<void> {
  const { profile } = await chosenProfile(flags);
  const { client_id: clientId, refresh_token: refreshToken } = profile;
  try {
    // What an OAuth client holds, it gives back itself.
    if (clientId !== undefined && refreshToken !== null)
      await new Proofwright({ baseUrl: profile.server }).request("POST /api/v1/oauth/revoke", {
        body: { token: refreshToken, client_id: clientId },
      });
    else await (await signedIn(flags)).tokens.delete(profile.session_id);
  } catch (error) {
    // A session that has ended cannot end again; its refresh token answers `invalid_grant`.
    const isOver = error instanceof ApiError && ([401, 404].includes(error.status) || error.code === "invalid_grant");
    if (!isOver) throw error;
  }
}
