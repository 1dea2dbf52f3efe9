import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { openStore } from "../../../src/platform/store/lmdb/lmdb-store.js";
import { runUntilKilled } from "../../support/crash.js";
import { recordedLog } from "../../support/silent-log.js";
import { newFolder, removeFolder } from "../../support/temporary-folder.js";

const CHILD = fileURLToPath(new URL("../../support/store-migration-child.mjs", import.meta.url));

describe("kill -9 in the middle of a migration", () => {
  it("leaves the store as it was, each of five times, and the migration then runs", async () => {
    const path = newFolder("migration");
    try {
      const first = await openStore({ path, migrations: [] }, { log: recordedLog() });
      await first.commit({
        puts: [
          ...Array.from({ length: 100 }, (_, index) => ({ key: ["thing", index], value: { name: index } })),
          { key: ["obsolete"], value: 1 },
        ],
      });
      await first.close();
      for (let round = 0; round < 5; round += 1) {
        await runUntilKilled({ command: [process.execPath, CHILD, path], readyLine: "ready", killAfterMs: round * 10 });
        const store = await openStore({ path, migrations: [] }, { log: recordedLog() });
        expect([store.schemaVersion, store.count([]), store.get(["thing", 0])?.value]).toEqual([1, 101, { name: 0 }]);
        expect((await store.integrityReport()).sound).toBe(true);
        await store.close();
      }
      const migrated = await openStore(
        {
          path,
          migrations: [
            {
              to: 2,
              title: "drops",
              run: (store) => {
                store.delete(["obsolete"]);
              },
            },
          ],
        },
        { log: recordedLog() },
      );
      expect([migrated.schemaVersion, migrated.count([])]).toEqual([2, 100]);
      await migrated.close();
    } finally {
      removeFolder(path);
    }
  });
});
