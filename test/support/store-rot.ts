/** Flips random bits in copies of a store's data file and reads everything from each copy, in a process of its own. */
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openStore } from "../../src/platform/store/lmdb/lmdb-store.js";
import { seededRandom } from "./seeded.js";
import { recordedLog } from "./silent-log.js";
import { newFolder, removeFolder } from "./temporary-folder.js";

const CHILD = fileURLToPath(new URL("store-rot-child.mjs", import.meta.url));
const RECORDS = 400;
/** Each commit waits for the disk, which may be busy. */
const COMMIT_RECORDS = 8;
const CHILD_LIMIT_MS = 120_000;

export interface RotFigures {
  copies: number;
  /** Opened, and at least one answer was neither right nor an error. */
  wrong: number;
  /** Refused at the start, or in part while reading. */
  refused: number;
  /** The flips hit nothing that is in use. */
  sound: number;
  /** LMDB took the process down. */
  crashed: number;
  odd: number;
}

export async function rotStore(options: { copies: number; flips: number }): Promise<RotFigures> {
  const random = seededRandom();
  console.log(`bit rot: PROOFWRIGHT_TEST_SEED=${random.seed}`);
  const folder = newFolder("rot");
  try {
    const original = join(folder, "original");
    const expectedFile = join(folder, "expected.json");
    writeFileSync(expectedFile, JSON.stringify(await fill(original)));
    const data = readFileSync(join(original, "data.mdb"));
    const copies = Array.from({ length: options.copies }, (_, index) => join(folder, `copy-${index}`));
    for (const copy of copies) {
      mkdirSync(copy);
      copyFileSync(join(original, "data.mdb"), join(copy, "data.mdb"));
      const rotten = Buffer.from(data);
      for (let flip = 0; flip < options.flips; flip += 1) rotten[random.below(data.length)]! ^= 1 << random.below(8);
      writeFileSync(join(copy, "data.mdb"), rotten);
    }
    const figures = examine(expectedFile, copies);
    console.log(JSON.stringify({ test: "bit-rot", flips: options.flips, file_bytes: data.length, ...figures }));
    return figures;
  } finally {
    removeFolder(folder);
  }
}

/** A store with records of all sizes, written in many commits, and their content in key order. */
async function fill(path: string): Promise<[unknown, unknown][]> {
  const store = await openStore({ path }, { log: recordedLog() });
  for (let from = 0; from < RECORDS; from += COMMIT_RECORDS) {
    const indexes = Array.from({ length: COMMIT_RECORDS }, (_, more) => from + more);
    await store.commit({
      puts: indexes.map((index) => ({
        key: ["table", index % 7, `id-${index}`],
        value: { index, pad: "r".repeat((index * 61) % 5000) },
      })),
    });
  }
  const records = store.range([]).map((record): [unknown, unknown] => [record.key, record.value]);
  await store.close();
  return records;
}

function examine(expectedFile: string, copies: readonly string[]): RotFigures {
  const figures: RotFigures = { copies: copies.length, wrong: 0, refused: 0, sound: 0, crashed: 0, odd: 0 };
  for (let done = 0; done < copies.length;) {
    const { stdout } = spawnSync(process.execPath, [CHILD, expectedFile, ...copies.slice(done)], {
      encoding: "utf8",
      timeout: CHILD_LIMIT_MS,
    });
    const verdicts = stdout
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => (JSON.parse(line) as { verdict: string }).verdict);
    for (const verdict of verdicts) {
      if (verdict === "wrong") figures.wrong += 1;
      else if (verdict.includes("refused")) figures.refused += 1;
      else if (verdict === "sound") figures.sound += 1;
      else figures.odd += 1;
      if (verdict.startsWith("odd")) console.log(verdict);
    }
    done += verdicts.length;
    if (done < copies.length) {
      figures.crashed += 1;
      done += 1;
    }
  }
  return figures;
}
