/** Connectors in containers, over real HTTP against a stand-in for the Docker engine that checks what is sent. */
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startDocker, type DockerDouble, type DoubleContainer } from "../../support/docker-double.js";
import { startKubo, type KuboDouble } from "../../support/kubo-double.js";
import { startNats, startRedis } from "../../support/line-doubles.js";
import { newFolder, removeFolder } from "../../support/temporary-folder.js";
import {
  containerOf,
  create,
  cutOffAtStart,
  detail,
  eventually,
  failureOf,
  never,
  openConnectors,
  plain,
  settled,
  untilSettled,
  type Draft,
  type TestConnectors,
} from "./support.js";

const folder = newFolder("docker");
let kubo: KuboDouble;
let docker: DockerDouble;
let test: TestConnectors;
let run: ((container: DoubleContainer) => Promise<Readonly<Record<string, number>>>) | undefined;

/** A configuration that existing clients send. */
const PEER: Draft = {
  type: "ipfs",
  config: {
    provider_id: "docker",
    role: "peer",
    rpc_port: 5001,
    gateway_port: 8080,
    security: { egress: "*", ingress: { "0.0.0.0/0": { tcp: [4001], udp: [4001] } } },
  },
};

beforeAll(async () => {
  kubo = await startKubo();
  docker = await startDocker({
    socketPath: join(folder, "docker.sock"),
    run: async (container) => await (run?.(container) ?? Promise.resolve({ "5001/tcp": kubo.port })),
  });
  docker.registry.add("ipfs/kubo:release").add("nats:2").add("redis:7").add("postgres:17");
  test = await openConnectors({ dockerHost: docker.host, containerReadyMs: 400 });
});
afterAll(async () => {
  await test.close();
  await docker.stop();
  await kubo.stop();
  removeFolder(folder);
});
beforeEach(() => {
  docker.faults = [];
  docker.requests.length = 0;
  run = undefined;
});

