/** Reads pieces of a file that is sent to the cluster's storage, and that must not change meanwhile. */
import type { FileHandle } from "node:fs/promises";
import { AppError } from "../../errors.js";

/** Fills `target` from a position of the file. @throws artifact_corrupt when the file ends before */
export async function readWhole(handle: FileHandle, target: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < target.length;) {
    const { bytesRead } = await handle.read(target, done, target.length - done, position + done);
    if (bytesRead === 0) throw changedFile();
    done += bytesRead;
  }
}

/** Returns the error of a file whose content is not what its hash says. */
export function changedFile(): AppError {
  return new AppError("artifact_corrupt", {
    message:
      "a file on this node's disk does not have the content that its name says; it was not stored in the cluster",
  });
}
