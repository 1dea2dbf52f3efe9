/**
 * Structured log: one JSON line per event on standard error. Only the fields named here can be written, so that a body,
 * a header, a witness or a key cannot slip in: an allow-list, not redaction.
 */
import pino from "pino";
import { stackFrames } from "./stack-frames.js";

/** What a log line may carry beside its message. Ids and figures only. */
export interface LogFields {
  readonly request_id?: string;
  readonly route?: string;
  readonly method?: string;
  readonly status?: number;
  readonly code?: string;
  readonly subject?: string;
  /** `application:<uuid>` or `organization:<uuid>` that the subject did something on. */
  readonly tenant?: string;
  readonly duration_ms?: number;
  readonly prover_id?: string;
  readonly vault_id?: string;
  readonly key_id?: string;
  readonly job_id?: string;
  readonly kind?: string;
  readonly step?: string;
  readonly attempt?: number;
  readonly lane?: string;
  readonly count?: number;
  readonly bytes?: number;
  readonly state?: string;
  readonly path?: string;
  readonly address?: string;
  readonly signal?: string;
  /** What went wrong: its name and frames are written as `stack`; its message is not, because it may quote a secret. */
  readonly error?: unknown;
  /** Frames that another thread answered (`stackFrames`). */
  readonly stack?: string;
}

export interface Log {
  error(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  /** @param fields made only where debug lines are written */
  debug(message: string, fields?: () => LogFields): void;
}

export type LogLevel = "error" | "warn" | "info" | "debug" | "silent";

export function createLog(level: LogLevel): Log {
  const sink = pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination({ fd: 2, sync: true }),
  );
  return {
    error: (message, fields) => {
      sink.error(writable(fields), message);
    },
    warn: (message, fields) => {
      sink.warn(writable(fields), message);
    },
    info: (message, fields) => {
      sink.info(writable(fields), message);
    },
    debug: (message, fields) => {
      if (sink.isLevelEnabled("debug")) sink.debug(writable(fields?.()), message);
    },
  };
}

/** The fields as they are written: of an error only its frames. */
function writable(fields: LogFields = {}): LogFields {
  if (fields.error === undefined) return fields;
  const { error, ...rest } = fields;
  const stack = rest.stack ?? stackFrames(error);
  return stack === undefined ? rest : { ...rest, stack };
}
