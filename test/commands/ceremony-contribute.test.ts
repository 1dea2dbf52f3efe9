/** `proofwright ceremony contribute` against servers that hide the ceremony, still prepare it, or are not there. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import timers from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { runCeremonyCommand } from "../../src/commands/ceremony/ceremony-command.js";
import { newFolder, removeFolder } from "../support/temporary-folder.js";

const ID = "7a4c1f2e-0000-4000-8000-00000000000a";
const CEREMONY = { reason: null, circuit: { identifier: "cubic", hash: null }, contributions: [], queue: [{}] };
const YOU = { state: "waiting", position: 1, expires_at: null, received: 0 };

interface Scripted {
  readonly status: number;
  readonly body: object;
}

describe("proofwright ceremony contribute", () => {
  let server: Server;
  let folder: string;
  let url: string;
  /** What GET answers, one after the other; the last one again and again. */
  let seen: object[];
  let joined: Scripted;

  beforeAll(async () => {
    folder = newFolder("ceremony-contribute");
    server = createServer((request, response) => {
      const isJoin = request.method === "POST";
      const next = seen.length > 1 ? seen.shift() : seen[0];
      const { status, body } = isJoin ? joined : { status: 200, body: next ?? {} };
      request.resume();
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1/ceremonies/${ID}`;
  });
  afterAll(() => {
    server.close();
    server.closeAllConnections();
    removeFolder(folder);
  });
  beforeEach(() => {
    // Between two tries the command waits for seconds.
    vi.spyOn(timers, "setTimeout").mockResolvedValue(undefined);
    seen = [];
    joined = { status: 201, body: { participant_id: ID, token: "a-token" } };
  });
  afterEach(() => {
    vi.restoreAllMocks();
  });

  const contribute = async (name: string, to = url): Promise<void> => {
    const write = vi.spyOn(process.stderr, "write").mockImplementation(() => true);
    try {
      await runCeremonyCommand(["contribute", to, `--name=${name}`, `--session-file=${join(folder, name)}`]);
    } finally {
      write.mockRestore();
    }
  };

  it("waits on while the first key is being made", async () => {
    seen = [
      { ...CEREMONY, state: "preparing", accepts: false, you: YOU },
      { ...CEREMONY, state: "preparing", accepts: false, you: YOU },
      { ...CEREMONY, state: "open", accepts: true, you: YOU },
      { ...CEREMONY, state: "failed", accepts: false, reason: "the deadline passed", you: YOU },
    ];
    await expect(contribute("Ada")).rejects.toThrow("takes no contributions: the deadline passed");
    expect(seen).toHaveLength(1);
  });

  it("names the invitation when the server shows no ceremony to join", async () => {
    joined = { status: 404, body: { errors: [{ code: "not_found", message: "not found" }] } };
    await expect(contribute("Eve")).rejects.toThrow("no such ceremony, or it takes only who is invited");
  });

  it("names why a server cannot be reached", async () => {
    const gone = createServer();
    await new Promise<void>((resolve) => gone.listen(0, "127.0.0.1", resolve));
    const { port } = gone.address() as AddressInfo;
    await new Promise((resolve) => gone.close(resolve));
    const nobody = `http://127.0.0.1:${port}/api/v1/ceremonies/${ID}`;
    await expect(contribute("Mary", nobody)).rejects.toThrow(/cannot be reached: fetch failed, .*ECONNREFUSED/);
  });
});