describe("a connector in a container", () => {
  it("is fetched, made, started and used, and is gone with its container", async () => {
    const made = await settled(test, PEER);
    expect(docker.requests).toEqual([
      `GET /containers/proofwright-${made.id}/json`,
      "GET /images/ipfs/kubo:release/json",
      "POST /images/create?fromImage=ipfs%2Fkubo&tag=release",
      "GET /networks?filters=%7B%22name%22%3A%5B%22proofwright-egress%22%5D%7D",
      "POST /networks/create",
      "GET /networks?filters=%7B%22name%22%3A%5B%22proofwright-egress%22%5D%7D",
      `POST /containers/create?name=proofwright-${made.id}`,
      `POST /containers/proofwright-${made.id}/start`,
      `GET /containers/proofwright-${made.id}/json`,
    ]);
    expect(made).toMatchObject({
      status: "available",
      errors: [],
      config: { api_url: kubo.url, api_port: kubo.port, rpc_port: 5001 },
    });
    expect(test.statuses(made.id)).toEqual(["init", "provisioning", "available"]);
    const entity = await test.entities.create(
      { owner: test.owner, connectorId: made.id },
      { raw: "in a container" },
      never,
    );
    expect(kubo.pins.has(entity.id)).toBe(true);
    expect(await test.deletions.delete(test.owner, made.id, never)).toBe(true);
    expect(docker.containers.has(`proofwright-${made.id}`)).toBe(false);
    expect((await failureOf(() => plain(test, made.id))).code).toBe("not_found");
    expect(test.statuses(made.id).at(-1)).toBe("deprovisioning");
    expect(docker.complaints).toEqual([]);
  });

  it("binds ports as `security` says, its own API to loopback only, and takes no privileges", async () => {
    const { id } = await settled(test, {
      ...PEER,
      config: {
        ...PEER.config,
        env: { IPFS_PROFILE: "server" },
        security: {
          egress: "*",
          ingress: { "0.0.0.0/0": { tcp: [4001, 8080], udp: null }, "127.0.0.1/32": { udp: [4001] } },
        },
      },
    });
    const { body } = containerOf(docker, id);
    expect(body.HostConfig.PortBindings).toEqual({
      "4001/tcp": [{ HostIp: "0.0.0.0", HostPort: "" }],
      "8080/tcp": [{ HostIp: "0.0.0.0", HostPort: "" }],
      "4001/udp": [{ HostIp: "127.0.0.1", HostPort: "" }],
      "5001/tcp": [{ HostIp: "127.0.0.1", HostPort: "" }],
    });
    expect(body).toMatchObject({
      Image: "ipfs/kubo:release",
      Env: ["IPFS_PROFILE=server"],
      HostConfig: { Privileged: false, SecurityOpt: ["no-new-privileges:true"] },
    });
    await test.deletions.delete(test.owner, id, never);
  });

  it("opens its API to this server as well, which connects by IPv4, when a rule opens it by IPv6 alone", async () => {
    const { id, status } = await settled(test, {
      ...PEER,
      config: { ...PEER.config, security: { ingress: { "::/0": { tcp: [5001] } } } },
    });
    expect(status).toBe("available");
    expect(containerOf(docker, id).body.HostConfig.PortBindings["5001/tcp"]).toEqual([
      { HostIp: "::", HostPort: "" },
      { HostIp: "127.0.0.1", HostPort: "" },
    ]);
    await test.deletions.delete(test.owner, id, never);
  });

  it("shows its containers as nodes, its ports as load balancers, and its logs", async () => {
    const { id } = await settled(test, PEER);
    const container = containerOf(docker, id);
    expect(await test.containers.nodes(test.owner, id, never)).toMatchObject([
      {
        id: container.id,
        status: "running",
        role: "peer",
        host: "127.0.0.1",
        ipv4: "172.17.0.2",
        config: { image: "ipfs/kubo:release", provider_id: "docker" },
      },
    ]);
    const balancers = await test.containers.loadBalancers(test.owner, id, never);
    expect(balancers.map(({ name, bind_address: bound, status }) => [name, bound, status])).toEqual([
      ["4001/tcp", "0.0.0.0", "active"],
      ["4001/udp", "0.0.0.0", "active"],
      ["5001/tcp", "127.0.0.1", "active"],
      ["8080/tcp", "127.0.0.1", "active"],
    ]);
    expect(balancers.find(({ name }) => name === "5001/tcp")).toMatchObject({
      host: "127.0.0.1",
      port: kubo.port,
      container_port: 5001,
      protocol: "tcp",
    });
    expect(await test.containers.logs(test.owner, id, 10, never)).toEqual({
      logs: [
        { timestamp: "2026-11-21T10:00:00.000Z", message: "Daemon is ready" },
        { timestamp: "2026-11-21T10:00:01.500Z", message: "a warning" },
      ],
      prev_token: null,
      next_token: null,
    });
    await test.deletions.delete(test.owner, id, never);
  });

  it("gives credentials to the container only", async () => {
    const nats = await startNats({ user: "ada", pass: "hunter2" });
    const redis = await startRedis({ password: "hunter2" });
    try {
      run = async ({ body }) =>
        await Promise.resolve(body.Image === "nats:2" ? { "4222/tcp": nats.port } : { "6379/tcp": redis.port });
      const credentials = { username: "ada", password: "hunter2" };
      const first = await settled(test, { type: "nats", config: { provider_id: "docker", credentials } });
      const second = await settled(test, {
        type: "redis",
        config: { provider_id: "docker", credentials: { password: "hunter2" } },
      });
      expect([first.status, second.status]).toEqual(["available", "available"]);
      expect(containerOf(docker, first.id).body.Cmd).toEqual(["--user", "ada", "--pass", "hunter2"]);
      expect(containerOf(docker, second.id).body.Cmd).toEqual(["redis-server", "--requirepass", "hunter2"]);
      expect(
        JSON.stringify([
          first,
          second,
          await detail(test, first.id),
          await test.containers.nodes(test.owner, first.id, never),
          test.events(),
          test.log.lines,
        ]),
      ).not.toContain("hunter2");
      await test.deletions.delete(test.owner, first.id, never);
      await test.deletions.delete(test.owner, second.id, never);
    } finally {
      await nats.stop();
      await redis.stop();
    }
  });

  it("is found again at another port after the engine restarted it", async () => {
    const { id } = await settled(test, PEER);
    const other = await startKubo();
    try {
      containerOf(docker, id).ports["5001/tcp"] = [{ HostIp: "127.0.0.1", HostPort: String(other.port) }];
      kubo.mode = "broken";
      expect(await detail(test, id)).toMatchObject({
        status: "available",
        config: { api_port: other.port },
        details: { probe: { reachable: true } },
      });
    } finally {
      kubo.mode = "sound";
      await other.stop();
    }
    await test.deletions.delete(test.owner, id, never);
  });

  it("keeps what its container was made from", async () => {
    const { id } = await settled(test, PEER);
    for (const config of [
      { container: "nats:2" },
      { security: null },
      { rpc_port: 5002 },
      { api_url: "http://127.0.0.1:1" },
    ]) {
      expect((await failureOf(() => test.service.update(test.owner, id, { config }))).code).toBe(
        "connector_config_invalid",
      );
    }
    await test.service.update(test.owner, id, { name: "renamed" });
    expect(await plain(test, id)).toMatchObject({ name: "renamed", status: "available" });
    await test.deletions.delete(test.owner, id, never);
  });
});

