// Dies in the middle of a migration: writes half of it, says so, and spins until it is killed. Argument: data folder.
import { writeSync } from "node:fs";
import { openStore } from "../../dist/src/platform/store/lmdb/lmdb-store.js";
import { createLog } from "../../dist/src/platform/log.js";

const migration = {
  to: 2,
  title: "never ends",
  run: (store) => {
    for (const record of store.range(["thing"]).slice(0, 50)) store.put(record.key, { title: "half" });
    store.delete(["obsolete"]);
    writeSync(1, "ready\n");
    for (;;) Math.sqrt(2);
  },
};
await openStore({ path: process.argv[2], migrations: [migration] }, { log: createLog("error") });
