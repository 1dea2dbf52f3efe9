/** `proofwright login`, `logout` and `whoami`. */
import { systemClock } from "../../platform/clock.js";
import { ApiError } from "../../sdk/errors.js";
import { Proofwright } from "../../sdk/proofwright.js";
import { readPhrases } from "../read-phrases.js";
import { printResult } from "./print-result.js";
import { PROFILE_DEFAULT, configFolder, readProfiles, requireProfileName, writeProfile } from "./profiles.js";
import { SERVER_DEFAULT, chosenProfile, requireServerUrl, signedIn, type ClientFlags } from "./signed-in.js";

/**
 * Logs in with the password from the terminal, not shown, or from a pipe, and keeps the tokens. A session that the
 * profile had before ends.
 * @throws ApiError `invalid_credentials`
 */
export async function runLogin(flags: ClientFlags & { readonly email: string }): Promise<number> {
  const name = flags.profile ?? PROFILE_DEFAULT;
  requireProfileName(name);
  const server = requireServerUrl(flags.server ?? process.env.PW_SERVER ?? SERVER_DEFAULT);
  const folder = configFolder(process.env);
  const { profiles } = await readProfiles(folder);
  const [password = new Uint8Array()] = await readPhrases([`Password of ${flags.email}`]);
  const nowMs = systemClock.nowMs();
  const text = Buffer.from(password).toString("utf8");
  password.fill(0);
  const { user, token } = await new Proofwright({ baseUrl: server }).auth.login({
    email: flags.email,
    password: text,
    scope: "offline_access",
  });
  const before = Object.hasOwn(profiles, name);
  if (before) await endSession({ profile: name });
  await writeProfile(folder, name, {
    server,
    email: user.email,
    user_id: user.id,
    session_id: token.id,
    access_token: token.access_token,
    expires_at_ms: nowMs + token.expires_in * 1000,
    refresh_token: token.refresh_token ?? null,
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
  await writeProfile(configFolder(process.env), name, undefined);
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

async function endSession(flags: ClientFlags): Promise<void> {
  const { profile } = await chosenProfile(flags);
  try {
    await (await signedIn(flags)).tokens.delete(profile.session_id);
  } catch (error) {
    // A session that has ended cannot end again; its refresh token answers `invalid_grant`.
    const isOver = error instanceof ApiError && ([401, 404].includes(error.status) || error.code === "invalid_grant");
    if (!isOver) throw error;
  }
}
