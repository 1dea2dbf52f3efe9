/**
 * `proofwright audit verify` and `proofwright audit export`: the audit log of a data folder, also while a server runs
 * on it.
 */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { auditLines } from "../platform/audit/audit-log.js";
import { verifyAudit, type AuditAnchor } from "../platform/audit/verify-audit.js";
import { readPrivateFile } from "../platform/files/private-file.js";
import { StartError } from "../platform/start-error.js";
import { openStoreReader, type StoreReader } from "../platform/store/lmdb/lmdb-store.js";

const ANCHOR = /^(\d{1,15}):([0-9a-f]{64})$/;
/** Records in memory at a time. */
const EXPORT_PAGE = 1000;

interface AuditVerifyOptions {
  readonly dataDir: string;
  /** Key files of earlier parts of the log. */
  readonly keyFiles: readonly string[];
  /** `NUMBER:MAC` of a record, noted earlier. */
  readonly anchor: string | undefined;
}

/**
 * Verifies the links of the log. Returns exit status 0 when the log is complete and unchanged, 1 otherwise.
 * @throws StartError when there is no store or no key file, or the anchor is malformed
 */
export async function runAuditVerify(options: AuditVerifyOptions): Promise<number> {
  const keys = await Promise.all([join(resolve(options.dataDir), "audit-key"), ...options.keyFiles].map(readKey));
  const anchor = options.anchor === undefined ? undefined : parseAnchor(options.anchor);
  return await withStore(options.dataDir, (reader) => {
    const verdict = verifyAudit(reader, keys, anchor);
    if (!verdict.sound) {
      process.stdout.write(
        `The audit log is broken at record ${String(verdict.brokenAt)}: ${verdict.reason}. The ${String(verdict.records)} records before it are unchanged.\n`,
      );
      return 1;
    }
    const { head } = verdict;
    process.stdout.write(
      `${String(verdict.records)} records, all linked.${head === undefined ? "" : ` Save the next line and pass it as --anchor later, to detect that the end of the log was cut off:\n${String(head.number)}:${head.mac}`}\n`,
    );
    return 0;
  });
}

/** Prints every record as a line of JSON. Returns exit status 0. */
export async function runAuditExport(dataDir: string): Promise<number> {
  return await withStore(dataDir, async (reader) => {
    for (let after = 0; ; after += EXPORT_PAGE) {
      const lines = auditLines(reader, after, EXPORT_PAGE);
      if (lines === "") return 0;
      if (!process.stdout.write(lines))
        await new Promise<void>((resume) => {
          process.stdout.once("drain", resume);
        });
    }
  });
}

async function withStore<T>(dataDir: string, use: (reader: StoreReader) => T | Promise<T>): Promise<T> {
  const path = join(dataDir, "store");
  if (!existsSync(path)) throw new StartError(`there is no store in ${resolve(dataDir)}.`);
  const reader = openStoreReader({ path });
  try {
    return await use(reader);
  } finally {
    await reader.close();
  }
}

async function readKey(path: string): Promise<Uint8Array> {
  const key = await readPrivateFile(path);
  if (key === undefined)
    throw new StartError(`there is no key file ${path}; without it the audit log cannot be verified.`);
  return key;
}

function parseAnchor(text: string): AuditAnchor {
  const match = ANCHOR.exec(text);
  if (match === null) throw new StartError("--anchor must read NUMBER:MAC, as `proofwright audit verify` prints it.");
  return { number: Number(match[1]), mac: match[2] ?? "" };
}
