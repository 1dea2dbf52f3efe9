/** Builds the parts of the registry that keep its files: those that records name, and what is made of them. */
import type { Log } from "../../platform/log.js";
import type { Artifacts } from "../../platform/store/artifacts.js";
import type { KeyImages } from "../compute/keys/key-images.js";
import { ExportQuota } from "../export-quota.js";
import { ExportedKeys } from "../exported-keys.js";
import { MADE_FILES, MadeFiles } from "../made-files.js";
import { KeyImageMarks } from "../proofs/key-image-marks.js";
import { VerifierContracts } from "../proofs/verifier-contracts.js";
import type { PowersRecords } from "../reference-strings/powers-records.js";
import type { ProverRepository } from "../repository.js";
import { MADE_FILE_WAIT_MS, PROVE_DEADLINE_MS } from "../routes.js";
import type { ProverVault } from "../vault-port.js";
import { SourceFiles } from "./source-files.js";

/** Those of three PLONK keys of 2^20 gates, 1.5 GiB each by their layout with a public signal or none. */
const ZKEY_BYTES_MAX = 8 * 1024 ** 3;

/** Contracts are written in the pool of proofs, which has turns of its own. */
const CONTRACTS = { name: MADE_FILES.contract, makeMs: PROVE_DEADLINE_MS, waitMs: MADE_FILE_WAIT_MS } as const;
const CALLERS = { ...CONTRACTS, name: MADE_FILES.caller } as const;
/** Each makes a file of gigabytes at most, after others that hold the memory for it. */
const EXPORTS = {
  name: MADE_FILES.zkey,
  makeMs: 900_000,
  waitMs: MADE_FILE_WAIT_MS,
  lane: { places: 1, queueLengthMax: 64 },
} as const;

/** Returns what vaults know of the images of open keys; undefined where none are kept. */
export function keyImageMarks(
  { images, log }: { readonly images?: KeyImages | undefined; readonly log: Log },
  vault: ProverVault,
): KeyImageMarks | undefined {
  return images === undefined ? undefined : new KeyImageMarks({ images, vault, log });
}

/** Returns the files of the registry, which are removed when no record names them. */
export function usedFiles(
  { artifacts, images }: { readonly artifacts: Artifacts; readonly images?: KeyImages | undefined },
  { repository, powers }: { readonly repository: ProverRepository; readonly powers: PowersRecords },
): SourceFiles {
  return new SourceFiles({
    artifacts,
    isUsed: (sha256) => repository.needsFile(sha256) || powers.isUploaded(sha256),
    onRemoved: async (sha256) => {
      await images?.remove(sha256);
    },
  });
}

/** Returns the files that are made when they are first downloaded. */
export function createMadeFiles(
  { zkeyBytesPerOwnerMax = ZKEY_BYTES_MAX }: { readonly zkeyBytesPerOwnerMax?: number },
  parts: Omit<ConstructorParameters<typeof VerifierContracts>[1], "made" | "madeCaller"> &
    Omit<ConstructorParameters<typeof ExportedKeys>[0], "made" | "quota"> &
    ConstructorParameters<typeof ExportQuota>[1] &
    ConstructorParameters<typeof MadeFiles>[1],
): { readonly contracts: VerifierContracts; readonly exports: ExportedKeys } {
  const contracts = new MadeFiles(CONTRACTS, parts);
  const madeCaller = new MadeFiles(CALLERS, parts);
  const exports = new MadeFiles(EXPORTS, parts);
  const quota = new ExportQuota({ bytesPerOwnerMax: zkeyBytesPerOwnerMax }, parts);
  return {
    contracts: new VerifierContracts({ deadlineMs: PROVE_DEADLINE_MS }, { ...parts, made: contracts, madeCaller }),
    exports: new ExportedKeys({ ...parts, made: exports, quota }),
  };
}
