// Writes to a store until the disk does not take it, then says what it saw, as one JSON line. Arguments: data folder
// and, when space is to come back, a file whose removal frees it.
import { rmSync, writeFileSync, writeSync } from "node:fs";
import { openStore } from "../../dist/src/platform/store/lmdb/lmdb-store.js";
import { createLog } from "../../dist/src/platform/log.js";

const [path, filler] = process.argv.slice(2);
if (filler !== undefined) writeFileSync(filler, Buffer.alloc(8 * 2 ** 20, 1));

const fatal = [];
const store = await openStore(
  { path, reserveBytes: 0 },
  { log: createLog("silent"), onFatal: (error) => fatal.push(error.code) },
);
const acknowledged = [];
// Urgent, so that nothing is refused beforehand: the disk itself has to say no.
const write = async (index, urgent) => {
  try {
    await store.commit({
      urgent,
      puts: [
        { key: ["f", index], value: { index, pad: "x".repeat(3000) } },
        { key: ["g", index], value: index },
      ],
    });
    acknowledged.push(index);
    return "written";
  } catch (error) {
    return error.code;
  }
};

let index = 0;
let refusal = "written";
while (refusal === "written" && index < 20_000) refusal = await write(index++, true);
const state = store.state;
const parallel = await Promise.all(Array.from({ length: 50 }, () => write(index++, true)));
const readable = acknowledged.every(
  (one) => store.get(["f", one])?.value.index === one && store.get(["g", one])?.value === one,
);
const extra = store.count([]) - 2 * acknowledged.length;

let recovered;
if (filler !== undefined) {
  rmSync(filler);
  recovered = [await write(index++, false), store.state];
}
const { sound } = await store.integrityReport();
await store.close();
writeSync(
  1,
  `${JSON.stringify({ acknowledged: acknowledged.length, refusal, state, parallel: [...new Set(parallel)], readable, extra, recovered, sound, fatal })}\n`,
);