describe("rules that Docker cannot keep, and images that the operator does not let be run", () => {
  it.each([
    ["an ingress rule for a network", { security: { ingress: { "10.0.0.0/8": { tcp: [4001] } } } }, "10.0.0.0/8"],
    ["an egress rule for a network", { security: { egress: "10.0.0.0/8" } }, "`*` and `none`"],
    ["another image", { container: "evil/miner:latest" }, "operator"],
  ])("%s is refused before anything is kept", async (_name, config, words) => {
    const failure = await failureOf(() => create(test, { type: "ipfs", config: { provider_id: "docker", ...config } }));
    expect(failure.code).toBe("connector_config_invalid");
    expect(failure.message).toContain(words);
    expect(docker.requests).toEqual([]);
  });
});

describe("an engine that misbehaves", () => {
  it.each([
    [
      "does not have the image",
      { method: "POST", path: /^\/images\/create$/, answer: { status: 404, body: '{"message":"pull access denied"}' } },
      "connector_provider_failed",
    ],
    [
      "refuses to create",
      { method: "POST", path: /^\/containers\/create$/, answer: { status: 400, body: '{"message":"bad"}' } },
      "connector_provider_failed",
    ],
    [
      "fails to start each time",
      {
        method: "POST",
        path: /\/start$/,
        answer: { status: 500, body: '{"message":"driver failed programming external connectivity"}' },
      },
      "connector_unreachable",
    ],
    [
      "answers no JSON",
      { method: "GET", path: /^\/containers\/[\w-]+\/json$/, answer: { status: 200, body: "<html>" } },
      "connector_provider_failed",
    ],
  ] as const)(
    "%s: the connector fails with the reason, and can be deleted without a trace",
    async (_name, fault, code) => {
      docker.images.clear();
      docker.faults = [fault];
      const made = await settled(test, PEER);
      expect(made).toMatchObject({ status: "failed", errors: [{ code }], description: null });
      expect(test.statuses(made.id)).toEqual(["init", "provisioning", "failed"]);
      expect(
        (await failureOf(() => test.entities.create({ owner: test.owner, connectorId: made.id }, { raw: "x" }, never)))
          .code,
      ).toBe("connector_not_ready");
      docker.faults = [];
      expect(await test.deletions.delete(test.owner, made.id, never)).toBe(true);
      expect(docker.containers.size).toBe(0);
    },
  );

  it("names an image that the registry does not have", async () => {
    docker.images.clear();
    const made = await settled(test, {
      type: "ipfs",
      config: { provider_id: "docker", container: "ipfs/kubo:v0.0.0" },
    });
    expect(made).toMatchObject({
      status: "failed",
      errors: [{ message: "the image ipfs/kubo:v0.0.0 cannot be fetched" }],
    });
    await test.deletions.delete(test.owner, made.id, never);
  });

  it("distinguishes a container that ends at once from one that does not answer yet", async () => {
    run = async () => await Promise.reject(new Error("exit 1"));
    const ended = await settled(test, PEER);
    expect(ended).toMatchObject({ status: "failed", errors: [{ code: "connector_provider_failed" }] });
    expect(await test.containers.nodes(test.owner, ended.id, never)).toMatchObject([
      { status: "failed", description: "ended with status 1 and is started again; restarts so far: 1", ipv4: null },
    ]);
    run = async () => await Promise.resolve({ "5001/tcp": 1 });
    const silent = await settled(test, PEER);
    expect(silent).toMatchObject({ status: "unavailable", errors: [{ code: "connector_unreachable" }] });
    await test.deletions.delete(test.owner, ended.id, never);
    await test.deletions.delete(test.owner, silent.id, never);
  });

  it("is told when a container that answered ends, and that it ended before, once it runs again", async () => {
    const { id } = await settled(test, PEER);
    const container = containerOf(docker, id);
    Object.assign(container, { restarting: true, restarts: 1, exitCode: 137 });
    expect(await test.containers.nodes(test.owner, id, never)).toMatchObject([
      { status: "failed", description: "ended with status 137 and is started again; restarts so far: 1" },
    ]);
    container.restarting = false;
    expect(await test.containers.nodes(test.owner, id, never)).toMatchObject([
      { status: "running", description: "ended and was started again; restarts so far: 1" },
    ]);
    await test.deletions.delete(test.owner, id, never);
  });

  it("keeps the connector when the engine does not remove its container, says why, and deletes it when asked again", async () => {
    const { id } = await settled(test, PEER);
    docker.faults = [
      { method: "DELETE", path: /./, answer: { status: 409, body: '{"message":"removal in progress"}' } },
    ];
    const failure = await failureOf(() => test.deletions.delete(test.owner, id, never));
    expect(failure.code).toBe("connector_not_deleted");
    expect(await plain(test, id)).toMatchObject({
      status: "deprovisioning",
      errors: [{ code: "connector_provider_failed" }],
    });
    expect(
      (await failureOf(() => test.entities.create({ owner: test.owner, connectorId: id }, { raw: "x" }, never))).code,
    ).toBe("connector_not_ready");
    expect(docker.containers.size).toBe(1);
    docker.faults = [];
    expect(await test.deletions.delete(test.owner, id, never)).toBe(true);
    expect(docker.containers.size).toBe(0);
  });

  it("removes its container once, and answers alike, when several delete it while it is provisioned", async () => {
    const owned = await openConnectors({ dockerHost: docker.host, containerReadyMs: 400 });
    try {
      docker.faults = [{ method: "POST", path: /\/start$/, answer: "hang" }];
      const { id } = await create(owned, PEER);
      await eventually("the container is being started", () =>
        docker.requests.some((request) => request.endsWith("/start")),
      );
      const deleting = [1, 2, 3].map(async () => await owned.deletions.delete(owned.owner, id, never));
      expect(await Promise.all(deleting)).toEqual([true, true, true]);
      expect(docker.requests.filter((request) => request.startsWith("DELETE"))).toHaveLength(1);
      expect(docker.containers.size).toBe(0);
      expect(owned.statuses(id)).toEqual(["init", "provisioning", "deprovisioning"]);
    } finally {
      await owned.close();
    }
  });

  it("finishes a refused deletion in a later round", async () => {
    const rounds = await openConnectors({ dockerHost: docker.host, containerReadyMs: 400, probeIntervalMs: 30 });
    try {
      const { id } = await settled(rounds, PEER);
      docker.faults = [{ method: "DELETE", path: /./, answer: { status: 409, body: "{}" } }];
      expect((await failureOf(() => rounds.deletions.delete(rounds.owner, id, never))).code).toBe(
        "connector_not_deleted",
      );
      docker.faults = [];
      rounds.connectors.start();
      await eventually(
        "the connector is gone",
        () => rounds.service.list(rounds.owner, { page: 1, rpp: 1 }).total === 0,
      );
      expect(docker.containers.size).toBe(0);
    } finally {
      await rounds.close();
    }
  });

  it("does not touch a container of the same name that it did not make", async () => {
    const waiting = await openConnectors({ dockerHost: docker.host, idle: true });
    try {
      const { id } = await create(waiting, PEER);
      docker.containers.set(`proofwright-${id}`, {
        id: "f".repeat(64),
        name: `proofwright-${id}`,
        running: true,
        restarting: false,
        restarts: 0,
        exitCode: 0,
        ports: {},
        body: {
          Image: "x",
          Env: [],
          Labels: {},
          ExposedPorts: {},
          HostConfig: {
            PortBindings: {},
            NetworkMode: "bridge",
            Privileged: false,
            SecurityOpt: [],
            Memory: 1,
            PidsLimit: 1,
          },
        },
      });
      await waiting.jobs.start();
      await untilSettled(waiting, id);
      expect(await plain(waiting, id)).toMatchObject({
        status: "failed",
        errors: [{ message: "a container of that name exists and was not made by this server" }],
      });
      docker.containers.clear();
    } finally {
      await waiting.close();
    }
  });

  it("is unreachable or not configured: the connector fails with a message for the operator", async () => {
    const none = await openConnectors({ dockerHost: `unix://${join(folder, "nobody.sock")}` });
    const unset = await openConnectors();
    try {
      expect(await settled(none, PEER)).toMatchObject({
        status: "failed",
        errors: [{ code: "connector_unreachable", message: "the Docker engine cannot be reached" }],
      });
      expect(await settled(unset, PEER)).toMatchObject({
        status: "failed",
        errors: [
          { code: "connector_config_invalid", message: expect.stringContaining("PROOFWRIGHT_DOCKER_HOST") as string },
        ],
      });
      const [left] = unset.service.list(unset.owner, { page: 1, rpp: 1 }).body;
      expect(await unset.deletions.delete(unset.owner, left!.id, never)).toBe(true);
    } finally {
      await none.close();
      await unset.close();
    }
  });
});

