/** Whether a lock's holder still runs, where the system says little of processes, and beside other containers. */
import { chmodSync, mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { bootId } from "../../../src/platform/files/boot-id.js";
import { lockFolder, refuseOtherContainer } from "../../../src/platform/files/folder-lock.js";
import { pidNamespace, startedAtMs } from "../../../src/platform/files/process-identity.js";
import { newFolder, removeFolder } from "../../support/temporary-folder.js";

const base = newFolder("lock");
let count = 0;
afterEach(() => {
  vi.unstubAllEnvs();
});
afterAll(() => {
  removeFolder(base);
});

/** Makes a folder with the lock of a holder that last renewed it some seconds ago. */
function lockedFolder(holder: object, { seconds = 0 }: { readonly seconds?: number } = {}): string {
  const folder = join(base, String((count += 1)));
  mkdirSync(folder);
  const path = join(folder, "server.lock");
  writeFileSync(
    path,
    JSON.stringify({ token: "t", pid: process.pid, started: "", boot: bootId(), host: hostname(), ...holder }),
  );
  const renewed = new Date(Date.now() - seconds * 1000);
  utimesSync(path, renewed, renewed);
  return folder;
}

/** Puts a program `ps` in front that tells a start, and only of this process. */
function tellStart(date: Date): void {
  const folder = join(base, `bin-${String((count += 1))}`);
  mkdirSync(folder);
  const text = `${date.toUTCString().slice(0, 3)} ${date.toUTCString().slice(8, 11)} ${String(date.getUTCDate())} ${date.toISOString().slice(11, 19)} ${String(date.getUTCFullYear())}`;
  const path = join(folder, "ps");
  writeFileSync(path, `#!/bin/sh\n[ "$LC_ALL $*" = "C -o lstart= -p ${String(process.pid)}" ] && echo "${text}"\n`);
  chmodSync(path, 0o755);
  vi.stubEnv("PATH", `${folder}${delimiter}${process.env["PATH"] ?? ""}`);
  vi.stubEnv("TZ", "UTC");
}

describe("the number of a holder that ended without /proc", () => {
  it("is another process's when that began after the lock was last renewed", () => {
    const folder = lockedFolder({}, { seconds: 60 });
    tellStart(new Date(Date.now() - 30_000));
    lockFolder(folder).release();
  });

  it.each([
    ["began before it", 90],
    ["may have begun with it, as far as whole seconds tell", 59],
  ])("is the holder's when the process %s", (_name, secondsAgo) => {
    const folder = lockedFolder({}, { seconds: 60 });
    tellStart(new Date(Date.now() - secondsAgo * 1000));
    expect(() => lockFolder(folder)).toThrow(`in use by process ${String(process.pid)}`);
  });

  it("is the holder's where no program tells when a process began", () => {
    const folder = lockedFolder({}, { seconds: 60 });
    vi.stubEnv("PATH", base);
    expect(startedAtMs(process.pid)).toBeUndefined();
    expect(() => lockFolder(folder)).toThrow(`in use by process ${String(process.pid)}`);
  });

  it("is asked of the system as it writes times", () => {
    const begun = new Date("2026-02-03T04:05:06Z");
    tellStart(begun);
    expect(startedAtMs(process.pid)).toBe(begun.getTime());
    expect(startedAtMs(process.pid + 1)).toBeUndefined();
    expect(startedAtMs(String(process.pid) as unknown as number)).toBeUndefined();
  });
});

describe("reading beside the server of another container", () => {
  const read = (folder: string) => () => {
    refuseOtherContainer(folder);
  };

  it("is refused with the way out, while that server renews its lock", () => {
    const other = { namespace: "1", host: "3f2a" };
    expect(read(lockedFolder(other))).toThrow(/of another container \(3f2a\); run the command in that container/);
    expect(read(lockedFolder(other, { seconds: 60 }))).not.toThrow();
  });

  it("is not refused beside a server of the same container, of another boot, or of an older version", () => {
    expect(read(lockedFolder({ namespace: pidNamespace() }))).not.toThrow();
    expect(read(lockedFolder({ namespace: "1", boot: "earlier" }))).not.toThrow();
    expect(read(lockedFolder({}))).not.toThrow();
  });

  it("is refused to the machine's own processes only where the numbers are the same", () => {
    const onMachine = (pid: number) => () => {
      refuseOtherContainer(lockedFolder({ namespace: "1", pid }), "4026531836");
    };
    expect(onMachine(process.pid + 1)).not.toThrow();
    expect(onMachine(process.pid)).toThrow("another container");
    expect(() => {
      refuseOtherContainer(lockedFolder({ namespace: "1", pid: process.pid + 1 }), "2");
    }).toThrow("another container");
  });
});
