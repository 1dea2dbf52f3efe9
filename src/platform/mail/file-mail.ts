/** Mail for development: writes each message to a private file in a folder, and sends nothing. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../clock.js";
import { newId } from "../ids.js";
import { isSafeHeaderText, type MailDriver, type MailMessage } from "./mail.js";

/**
 * Creates the driver.
 * @param options.folder created when missing; the files are readable by their owner only, because they hold tokens
 */
export function createFileMail(
  options: { readonly folder: string; readonly from: string },
  dependencies: { readonly clock: Clock },
): MailDriver {
  return {
    send: async (message: MailMessage) => {
      if (![message.to, message.subject].every(isSafeHeaderText))
        throw new Error("a mail header contains characters that are not allowed in a header");
      await mkdir(options.folder, { recursive: true, mode: 0o700 });
      const date = new Date(dependencies.clock.nowMs());
      const text = [
        `From: ${options.from}`,
        `To: ${message.to}`,
        `Subject: ${message.subject}`,
        `Date: ${date.toUTCString()}`,
        "",
        message.text,
        "",
      ].join("\n");
      const name = `${date.toISOString().replaceAll(":", "-")}-${newId().slice(0, 8)}.eml`;
      await writeFile(join(options.folder, name), text, { mode: 0o600, flag: "wx" });
    },
  };
}
