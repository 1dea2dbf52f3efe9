/** Kill -9 while a provider works: the next process finishes the work, with one container only. */
import { spawn, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, expect, it } from "vitest";
import { PACKAGE_ROOT } from "../../../src/platform/files/package-root.js";
import { startDocker, type DockerDouble } from "../../support/docker-double.js";
import { startKubo, type KuboDouble } from "../../support/kubo-double.js";
import { newFolder, removeFolder } from "../../support/temporary-folder.js";
import { eventually } from "../../chain/connectors/support.js";

/** A process needs seconds of processor time to start, which take minutes on a busy machine. */
const START_MS = 300_000;
const folder = newFolder("connector-crash");
const owner = randomUUID();
const running: ChildProcess[] = [];
let kubo: KuboDouble;
let docker: DockerDouble;

beforeAll(async () => {
  kubo = await startKubo({ authorization: "Bearer secret" });
  docker = await startDocker({ run: async () => await Promise.resolve({ "5001/tcp": kubo.port }) });
  docker.registry.add("ipfs/kubo:release");
});
afterAll(async () => {
  for (const child of running) child.kill("SIGKILL");
  await docker.stop();
  await kubo.stop();
  removeFolder(folder);
});

/** Starts a process; resolves to the statuses that it writes, growing as it does. */
function start(): { child: ChildProcess; statuses: string[]; kill: () => Promise<void> } {
  const child = spawn(
    process.execPath,
    [join(PACKAGE_ROOT, "test/support/connector-crash-child.mjs"), folder, docker.host, owner],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  running.push(child);
  const statuses: string[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => {
    statuses.push(line);
  });
  return {
    child,
    statuses,
    kill: async () => {
      await new Promise((resolve) => {
        child.once("exit", resolve);
        child.kill("SIGKILL");
      });
    },
  };
}

it("survives kill -9 in the middle of provisioning and of deletion", async () => {
  docker.faults = [{ method: "POST", path: /\/start$/, answer: "hang" }];
  const cut = start();
  await eventually(
    "the container is being started",
    () => docker.requests.some((request) => request.endsWith("/start")),
    START_MS,
  );
  await cut.kill();
  expect(cut.statuses.at(-1)).toBe("provisioning");
  docker.faults = [{ method: "DELETE", path: /./, answer: "hang" }];

  const whole = start();
  await eventually("it is available", () => whole.statuses.at(-1) === "available", START_MS);
  expect(docker.containers.size).toBe(1);
  whole.child.kill("SIGUSR2");
  await eventually(
    "the container is being removed",
    () => docker.requests.some((request) => request.startsWith("DELETE")) && whole.statuses.at(-1) === "deprovisioning",
    START_MS,
  );
  await whole.kill();
  expect(docker.containers.size).toBe(1);
  docker.faults = [];

  const last = start();
  await eventually("the connector is gone", () => last.statuses.at(-1) === "none", START_MS);
  expect(docker.containers.size).toBe(0);
  expect(docker.requests.filter((request) => request.startsWith("POST /containers/create"))).toHaveLength(1);
  expect(docker.complaints).toEqual([]);
});
