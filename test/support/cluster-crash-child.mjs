// Eight writers of counts on a node of a cluster, until it is killed. Each acknowledged count is a line on standard
// output, written synchronously. Arguments: data folder, database URL, cluster key in hex, name of this life.
import { writeSync } from "node:fs";
import { randomUUID } from "node:crypto";
import { openNodeStore } from "../../dist/src/platform/cluster/cluster-store.js";
import { createLog } from "../../dist/src/platform/log.js";

const WRITERS = 8;
const [path, databaseUrl, clusterKey, life] = process.argv.slice(2);
const cluster = { databaseUrl, clusterKey: Buffer.from(clusterKey, "hex"), node: randomUUID(), foldMs: 200 };
const store = await openNodeStore({ path, chainKey: new Uint8Array(32), cluster }, { log: createLog("error") });
writeSync(1, "ready\n");
await Promise.all(
  Array.from({ length: WRITERS }, async (_, writer) => {
    for (let index = 0; ; index += 1) {
      const id = `${life}-${writer}-${index}`;
      const read = store.get(["counter"]);
      try {
        await store.commit({
          checks: [{ key: ["counter"], version: read?.version ?? "absent" }],
          puts: [
            { key: ["counter"], value: (read?.value ?? 0) + 1 },
            { key: ["mark", id], value: (read?.value ?? 0) + 1 },
          ],
          appends: [{ chain: "audit", value: id }],
        });
        acknowledge(`${id}\n`);
      } catch (error) {
        if (error.name !== "StoreConflict" && error.code !== "store_unreachable" && error.code !== "outcome_unknown")
          throw error;
      }
    }
  }),
);

/** On a busy machine the pipe may be full for a moment; nobody else writes to it meanwhile. */
function acknowledge(line) {
  for (let rest = Buffer.from(line); rest.length > 0;) {
    try {
      rest = rest.subarray(writeSync(1, rest));
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
    }
  }
}
