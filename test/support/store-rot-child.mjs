// Opens damaged copies of a store and reads everything, one JSON line per copy: {folder, verdict, ...}. It dies with
// the store if a copy makes LMDB crash; the parent then goes on with the next one. Arguments: file with the expected
// records, folders.
import { readFileSync, writeSync } from "node:fs";
import { openStore } from "../../dist/src/platform/store/lmdb/lmdb-store.js";
import { createLog } from "../../dist/src/platform/log.js";

const [expectedFile, ...folders] = process.argv.slice(2);
const expected = JSON.parse(readFileSync(expectedFile, "utf8"));
const log = createLog("silent");

for (const path of folders) {
  writeSync(1, `${JSON.stringify({ path, ...(await look(path)) })}\n`);
}

async function look(path) {
  let store;
  try {
    store = await openStore({ path }, { log });
  } catch (error) {
    return {
      verdict: error.code === "data_corrupt" || error.code === "storage_failed" ? "refused" : `odd: ${error.message}`,
    };
  }
  let wrong = 0;
  let refused = 0;
  const answer = (read, right) => {
    try {
      if (JSON.stringify(read()) !== right) wrong += 1;
    } catch (error) {
      if (error.code !== "data_corrupt") wrong += 1;
      refused += 1;
    }
  };
  for (const [key, value] of expected) answer(() => store.get(key)?.value, JSON.stringify(value));
  answer(() => store.range([]).map((record) => [record.key, record.value]), JSON.stringify(expected));
  answer(() => store.count([]), String(expected.length));
  await store.close();
  return { verdict: wrong > 0 ? "wrong" : refused > 0 ? "partly refused" : "sound" };
}
