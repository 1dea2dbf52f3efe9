/** The port of outgoing mail. Drivers: SMTP (smtp-mail.ts) and a folder (file-mail.ts). */

export interface MailMessage {
  /** One address, as stored in the account. */
  readonly to: string;
  readonly subject: string;
  /** Plain text; may hold a one-use token, so it is never logged. */
  readonly text: string;
}

export interface MailDriver {
  /** Resolves when the message was handed over. Rejects otherwise; the caller may try again. */
  send(message: MailMessage): Promise<void>;
}

/** True for a text that cannot add a header or a second address to a message. */
export function isSafeHeaderText(text: string): boolean {
  return text.length <= 998 && !/[\u0000-\u001f\u007f\u2028\u2029]/u.test(text);
}
