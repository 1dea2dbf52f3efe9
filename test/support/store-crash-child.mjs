// Sixteen writers of three-record commits, until it is killed. Each acknowledged commit is a line on standard output,
// written synchronously, so that it is in the pipe before the next commit begins. Arguments: data folder, round.
import { writeSync } from "node:fs";
import { openStore } from "../../dist/src/platform/store/lmdb/lmdb-store.js";
import { createLog } from "../../dist/src/platform/log.js";

const WRITERS = 16;
const [path, round] = process.argv.slice(2);
const store = await openStore({ path }, { log: createLog("error") });
writeSync(1, "ready\n");
await Promise.all(
  Array.from({ length: WRITERS }, async (_, writer) => {
    for (let index = 0; ; index += 1) {
      const id = `${round}-${writer}-${index}`;
      await store.commit({
        checks: [{ key: ["prover", Number(round), id], version: "absent" }],
        puts: ["prover", "vault", "key"].map((table) => ({
          key: [table, Number(round), id],
          value: { id, pad: "x".repeat((index * 37) % 900) },
        })),
      });
      acknowledge(`${id}\n`);
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
