/** The networks that containers of connectors are in, against a stand-in for the Docker engine. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startDocker, type DockerDouble } from "../../support/docker-double.js";
import { startKubo, type KuboDouble } from "../../support/kubo-double.js";
import {
  containerOf,
  cutOffAtStart,
  never,
  openConnectors,
  plain,
  settled,
  untilSettled,
  type Draft,
  type TestConnectors,
} from "./support.js";

let kubo: KuboDouble;
let docker: DockerDouble;
let test: TestConnectors;

const PEER: Draft = { type: "ipfs", config: { provider_id: "docker", rpc_port: 5001, gateway_port: 8080 } };
const masquerading = (is: string): object => ({ "com.docker.network.bridge.enable_ip_masquerade": is });

beforeAll(async () => {
  kubo = await startKubo();
  docker = await startDocker({ run: async () => await Promise.resolve({ "5001/tcp": kubo.port }) });
  docker.registry.add("ipfs/kubo:release");
  test = await openConnectors({ dockerHost: docker.host, containerReadyMs: 400 });
});
afterAll(async () => {
  await test.close();
  await docker.stop();
  await kubo.stop();
});
beforeEach(() => {
  docker.faults = [];
  docker.requests.length = 0;
});

describe("a connector's container", () => {
  it("reaches no other container, and without egress nothing outside and no resolver of the host", async () => {
    const open = await settled(test, PEER);
    const closed = await settled(test, {
      ...PEER,
      config: { ...PEER.config, security: { egress: "none", ingress: {} } },
    });
    const settings = [open, closed].map(({ id }) => {
      const { NetworkMode: network, Dns: servers, DnsOptions: options } = containerOf(docker, id).body.HostConfig;
      return { servers, options, network: docker.networks.get(network) };
    });
    const apart = { "com.docker.network.bridge.enable_icc": "false" };
    expect(settings).toMatchObject([
      {
        servers: undefined,
        network: {
          Name: "proofwright-egress",
          Driver: "bridge",
          EnableIPv6: false,
          Options: { ...apart, ...masquerading("true") },
        },
      },
      {
        servers: ["0.0.0.0"],
        options: ["timeout:1", "attempts:1"],
        network: {
          Name: "proofwright-no-egress",
          Driver: "bridge",
          EnableIPv6: false,
          Options: { ...apart, ...masquerading("false") },
        },
      },
    ]);
    for (const { id } of [open, closed]) await test.deletions.delete(test.owner, id, never);
  });

  it("is in one network with others that are made at once", async () => {
    docker.networks.clear();
    const made = await Promise.all([1, 2, 3].map(async () => await settled(test, PEER)));
    expect(made.map(({ status }) => status)).toEqual(["available", "available", "available"]);
    expect([...docker.networks.values()]).toMatchObject([{ Name: "proofwright-egress" }]);
    for (const { id } of made) await test.deletions.delete(test.owner, id, never);
  });

  it("is in the oldest of several networks of its name, and others of ours are removed where nothing is in them", async () => {
    docker.networks.clear();
    for (const [id, name] of [
      ["bb", "proofwright-egress"],
      ["aa", "proofwright-egress"],
      ["cc", "proofwright-egress-of-others"],
    ] as const)
      docker.networks.set(id, { Name: name, Labels: { "io.proofwright.connector": "shared" } });
    const { id, status } = await settled(test, PEER);
    expect([status, containerOf(docker, id).body.HostConfig.NetworkMode]).toEqual(["available", "bb"]);
    expect([...docker.networks.keys()]).toEqual(["bb", "cc"]);
    await test.deletions.delete(test.owner, id, never);
  });

  it("makes a container anew that was made for a network which is gone", async () => {
    const { id, next } = await cutOffAtStart(docker, PEER);
    const before = containerOf(docker, id).id;
    docker.networks.clear();
    const second = await next();
    try {
      await untilSettled(second, id);
      expect(await plain(second, id)).toMatchObject({ status: "available" });
      expect(docker.containers.size).toBe(1);
      expect(containerOf(docker, id).id).not.toBe(before);
      await second.deletions.delete(second.owner, id, never);
    } finally {
      await second.close();
    }
  });
});
