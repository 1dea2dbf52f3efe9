/** What a page tells a person whose login was refused. */
import { AppError, type ErrorCode } from "../../platform/errors.js";

const SENTENCES: Readonly<Partial<Record<ErrorCode, string>>> = {
  invalid_credentials: "The e-mail address or the password is wrong.",
  email_unconfirmed:
    "The e-mail address is not confirmed yet. Confirm it with the token in the mail to this address, then log in again. POST /api/v1/confirm_email sends the mail again.",
};

/**
 * Returns the sentence for a person whose login failed with this error; undefined for an error that is nothing that
 * another look at the form could mend.
 */
export function loginRefusal(error: unknown): string | undefined {
  return error instanceof AppError ? SENTENCES[error.code] : undefined;
}
