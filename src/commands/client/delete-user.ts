/** `proofwright admin delete-user`. */
import { StartError } from "../../platform/start-error.js";
import type { Proofwright } from "../../sdk/proofwright.js";
import type { CommandInput } from "./command-spec.js";
import { printResult } from "./print-result.js";
import { recordLines } from "./print-records.js";
import { withProfileLock } from "./profile-lock.js";
import { configFolder, writeProfile } from "./profiles.js";
import { chosenProfile, signedIn, usesTokenVariable } from "./signed-in.js";

/**
 * Deletes a user. Oneself only with --myself, and then the login that the command was given with goes as well.
 * @throws StartError when it is oneself and nobody said so, or somebody said so and it is another
 */
export async function runDeleteUser(input: CommandInput): Promise<number> {
  const client = await signedIn(input.flags);
  const id = input.argument(0);
  const isMyself = id === (await ownId(client, input));
  if (isMyself && !input.isSet("myself"))
    throw new StartError("this is the user you are logged in as: pass --myself to delete it with everything it owns.");
  if (!isMyself && input.isSet("myself"))
    throw new StartError("--myself is for the user you are logged in as, and this is another.");
  await client.users.delete(id);
  if (isMyself && !usesTokenVariable(input.flags)) await forgetLogin(input);
  printResult(input.flags, undefined, () => recordLines(undefined));
  return 0;
}

/** Returns the id of the user whose token the command uses; a personal token is asked about at the server. */
async function ownId(client: Proofwright, { flags }: CommandInput): Promise<string | undefined> {
  if (!usesTokenVariable(flags)) return (await chosenProfile(flags)).profile.user_id;
  for await (const { subject } of client.tokens.list()) return subject.replace(/^user:/, "");
  return undefined;
}

async function forgetLogin({ flags }: CommandInput): Promise<void> {
  const { name } = await chosenProfile(flags);
  const folder = configFolder(process.env);
  await withProfileLock(folder, () => writeProfile(folder, name, undefined));
}
