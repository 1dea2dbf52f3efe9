/**
 * Turns what may go wrong on the way to a peer into the errors of connectors. No message repeats what the peer said.
 */
import { AppError } from "../../../platform/errors.js";

/** Longest time that a peer gets for one question. */
export const PEER_TIMEOUT_MS = 5_000;

/** Codes of Node's TLS for a certificate that is not trusted, not valid now, or of another name. */
const CERTIFICATE_CODES = /CERT|SELF_SIGNED|UNABLE_TO_|ERR_TLS_/;

export const unreachable = (cause?: unknown): AppError =>
  failure("connector_unreachable", "the peer cannot be reached", cause);
export const timedOut = (cause?: unknown): AppError =>
  failure("connector_timeout", "the peer did not answer in time", cause);
export const credentialsRejected = (cause?: unknown): AppError =>
  failure("connector_refused", "the peer does not take the connector's credentials", cause);
export const answerInvalid = (what: string, cause?: unknown): AppError =>
  failure("connector_answer_invalid", `the peer's answer is not that of ${what}`, cause);

/** The guard's failures in the words of connectors; what it refuses stays its own error. */
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

/** What a peer's own library or socket threw. */
export function fromSocket(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  if (error instanceof AppError) return fromEgress(error);
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return CERTIFICATE_CODES.test(code)
    ? failure("connector_refused", "the peer's certificate does not hold", error)
    : unreachable(error);
}

function failure(
  code: "connector_unreachable" | "connector_timeout" | "connector_refused" | "connector_answer_invalid",
  message: string,
  cause: unknown,
): AppError {
  return new AppError(code, { message, ...(cause === undefined ? {} : { cause }) });
}
