/**
 * The texts of the mails that identity sends. Each says what it is about, how long its token is good, and what to do
 * when the reader did not ask for it.
 */
import type { MailMessage } from "../../platform/mail/mail.js";

/** `address_requested`: another address takes effect when it is confirmed. */
export type AccountChange = "password" | "address" | "address_requested";

const CHANGE_TEXTS: Readonly<Record<AccountChange, string>> = {
  password: "It has a new password, and everybody who was logged in is logged out.",
  address: "It has another e-mail address; this one opens it no longer.",
  address_requested: "It is to have another e-mail address, as soon as that one is confirmed.",
};

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

/** Returns the mail with the token that confirms an address. */
export function emailConfirmationMail(input: {
  readonly to: string;
  readonly serviceUrl: string;
  readonly token: string;
  readonly minutes: number;
}): MailMessage {
  return {
    to: input.to,
    subject: "Confirm your e-mail address",
    text: [
      `Somebody gave this address for an account at ${input.serviceUrl}.`,
      "",
      `To confirm within ${String(input.minutes / 60)} hours that it is yours, use this token:`,
      "",
      `  ${input.token}`,
      "",
      `It is sent as POST ${input.serviceUrl}/api/v1/confirm_email/<token>.`,
      "If it was not you, do nothing: the address stays unconfirmed.",
    ].join("\n"),
  };
}

/** Returns the mail that tells the owner of an account, at the address before the change, what was changed. */
export function accountChangedMail(input: {
  readonly to: string;
  readonly serviceUrl: string;
  readonly changes: readonly AccountChange[];
}): MailMessage {
  return {
    to: input.to,
    subject: "Your account was changed",
    text: [
      `The account of this address at ${input.serviceUrl} was changed:`,
      "",
      ...input.changes.map((change) => `  - ${CHANGE_TEXTS[change]}`),
      "",
      "If it was you, there is nothing to do.",
      `If it was not, choose a new password with POST ${input.serviceUrl}/api/v1/reset_password, which also drops an`,
      "address that waits for its confirmation; when this address opens the account no longer, write to the operator.",
    ].join("\n"),
  };
}

/** Returns the mail that a webhook gets no more messages. */
export function webhookDisabledMail(input: {
  readonly to: string;
  readonly serviceUrl: string;
  readonly id: string;
  readonly url: string;
  readonly reason: string;
}): MailMessage {
  return {
    to: input.to,
    subject: "A webhook was disabled",
    text: [
      `The webhook ${input.id} at ${input.serviceUrl} was disabled:`,
      "",
      `  ${input.reason}.`,
      "",
      // The origin alone: paths and queries of such addresses often hold tokens.
      `It sends to ${new URL(input.url).origin}. Messages that wait are kept; events from now on are not queued for it.`,
      `To go on, enable it with PUT ${input.serviceUrl}/api/v1/webhooks/${input.id} and {"enabled": true}; what happened`,
      `to its messages is at GET ${input.serviceUrl}/api/v1/webhooks/${input.id}/deliveries.`,
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
