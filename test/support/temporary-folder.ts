/**
 * Folders that a test file leaves nothing of. All of them lie in one folder of the run (`run-folder.ts`), which is
 * removed at its end, whatever became of the tests.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** A new empty folder, which its maker removes. */
export function newFolder(purpose: string): string {
  return mkdtempSync(join(tmpdir(), `proofwright-${purpose}-`));
}

/** A new empty folder of the running test, removed after it and its hooks. */
export function folderOfTest(purpose: string): string {
  const folder = newFolder(purpose);
  onTestFinished(() => {
    removeFolder(folder);
  });
  return folder;
}

/** Removes a folder, also while a process that was just killed still ends. */
export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
}
