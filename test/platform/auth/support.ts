import type { Clock } from "../../../src/platform/clock.js";
import type { Log } from "../../../src/platform/log.js";
import { folderOfTest } from "../../support/temporary-folder.js";

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
  return folderOfTest("identity");
}
