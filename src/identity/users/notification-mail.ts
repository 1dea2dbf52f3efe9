/**
 * The texts of the mails that identity sends. Each says what it is about, how long its token is good, and what to do
 * when the reader did not ask for it.
 */
import type { MailMessage } from "../../platform/mail/mail.js";

/** Returns the mail with the token of a password reset. */
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

/** Returns the mail with the token of an invitation. */
export function invitationMail(input: {
  readonly to: string;
  readonly serviceUrl: string;
  readonly token: string;
  readonly hours: number;
  /** Name of the application or organization, or of the service. */
  readonly placeName: string;
}): MailMessage {
  return {
    to: input.to,
    subject: `Invitation to ${input.placeName}`,
    text: [
      `You are invited to ${input.placeName} at ${input.serviceUrl}.`,
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
