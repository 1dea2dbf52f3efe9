/**
 * Structured log: one JSON line per event on standard error. Only the fields named here can be written: an allow-list,
 * so that no body, header, witness or key reaches the log by mistake.
 */
import pino from "pino";
import { stackFrames } from "./stack-frames.js";

/** The fields that a log line may have beside its message: ids, names of the program's own, and numbers. */
export interface LogFields {
  readonly request_id?: string;
  readonly route?: string;
  readonly method?: string;
  readonly status?: number;
  readonly code?: string;
  readonly subject?: string;
  /** `application:<uuid>` or `organization:<uuid>` that the action concerns. */
  readonly tenant?: string;
  readonly duration_ms?: number;
  readonly prover_id?: string;
  readonly verifier_id?: string;
  readonly vault_id?: string;
  readonly store_id?: string;
  readonly key_id?: string;
  readonly job_id?: string;
  readonly webhook_id?: string;
  /** Name of another node of the cluster. */
  readonly node?: string;
  /** What only one node of a cluster does. */
  readonly duty?: string;
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
  /** Written as `stack`: the error's name and frames, without its message, which may quote a secret. */
  readonly error?: unknown;
  /** Frames of an error in another thread (`stackFrames`). */
  readonly stack?: string;
}

export interface Log {
  error(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  /** @param fields called only when debug lines are written */
  debug(message: string, fields?: () => LogFields): void;
}

export type LogLevel = "error" | "warn" | "info" | "debug" | "silent";

/** Creates a log that writes lines of this level and above to standard error, synchronously. */
export function createLog(level: LogLevel): Log {
  const sink = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (word) => ({ level: word }) },
    },
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

/** Replaces an error by its frames. */
function writable(fields: LogFields = {}): LogFields {
  if (fields.error === undefined) return fields;
  const { error, ...rest } = fields;
  const stack = rest.stack ?? stackFrames(error);
  return stack === undefined ? rest : { ...rest, stack };
}
