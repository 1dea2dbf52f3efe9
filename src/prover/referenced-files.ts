/** The large files that the records of a store name. */
import type { Store } from "../platform/store/store.js";
import { artifactsNamedIn } from "./repository.js";
import { PowersRecords } from "./reference-strings/powers-records.js";

/** Returns the SHA-256 hashes of the files of provers, compiled circuits, reference strings and uploads. */
export function referencedFiles(store: Pick<Store, "get" | "range">): Set<string> {
  const uploads = new PowersRecords({ store }).uploads();
  return new Set([...artifactsNamedIn(store), ...uploads.flatMap(({ sha256 }) => (sha256 === null ? [] : [sha256]))]);
}
