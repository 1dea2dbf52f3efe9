/** Connectors in containers of a cluster: deleted over other nodes than the one that provisions them. */
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { TestCluster } from "../support/cluster.js";
import { startDocker, type DockerDouble } from "../support/docker-double.js";
import { eventually } from "../support/eventually.js";
import { startNats, type LineDouble } from "../support/line-doubles.js";
import type { Api, TestServer } from "../support/server.js";

/** One of the networks that everybody sees. */
const NETWORK = "deca2436-21ba-4ff5-b225-ad1b0b2f5c59";

let cluster: TestCluster;
let docker: DockerDouble;
/** What runs in the containers. */
let nats: LineDouble;
/** Sealed, so that it runs no job that needs a secret. */
let sealed: TestServer;
let runs: TestServer;
let token: string;

beforeAll(async () => {
  cluster = await TestCluster.make();
  nats = await startNats();
  docker = await startDocker({ run: async () => await Promise.resolve({ "4222/tcp": nats.port }) });
  docker.registry.add("nats:2");
  const env = { PROOFWRIGHT_DOCKER_HOST: docker.host };
  [sealed, runs] = await Promise.all([cluster.start("sealed", env), cluster.start("runs", env)]);
  const user = await runs.newUser();
  const application_id = (await user.api.createApplication({ body: {} })).body.id;
  token = (await user.api.createToken({ body: { application_id } })).body.access_token;
  const key = { body: { key: cluster.phrase } };
  await user.api.seal(key);
  await user.api.unseal(key);
});
afterAll(async () => {
  await cluster.dispose();
  await docker.stop();
  await nats.stop();
});
beforeEach(() => {
  docker.requests.length = 0;
  docker.faults = [{ method: "POST", path: /\/start$/, answer: "hang" }];
});

/** Makes a connector with a secret, and waits until its container is being started. */
async function beingStarted(api: Api): Promise<string> {
  const config = { provider_id: "docker", credentials: { username: "u", password: "p" } };
  const { id } = (await api.createConnector({ body: { name: "c", network_id: NETWORK, type: "nats", config } })).body;
  await eventually(() => {
    expect(docker.requests.some((request) => request.endsWith(`/proofwright-${id}/start`))).toBe(true);
  });
  return id;
}

it.each([
  ["a node that cannot run it", () => [sealed]],
  ["that node and the one that runs it at once", () => [sealed, runs, sealed, runs]],
])("ends the run, removes the container once and answers 204, asked over %s", async (_over, asked) => {
  const id = await beingStarted(runs.as(token));
  expect(docker.containers.size).toBe(1);
  const answers = asked().map(async (node) => (await node.as(token).deleteConnector({ params: { id } })).status);
  expect(await Promise.all(answers)).toEqual(asked().map(() => 204));
  expect(docker.requests.filter((request) => request.startsWith("DELETE"))).toHaveLength(1);
  expect([docker.containers.size, docker.complaints]).toEqual([0, []]);
  for (const node of [sealed, runs])
    await expect(node.as(token).getConnector({ params: { id } })).rejects.toMatchObject({ status: 404 });
});

it("is provisioned and deleted without a node that is unsealed, where it needs no secret", async () => {
  docker.faults = [];
  const { api: user } = await runs.newUser();
  await user.seal({ body: { key: cluster.phrase } });
  const api = sealed.as(token);
  const body = { name: "plain", network_id: NETWORK, type: "nats", config: { provider_id: "docker" } } as const;
  const { id } = (await api.createConnector({ body })).body;
  await eventually(async () => {
    const { status } = (await api.getConnector({ params: { id }, query: { enrichment: "none" } })).body;
    expect(status).toBe("available");
  });
  expect(docker.containers.size).toBe(1);
  expect((await runs.as(token).deleteConnector({ params: { id } })).status).toBe(204);
  expect(docker.containers.size).toBe(0);
});
