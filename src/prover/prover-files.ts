/**
 * The files of a prover as they are downloaded: those that provisioning has left, those that are made when they are
 * first asked for, and those of the analysis. Others than the owner get what they need for what they may do.
 */
import { ZKEY_FORMAT } from "../engine/proof-systems/names.js";
import { writeTarGz } from "../platform/archive/write-tar.js";
import type { Subject } from "../platform/auth/principal.js";
import type { FileAnswer } from "../platform/contract/route.js";
import { AppError } from "../platform/errors.js";
import type { ArtifactReference, Artifacts } from "../platform/store/artifacts.js";
import type { Catalog } from "./catalog.js";
import type { ExportedKeys } from "./exported-keys.js";
import type { Imports } from "./imports/imports.js";
import { MADE_FILES, type Asker } from "./made-files.js";
import type { VerifierContracts } from "./proofs/verifier-contracts.js";
import type { Download, Provider } from "./providers/provider.js";
import type { AnalysisArtifactName, ProverRepository, StoredProver } from "./repository.js";
import type { ProverArtifact } from "./schemas.js";
import type { ProverAccess } from "./sharing/prover-access.js";

interface ProverFilesDependencies {
  readonly repository: Pick<ProverRepository, "findAnalysis">;
  readonly access: ProverAccess;
  readonly artifacts: Pick<Artifacts, "read" | "resolve" | "verify">;
  readonly catalog: Catalog;
  readonly imports: Pick<Imports, "progress">;
  readonly contracts: VerifierContracts;
  readonly exports: Pick<ExportedKeys, "has" | "get">;
}

/** Artifacts of the analysis, which exist whether the prover is provisioned or not. */
const ANALYSIS_DOWNLOADS: Readonly<Partial<Record<string, { artifact: AnalysisArtifactName; contentType: string }>>> = {
  "analysis.json": { artifact: "analysis.json", contentType: "application/json" },
  "witness_1.wtns": { artifact: "witness_1.wtns", contentType: "application/octet-stream" },
  "witness_2.wtns": { artifact: "witness_2.wtns", contentType: "application/octet-stream" },
  "analysis.r1cs": { artifact: "analysis.r1cs", contentType: "application/octet-stream" },
  "analysis.sym": { artifact: "analysis.sym", contentType: "text/plain; charset=UTF-8" },
};
const ZKEY = MADE_FILES.zkey;
/** Downloaded only when all gates have passed; the artifacts of compilation can be downloaded at once. */
export const SETUP_ARTIFACTS: ReadonlySet<string> = new Set([
  "proving_key",
  ZKEY,
  "verifying_key.json",
  MADE_FILES.contract,
  "ceremony-transcript.json",
  MADE_FILES.caller,
]);
const SOURCE_FILE = "source.json";
/** What the server sends of an answer that is no stored file; source packs to a third as a rule. */
const ARCHIVE_BYTES_MAX = 8 * 1024 * 1024;

export class ProverFiles {
  readonly #with: ProverFilesDependencies;

  constructor(dependencies: ProverFilesDependencies) {
    this.#with = dependencies;
  }

  /**
   * Returns a file of the prover after checking its content against its hash. Makes the files that are made when
   * they are first asked for.
   * @param name as in the path of the download
   * @throws AppError `not_found`, `artifact_corrupt`, and what `VerifierContracts.make` and `ExportedKeys.get` throw
   */
  async get(asker: Asker, id: string, name: string): Promise<FileAnswer> {
    return await this.#get(asker, id, { name, missing: `the prover has no artifact ${name}` });
  }

  /**
   * Returns the source of the owner's prover, whoever else may use the prover.
   * @throws AppError `not_found` for a circuit from outside too, `artifact_corrupt`
   */
  async source(owner: Subject, id: string): Promise<FileAnswer> {
    return await this.#get({ subject: owner }, id, { name: SOURCE_FILE, missing: "the prover has no source" });
  }

