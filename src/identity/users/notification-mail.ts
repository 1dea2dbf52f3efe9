/**
 * The texts of the mails that identity sends. Each says what it is about, how long it holds, and what to do when it was
 * not asked for.
 */
import type { MailMessage } from "../../platform/mail/mail.js";

export function passwordResetMail(input: {
  readonly to: string;
  readonly serviceUrl: string;
  readonly token: string;
  readonly minutes: number;
}): MailMessage {
  return {
    to: input.to,
    subject: "Reset your password",
    text: [
      `Somebody asked to reset the password of this address at ${input.serviceUrl}.`,
      "",
      `To choose a new one within ${String(input.minutes)} minutes, use this token:`,
      "",
      `  ${input.token}`,
      "",
      `It is sent as POST ${input.serviceUrl}/api/v1/reset_password/<token> with {"password": "..."}.`,
      "If it was not you, do nothing: the password stays as it is.",
    ].join("\n"),
  };
}

export function invitationMail(input: {
  readonly to: string;
  readonly serviceUrl: string;
  readonly token: string;
  readonly hours: number;
  readonly what: string;
}): MailMessage {
  return {
    to: input.to,
    subject: `Invitation to ${input.what}`,
    text: [
      `You are invited to ${input.what} at ${input.serviceUrl}.`,
      "",
      `To accept within ${String(input.hours)} hours, sign up or log in with this invitation token:`,
      "",
      `  ${input.token}`,
      "",
      `It is sent as "invitation_token" with POST ${input.serviceUrl}/api/v1/users or ${input.serviceUrl}/api/v1/authenticate.`,
      "If you do not know what this is about, do nothing.",
    ].join("\n"),
  };
}