describe("work that is cut off", () => {
  it("is continued by the next process at every step, without a second container", async () => {
    const { id, next } = await cutOffAtStart(docker, PEER);
    expect(docker.containers.size).toBe(1);
    const second = await next();
    try {
      await untilSettled(second, id);
      expect(await plain(second, id)).toMatchObject({ status: "available" });
      expect(docker.containers.size).toBe(1);
      docker.faults = [{ method: "DELETE", path: /./, answer: "hang" }];
      const abort = new AbortController();
      const deleting = second.deletions.delete(second.owner, id, abort.signal);
      await eventually("the container is being removed", () =>
        docker.requests.some((request) => request.startsWith("DELETE")),
      );
      abort.abort();
      expect(await deleting).toBe(false);
    } finally {
      await second.close({ keep: true });
    }
    docker.faults = [];
    const third = await next();
    try {
      await untilSettled(third, id);
      expect(third.service.list(third.owner, { page: 1, rpp: 1 }).total).toBe(0);
      expect(docker.containers.size).toBe(0);
    } finally {
      await third.close();
    }
  });
});

describe("an engine over TCP", () => {
  it("is asked in the older of both versions", async () => {
    const old = await startDocker({
      apiVersion: "1.41",
      run: async () => await Promise.resolve({ "5001/tcp": kubo.port }),
    });
    old.registry.add("ipfs/kubo:release");
    const over = await openConnectors({ dockerHost: old.host, containerReadyMs: 400 });
    try {
      expect(await settled(over, PEER)).toMatchObject({ status: "available" });
      expect(old.complaints).toEqual([]);
    } finally {
      await over.close();
      await old.stop();
    }
  });
});
