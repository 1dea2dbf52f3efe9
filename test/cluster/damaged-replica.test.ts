/** A server process whose replica rots on its disk: it ends when a read shows it, and its next start copies the state anew. */
import { randomUUID } from "node:crypto";
import { closeSync, existsSync, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { TestCluster } from "../support/cluster.js";
import { eventually } from "../support/eventually.js";

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await TestCluster.make();
});
afterAll(async () => {
  await cluster.dispose();
});

/** Flips a bit of each place where a file has the text, in place: the file is mapped by the process that has it open. */
function rot(path: string, text: string): void {
  const bytes = readFileSync(path);
  const file = openSync(path, "r+");
  let found = 0;
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1), found += 1)
    writeSync(file, Buffer.of(bytes[at]! ^ 1), 0, 1, at);
  closeSync(file);
  expect(found).toBeGreaterThan(0);
}

/** The data file of a node's folder, which has its replica. */
function dataFile(name: string, file: string): string {
  return join(cluster.folderOf(name), "store", file);
}

it("ends the node, whose next start sets the file aside and is ready again; other nodes go on", async () => {
  const sound = await cluster.start("sound");
  const rots = await cluster.start("rots");
  const { token } = await sound.newUser();
  const name = `a name to find ${randomUUID()}`;
  const { id } = (await sound.as(token).createApplication({ body: { name } })).body;
  const read = { params: { id } };
  expect((await rots.as(token).getApplication(read)).body.name).toBe(name);

  const ended = new Promise((resolve) => rots.child.once("exit", resolve));
  rot(dataFile("rots", "data.mdb"), name);
  await expect(rots.as(token).getApplication(read)).rejects.toMatchObject({ code: "data_corrupt" });
  expect(await ended).toBe(1);
  expect(rots.output()).toMatch(/is damaged.*next start copies/);
  expect((await sound.as(token).getApplication(read)).body.name).toBe(name);
  expect(existsSync(dataFile("rots", "data-distrusted.mdb"))).toBe(false);

  const again = await cluster.start("rots");
  await eventually(async () => {
    expect((await fetch(`${again.url}/readyz`)).status).toBe(200);
  });
  expect((await again.as(token).getApplication(read)).body.name).toBe(name);
  expect(readFileSync(dataFile("rots", "data-distrusted.mdb")).includes(name)).toBe(false);
  expect(readFileSync(dataFile("rots", "data.mdb")).includes(name)).toBe(true);
  expect((await again.as(token).createApplication({ body: { name: "after" } })).status).toBe(201);
});
