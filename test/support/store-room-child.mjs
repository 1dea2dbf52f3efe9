// Writes to a store until room has been made at the end of its file, and kills itself before the commit that would fill
// it: either before its transaction, or in it, after everything has been put. Says which commits were acknowledged, and
// dies after the first of them at the earliest.
// Arguments: data folder, "before" or "within", number of the first commit.
import { statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { DATA_FILE, measureSpace, openEnvironment } from "../../dist/src/platform/store/lmdb/lmdb-environment.js";
import { systemStorage } from "../../dist/src/platform/store/lmdb/lmdb-storage.js";
import { LmdbWriter } from "../../dist/src/platform/store/lmdb/lmdb-writer.js";
import { CommitPacker, unpackCommits } from "../../dist/src/platform/store/wire.js";

const [path, moment, first] = process.argv.slice(2);
const environment = openEnvironment(path);
const options = { path, dataBytesMax: 2 ** 40, reserveBytes: 0 };
const storage = systemStorage(options, environment);
let acknowledged = 0;

function hasRoom() {
  return statSync(join(path, DATA_FILE)).size > measureSpace(environment, path).endBytes;
}

function die() {
  writeSync(1, "dies\n");
  process.kill(process.pid, "SIGKILL");
  // The signal may take a moment to arrive; nothing may be written until then.
  for (;;) Math.sqrt(2);
}

const writer = new LmdbWriter(options, {
  environment,
  storage: {
    freeBytes: () => storage.freeBytes(),
    transact: (body) => {
      const dies = acknowledged > 0 && hasRoom();
      if (dies && moment === "before") die();
      storage.transact(() => {
        body();
        if (dies) die();
      });
    },
  },
});
const packer = new CommitPacker();
for (let number = Number(first); ; number += 1) {
  packer.add({ puts: [{ key: ["grown", number], value: "x".repeat(20_000) }] });
  const [failure] = writer.apply(unpackCommits(packer.take()));
  if (failure !== undefined) throw new Error(JSON.stringify(failure));
  writeSync(1, `${number}\n`);
  acknowledged += 1;
}
