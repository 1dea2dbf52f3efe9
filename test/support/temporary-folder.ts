/** Folders that a test file leaves nothing of. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A new empty folder below the system's temporary one. */
export function newFolder(purpose: string): string {
  return mkdtempSync(join(tmpdir(), `proofwright-${purpose}-`));
}

export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}
