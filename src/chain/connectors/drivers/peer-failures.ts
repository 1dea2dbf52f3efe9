/** Turns failures on the way to a peer into the errors of connectors. No message repeats what the peer said. */
import { AppError } from "../../../platform/errors.js";

/** A peer has this long to answer one question. */
export const PEER_TIMEOUT_MS = 5_000;

/** Codes of Node's TLS for a certificate that is not trusted, not valid now, or of another name. */
const CERTIFICATE_CODES = /CERT|SELF_SIGNED|UNABLE_TO_|ERR_TLS_/;

export const unreachable = (cause?: unknown): AppError =>
  failure("connector_unreachable", "the peer cannot be reached", cause);
export const timedOut = (cause?: unknown): AppError =>
  failure("connector_timeout", "the peer did not answer in time", cause);
export const credentialsRejected = (cause?: unknown): AppError =>
  failure("connector_refused", "the peer rejects the connector's credentials", cause);
export const answerInvalid = (what: string, cause?: unknown): AppError =>
  failure("connector_answer_invalid", `the peer's answer is not that of ${what}`, cause);

/** Returns a failure of the egress guard as one of connectors; a refusal of the guard is returned unchanged. */
export function fromEgress(error: unknown): unknown {
  if (!(error instanceof AppError)) return error;
  const code: string = error.code;
  switch (code) {
    case "egress_timeout":
      return timedOut(error);
    case "egress_unreachable":
      return unreachable(error);
    case "egress_answer_too_large":
      return failure("connector_answer_invalid", "the peer's answer is too long", error);
    default:
      return error;
  }
}

/** Returns a failure of a socket or of a peer's library as one of connectors; after an abort, the signal's reason. */
export function fromSocket(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  if (error instanceof AppError) return fromEgress(error);
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return CERTIFICATE_CODES.test(code)
    ? failure("connector_refused", "the peer's certificate is not valid or not trusted", error)
    : unreachable(error);
}

function failure(
  code: "connector_unreachable" | "connector_timeout" | "connector_refused" | "connector_answer_invalid",
  message: string,
  cause: unknown,
): AppError {
  return new AppError(code, { message, ...(cause === undefined ? {} : { cause }) });
}