  /**
   * Returns the same as a `.tar.gz`.
   * @throws AppError as `source`, and `conflict` for one that is longer than an answer may be
   */
  async sourceArchive(owner: Subject, id: string): Promise<Uint8Array> {
    const { sha256 } = await this.source(owner, id);
    const { sourceFiles } = this.#with.catalog.providerOf(this.#with.access.files(owner, id).prover);
    if (sourceFiles === undefined) throw new AppError("not_found", { message: "the prover's source has no files" });
    const archive = await writeTarGz(sourceFiles(await this.#with.artifacts.read(sha256)));
    if (archive.length <= ARCHIVE_BYTES_MAX) return archive;
    throw new AppError("conflict", { message: "the archive is too long for one answer: read the source as JSON" });
  }

  /**
   * Returns the files that can be downloaded, or those that an import waits for. The verifier contract is not complete
   * until it is first downloaded.
   */
  async list(caller: Subject, id: string): Promise<ProverArtifact[]> {
    const { prover, mayRead } = this.#with.access.files(caller, id);
    const waiting = this.#with.imports.progress(prover);
    if (waiting !== undefined) return waiting.filter(({ name }) => mayRead(name));
    const isExported = await this.#with.exports.has(prover);
    const made = Object.entries(this.#downloadsOf(prover)).flatMap(([name, download]): ProverArtifact[] => {
      if (!mayRead(name)) return [];
      const found = download === undefined ? undefined : this.#downloadable(prover, name, download);
      if (found === undefined && name === ZKEY && isExported)
        return [{ name, sha256: null, bytes: null, received: 0, complete: false }];
      // The same file by its other name.
      const isTwice = name === "proving_key" && found?.sha256 === this.#download(prover, ZKEY)?.sha256;
      if (found === undefined || isTwice) return [];
      return [{ name, ...found, received: found.bytes, complete: true }];
    });
    const toMake = this.#with.contracts.awaited(prover).filter(mayRead);
    return [...made, ...toMake.map((name) => ({ name, sha256: null, bytes: null, received: 0, complete: false }))];
  }

  async #get(
    asker: Asker,
    id: string,
    { name, missing }: { readonly name: string; readonly missing: string },
  ): Promise<FileAnswer> {
    const caller = asker.subject;
    const { mayRead, prover: asked } = this.#with.access.files(caller, id);
    const { contracts } = this.#with;
    if (mayRead(name) && contracts.isAwaited(asked, name)) await contracts.makeNamed(asked, name, asker);
    const { prover } = this.#with.access.files(caller, id);
    const found = mayRead(name)
      ? (this.#download(prover, name) ??
        this.#analysisDownload(prover, name) ??
        (await this.#exported(prover, name, asker)))
      : undefined;
    if (found === undefined) throw new AppError("not_found", { message: missing });
    const { sha256, bytes } = await this.#with.artifacts.verify(found.sha256);
    return { path: await this.#with.artifacts.resolve(sha256), bytes, sha256, contentType: found.contentType };
  }

  /** Undefined for what the prover has not got, or not yet. */
  #downloadable(prover: StoredProver, name: string, { artifact }: Download): ArtifactReference | undefined {
    const isReady = prover.status === "provisioned" || !SETUP_ARTIFACTS.has(artifact);
    if (!isReady) return undefined;
    const isStoredAsZkey = this.#with.catalog.systemOf(prover).keyFormats.proving_key === ZKEY_FORMAT;
    return prover.build.artifacts[name === ZKEY && isStoredAsZkey ? "proving_key" : artifact];
  }

  /** A proving key as snarkjs' file, where it is stored in another form and nobody has asked for it before. */
  async #exported(
    prover: StoredProver,
    name: string,
    asker: Asker,
  ): Promise<{ sha256: string; contentType: string } | undefined> {
    if (name !== ZKEY || !(await this.#with.exports.has(prover))) return undefined;
    const { sha256 } = await this.#with.exports.get(prover, asker);
    return { sha256, contentType: "application/octet-stream" };
  }

  #downloadsOf(prover: StoredProver): Provider["downloads"] {
    return this.#with.catalog.providerOf(prover).downloads;
  }

  #download(prover: StoredProver, name: string): { sha256: string; contentType: string } | undefined {
    const download = this.#downloadsOf(prover)[name];
    const stored = download === undefined ? undefined : this.#downloadable(prover, name, download);
    if (download === undefined || stored === undefined) return undefined;
    return { sha256: stored.sha256, contentType: download.contentType };
  }

  #analysisDownload({ id, build }: StoredProver, name: string): { sha256: string; contentType: string } | undefined {
    const download = ANALYSIS_DOWNLOADS[name];
    const stored =
      download === undefined
        ? undefined
        : this.#with.repository.findAnalysis(build.owner, id)?.value.artifacts[download.artifact];
    if (download === undefined || stored === undefined) return undefined;
    return { sha256: stored.sha256, contentType: download.contentType };
  }
}
