/** `proofwright sign` and `key verify`. */
import { readFile } from "node:fs/promises";
import { StartError } from "../../platform/start-error.js";
import type { Proofwright } from "../../sdk/proofwright.js";
import { parseJson } from "../read-text-file.js";
import type { CommandInput } from "./command-spec.js";
import { recordLines } from "./print-records.js";
import { printResult } from "./print-result.js";
import { signedIn } from "./signed-in.js";

type SignBody = Parameters<Proofwright["keys"]["sign"]>[2];

/** Formats whose message is an object. */
const OBJECT_FORMATS: readonly string[] = ["eip712", "transaction", "authorization"];

/** Signs a message, and prints the signature alone; other members of the answer with --json. */
export async function runSign(input: CommandInput): Promise<number> {
  const body = await messageOf(input);
  const client = await signedIn(input.flags);
  const answer = await client.keys.sign(input.argument(0), input.argument(1), body);
  printResult(input.flags, answer, () => {
    if (!("signature" in answer)) return recordLines(answer);
    return [answer.raw_transaction ?? answer.jws ?? answer.signature];
  });
  return 0;
}

/** Verifies a signature. Returns 0 when it is valid, 1 otherwise. */
export async function runVerifySignature(input: CommandInput): Promise<number> {
  const body = { ...(await messageOf(input)), signature: input.required("signature").replace(/^0x/i, "") };
  const client = await signedIn(input.flags);
  const answer = await client.keys.verify(input.argument(0), input.argument(1), body);
  const isValid = "verified" in answer && answer.verified;
  printResult(input.flags, answer, () => [isValid ? "The signature is valid." : "The signature is not valid."]);
  return isValid ? 0 : 1;
}

async function messageOf(input: CommandInput): Promise<SignBody> {
  const [text, file] = [input.text("message"), input.text("file")];
  if ((text === undefined) === (file === undefined))
    throw new StartError("one message is needed: --message=TEXT or --file=FILE.");
  const bytes = file === undefined ? Buffer.from(text ?? "", "utf8") : await bytesOf(file);
  const format = input.required("format");
  const path = input.text("path");
  const options = {
    // Commander takes no other value than those of the table; the server checks the rest.
    ...(input.members({ format: "format", digest: "digest", algorithm: "algorithm" }) as SignBody["options"]),
    ...(path === undefined ? {} : { hdwallet: { hd_derivation_path: path } }),
  };
  if (!OBJECT_FORMATS.includes(format)) return { message: bytes.toString("hex"), options };
  const message = parseJson(bytes.toString("utf8"), file ?? "the message");
  if (typeof message !== "object" || message === null)
    throw new StartError(`a message of the format ${format} is a JSON object.`);
  return { message: message as NonNullable<SignBody["message"]>, options };
}

/** @throws StartError that names a file which cannot be read */
async function bytesOf(file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StartError(`${file} cannot be read: ${reason}.`, { cause: error });
  }
}
