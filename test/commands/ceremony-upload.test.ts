/** The upload of a contribution to a server whose parts get lost: it was started anew, or is many behind one address. */
import { writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { CeremonyServer } from "../../src/commands/ceremony/ceremony-server.js";
import { newFolder, removeFolder } from "../support/temporary-folder.js";

const ID = "7a4c1f2e-0000-4000-8000-00000000000d";
/** Two parts and a bit. */
const BYTES = 2 * 16 * 1024 ** 2 + 5;

let server: Server | undefined;
let folder: string | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
  if (folder !== undefined) removeFolder(folder);
});

/**
 * Starts a server, and a file to send.
 * @param nodeOf says which node answers a request, by its number
 */
async function start(
  nodeOf: (request: number) => number,
): Promise<{ upload: () => Promise<unknown>; sent: () => number }> {
  const received = [0, 0, 0];
  let [requests, sent] = [0, 0];
  server = createServer((request, response) => {
    const node = nodeOf(requests);
    requests += 1;
    request.resume().on("end", () => {
      const answer = (status: number, body: object): void => {
        response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
      };
      if (request.method === "GET") {
        answer(200, { contributions: [], you: { state: "leased", received: received[node] } });
        return;
      }
      sent += 1;
      const [, from, to] = /bytes (\d+)-(\d+)/.exec(request.headers["content-range"] ?? "") ?? [];
      if (Number(from) !== 0 && Number(from) !== received[node]) {
        answer(409, {
          errors: [{ code: "upload_out_of_order", message: "no part of the file has come to this node" }],
        });
        return;
      }
      received[node] = Number(to) + 1;
      if (received[node] === BYTES) answer(201, { hash: "made" });
      else answer(200, { received: received[node] });
    });
  });
  await new Promise<void>((resolve) => {
    server!.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  folder = newFolder("upload");
  const path = join(folder, "key.zkey");
  writeFileSync(path, new Uint8Array(BYTES));
  const client = new CeremonyServer({ base: `http://127.0.0.1:${port}`, id: ID }, "token");
  return { upload: async () => await client.upload(path, () => undefined), sent: () => sent };
}

describe("an upload of a contribution", () => {
  it("begins anew at a node that has no part of it", async () => {
    // The second part reaches another node, which all others reach as well.
    const { upload, sent } = await start((request) => (request === 0 ? 0 : 1));
    expect(await upload()).toEqual({ hash: "made" });
    expect(sent()).toBe(5);
  });

  it("ends where each part reaches another node", async () => {
    const { upload, sent } = await start((request) => request % 3);
    await expect(upload()).rejects.toThrow("has to send all parts to one node");
    expect(sent()).toBeLessThan(30);
  });
});
