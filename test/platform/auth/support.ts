import { chmodSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Clock } from "../../../src/platform/clock.js";
import type { Log } from "../../../src/platform/log.js";

/** A clock that stands until it is moved. */
export class HeldClock implements Clock {
  ms = Date.parse("2026-05-04T10:00:00.000Z");

  nowMs(): number {
    return this.ms;
  }

  monotonicMs(): number {
    return this.ms;
  }

  advanceSec(seconds: number): void {
    this.ms += seconds * 1000;
  }
}

export const quietLog: Log = {
  error: () => undefined,
  warn: () => undefined,
  info: () => undefined,
  debug: () => undefined,
};

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "identity-test-"));
  chmodSync(folder, 0o700);
  return folder;
}
