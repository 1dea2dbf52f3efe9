/** `proofwright admin token`. */
import { StartError } from "../../platform/start-error.js";
import type { CommandInput } from "./command-spec.js";
import { wholeNumber } from "./command-spec.js";
import { printResult } from "./print-result.js";
import { writeNewFile } from "./secret-commands.js";
import { signedIn } from "./signed-in.js";

const DAYS_MAX = 3650;

/**
 * Makes a personal access token.
 * @throws StartError when it would be shown on a terminal and nobody asked to see it; no token is made then
 */
export async function runTokenCreate(input: CommandInput): Promise<number> {
  const [output, days] = [input.text("output"), input.text("days")];
  if (output === undefined && process.stdout.isTTY && !input.isSet("show"))
    throw new StartError("the token would be shown on the terminal: pass --output=FILE, a pipe, or --show.");
  const client = await signedIn(input.flags);
  const token = await client.tokens.createPersonal({
    name: input.argument(0),
    ...(days === undefined ? {} : { expires_in_days: await wholeNumber(days, "--days", { min: 1, max: DAYS_MAX }) }),
  });
  if (output === undefined) {
    printResult(input.flags, token, () => [token.access_token]);
    return 0;
  }
  try {
    await writeNewFile(output, `${token.access_token}\n`);
  } catch (error) {
    // Nobody has it, and so nobody shall be able to use it.
    await client.tokens.delete(token.id);
    throw error;
  }
  const { id, expires_at } = token;
  printResult(input.flags, { output, id, expires_at }, () => [`The token ${id} is in ${output} until ${expires_at}.`]);
  return 0;
}
