/**
 * What lies in the folders of powers-of-tau files of a cluster's nodes. Each node that makes keys tells the others, so
 * that work which takes an unchecked file is left to a node that has it. Nothing of a claim is checked: who makes use
 * of a file checks it.
 *   powers_of_tau_folder / incarnation -> the files of a node's folder, as they were a minute ago or later
 */
import type { CurveName } from "../../engine/curves/curve-parameters.js";
import { Rounds } from "../../platform/concurrency/rounds.js";
import type { Log } from "../../platform/log.js";
import type { Nodes } from "../../platform/nodes/nodes.js";
import type { Store } from "../../platform/store/store.js";
import { findPowersFiles, readClaim, type ClaimedPowers } from "./powers-folder.js";
import { FILES_MAX } from "./reference-string-schemas.js";
import { isAbout, type PowersRecords } from "./powers-records.js";

/** A file of a node's folder. */
export type ToldFile = {
  readonly file: string;
  readonly bytes: number;
  readonly identity: string;
  /** Null for a file that could not be used. */
  readonly claim: ClaimedPowers | null;
};

/** What a key takes. */
export type NeededPowers = { readonly curve: CurveName; readonly power: number };

type ToldFolder = { readonly files: readonly ToldFile[] };

interface NodeFoldersDependencies {
  readonly store: Pick<Store, "commit" | "get" | "range">;
  /** The nodes that share the store; this one alone unless given. */
  readonly nodes?: Pick<Nodes, "incarnation" | "isAlive" | "onChange"> | undefined;
  readonly records: Pick<PowersRecords, "all" | "find">;
  /** Called when a node may have files that it had not. */
  readonly onChanged: () => void;
  /** Called each minute: what waits for a node with a file may have waited long enough. */
  readonly onRound: () => void;
  readonly log: Log;
}

const TABLE = "powers_of_tau_folder";
/** An operator who puts a file there waits no longer, and to look costs a folder's listing. */
const TELL_EVERY_MS = 60_000;

export class NodeFolders {
  readonly #folder: string | undefined;
  readonly #with: NodeFoldersDependencies;
  readonly #rounds = new Rounds(TELL_EVERY_MS, async () => {
    await this.#tellOrWarn();
    this.#with.onRound();
  });
  #told: readonly ToldFile[] = [];
  #isWarned = false;

  /** @param options.folder that of this node; undefined where it has none, or makes no keys */
  constructor(options: { readonly folder: string | undefined }, dependencies: NodeFoldersDependencies) {
    this.#folder = options.folder;
    this.#with = dependencies;
  }

  /**
   * Tells the other nodes now and every minute what is in the folder of this one, and listens to them. A folder that
   * cannot be read is warned of.
   */
  async start(): Promise<void> {
    this.#with.nodes?.onChange(TABLE, this.#with.onChanged);
    await this.#rounds.start();
  }

  /** Ends it. What was told is forgotten with the node. */
  stop(): void {
    this.#rounds.stop();
  }

  /** Tells the other nodes what is in the folder, where that has changed. */
  async tell(): Promise<void> {
    const { store, nodes, onChanged } = this.#with;
    if (this.#folder === undefined || nodes === undefined) return;
    const files = await this.#files(this.#folder);
    if (JSON.stringify(files) === JSON.stringify(this.#told)) return;
    const ended = store
      .range([TABLE])
      .map(({ key }) => key)
      .filter((key) => !nodes.isAlive(String(key[1])));
    await store.commit({ puts: [{ key: [TABLE, nodes.incarnation], value: { files } }], deletes: ended });
    this.#told = files;
    onChanged();
  }

  /** Returns files of other nodes that live, one of each name, and no more than one folder may have. */
  others(): ToldFile[] {
    return [...new Map(this.#ofOthers().map((told) => [told.file, told])).values()].slice(0, FILES_MAX);
  }

  /** Whether another node has a file that may do, which no check has refused. */
  hasElsewhere(needed: NeededPowers): boolean {
    return this.#ofOthers().some((told) => this.#mayDo(told, needed));
  }

  /**
   * Whether a key that takes these powers is to be made here: a string that does is kept, a file that may do lies here,
   * or no other node has one either, so that any may say so.
   */
  isFor(needed: NeededPowers): boolean {
    const isKept = this.#with.records.all().some((record) => record.state === "checked" && fits(record.string, needed));
    return isKept || this.#told.some((told) => this.#mayDo(told, needed)) || !this.hasElsewhere(needed);
  }

  async #tellOrWarn(): Promise<void> {
    try {
      await this.tell();
      this.#isWarned = false;
    } catch (error) {
      if (!this.#isWarned)
        this.#with.log.warn("the other nodes cannot be told of this one's powers-of-tau files yet", { error });
      this.#isWarned = true;
    }
  }

  async #files(folder: string): Promise<ToldFile[]> {
    const before = new Map(this.#told.map((told) => [`${told.identity} ${told.file}`, told]));
    const found = await findPowersFiles(folder);
    return found.map(({ file, path, bytes, identity }) => {
      const known = before.get(`${identity} ${file}`);
      return known ?? { file, bytes, identity, claim: readClaim(path) ?? null };
    });
  }

  #ofOthers(): ToldFile[] {
    const { store, nodes } = this.#with;
    if (nodes === undefined) return [];
    return store
      .range<ToldFolder>([TABLE])
      .filter(({ key: [, name] }) => name !== nodes.incarnation && nodes.isAlive(String(name)))
      .flatMap(({ value }) => value.files);
  }

  /** A file that was checked is kept, or refused for good. */
  #mayDo({ file, identity, claim }: ToldFile, needed: NeededPowers): boolean {
    const record = this.#with.records.find(file);
    return claim !== null && fits(claim, needed) && (record === undefined || !isAbout(record, identity));
  }
}

function fits(one: NeededPowers, needed: NeededPowers): boolean {
  return one.curve === needed.curve && one.power >= needed.power;
}
