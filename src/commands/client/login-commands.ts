/** `proofwright signup`, `login`, `logout` and `whoami`. */
import { systemClock } from "../../platform/clock.js";
import { StartError } from "../../platform/start-error.js";
import { ApiError } from "../../sdk/errors.js";
import { Proofwright } from "../../sdk/proofwright.js";
import { readPhrases } from "../read-phrases.js";
import { readTextFile } from "../read-text-file.js";
import { COMMAND_LINE_CLIENT_ID, loginWithBrowser } from "./login/browser-login.js";
import { printResult } from "./print-result.js";
import { withProfileLock } from "./profile-lock.js";
import { PROFILE_DEFAULT, configFolder, readProfiles, requireProfileName, writeProfile } from "./profiles.js";
import { SERVER_DEFAULT, chosenProfile, requireServerUrl, signedIn, type ClientFlags } from "./signed-in.js";

/** Many times the length of a token. */
const TOKEN_FILE_BYTES_MAX = 1024 ** 2;

export interface LoginFlags extends ClientFlags {
  /** Logs in with the password of this user; with a browser unless given. */
  readonly email?: string;
  /** The OAuth client of another application than this program's own. */
  readonly clientId?: string;
  /** Whether the browser is on another device. */
  readonly isOnOtherDevice: boolean;
  readonly isBrowserOpened: boolean;
}

export interface SignUpFlags extends ClientFlags {
  readonly email: string;
  /** That of the invitation unless given; without one the server asks for it. */
  readonly firstName?: string;
  readonly lastName?: string;
  /** The file `bootstrap-token` of a new installation, whose first administrator this user becomes. */
  readonly bootstrapFile?: string;
  /** A file with the token of an invitation. */
  readonly invitationFile?: string;
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
  requireProfileName(flags.profile ?? PROFILE_DEFAULT);
  const server = requireServerUrl(flags.server ?? process.env.PW_SERVER ?? SERVER_DEFAULT);
  if (flags.email !== undefined && (flags.isOnOtherDevice || flags.clientId !== undefined))
    throw new StartError("--email logs in with a password; --device and --client-id are for the login without it.");
  const login =
    flags.email === undefined ? await loginByClient(server, flags) : await loginByPassword(server, flags.email);
  await keepLogin(flags, server, login);
  return 0;
}

/**
 * Creates a user with a password from the terminal, not shown and typed twice, or from a pipe; and logs in as it.
 * @throws ApiError for what the server refuses of the user
 * @throws ConnectionError when the server cannot be reached
 * @throws StartError when the passwords differ, or a file cannot be read
 */
export async function runSignUp(flags: SignUpFlags): Promise<number> {
  requireProfileName(flags.profile ?? PROFILE_DEFAULT);
  const server = requireServerUrl(flags.server ?? process.env.PW_SERVER ?? SERVER_DEFAULT);
  const token = flags.bootstrapFile && (await readTokenFile(flags.bootstrapFile));
  const invitation = flags.invitationFile && (await readTokenFile(flags.invitationFile));
  const password = await readNewPassword(flags.email);
  await createUser(server, token, {
    email: flags.email,
    password,
    ...(flags.firstName === undefined ? {} : { first_name: flags.firstName }),
    ...(flags.lastName === undefined ? {} : { last_name: flags.lastName }),
    ...(invitation === undefined ? {} : { invitation_token: invitation }),
  });
  const { email } = flags;
  await keepLogin(
    flags,
    server,
    await new Proofwright({ baseUrl: server }).auth.login({ email, password, scope: "offline_access" }),
  );
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

/** @throws StartError when the bootstrap token is none, or none any more */
async function createUser(
  server: string,
  token: string | undefined,
  body: Parameters<Proofwright["users"]["create"]>[0],
): Promise<void> {
  try {
    await new Proofwright({ baseUrl: server, ...(token === undefined ? {} : { token }) }).users.create(body);
  } catch (error) {
    if (token === undefined || !(error instanceof ApiError) || error.status !== 401) throw error;
    throw new StartError(
      "the server does not take the token of --bootstrap-file: it has its first administrator, or the token is an old one.",
    );
  }
}

/** Ends the session that the profile had, keeps the new one, and tells whose it is. */
async function keepLogin(flags: ClientFlags, server: string, { user, token, clientId }: Login): Promise<void> {
  const name = flags.profile ?? PROFILE_DEFAULT;
  const folder = configFolder(process.env);
  const { profiles } = await readProfiles(folder);
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
}

/** @throws StartError when the two passwords typed at a terminal differ */
async function readNewPassword(email: string): Promise<string> {
  // A pipe has it once: nobody mistypes there.
  const prompts = [`Password for ${email}`, ...(process.stdin.isTTY ? ["The same again"] : [])];
  const phrases = await readPhrases(prompts);
  const [password = "", again = password] = phrases.map((phrase) => Buffer.from(phrase).toString("utf8"));
  for (const phrase of phrases) phrase.fill(0);
  if (password !== again) throw new StartError("the two passwords differ; nothing was created.");
  return password;
}

/** Reads the token that a file holds. */
async function readTokenFile(path: string): Promise<string> {
  return (await readTextFile(path, TOKEN_FILE_BYTES_MAX)).trim();
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
