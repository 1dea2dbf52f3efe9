/** A log that keeps its lines for the test to look at. */
import type { Log, LogFields } from "../../src/platform/log.js";

export interface RecordedLog extends Log {
  readonly lines: { level: string; message: string; fields: LogFields }[];
}

export function recordedLog(): RecordedLog {
  const lines: RecordedLog["lines"] = [];
  const write =
    (level: string) =>
    (message: string, fields: LogFields = {}): void => {
      lines.push({ level, message, fields });
    };
  return {
    lines,
    error: write("error"),
    warn: write("warn"),
    info: write("info"),
    debug: (message, fields) => {
      write("debug")(message, fields?.());
    },
  };
}
