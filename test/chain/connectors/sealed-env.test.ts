/** The environment of a container: in the vault, never answered, and unchanged by a client that sends back what it got. */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ConnectorRepository, type StoredConnector } from "../../../src/chain/connectors/connector-repository.js";
import { connectorRoutes } from "../../../src/chain/connectors/connector-routes.js";
import { networkRoutes } from "../../../src/chain/networks/network-routes.js";
import { compileRoute } from "../../../src/platform/contract/validate.js";
import { startDocker, type DockerDouble } from "../../support/docker-double.js";
import { startKubo, type KuboDouble } from "../../support/kubo-double.js";
import { newFolder, removeFolder } from "../../support/temporary-folder.js";
import { create, failureOf, openConnectors, plain, settled, untilSettled, type TestConnectors } from "./support.js";

const SECRET = "hunter2-of-the-container";
const SEALED = "<sealed>";
const CONTAINED = { provider_id: "docker", rpc_port: 5001 };

const folder = newFolder("sealed-env");
let kubo: KuboDouble;
let docker: DockerDouble;
let test: TestConnectors;

beforeAll(async () => {
  kubo = await startKubo();
  docker = await startDocker({
    socketPath: join(folder, "docker.sock"),
    run: async () => await Promise.resolve({ "5001/tcp": kubo.port }),
  });
  docker.registry.add("ipfs/kubo:release");
  test = await openConnectors({ dockerHost: docker.host, containerReadyMs: 400 });
});
afterAll(async () => {
  await test.close();
  await docker.stop();
  await kubo.stop();
  removeFolder(folder);
});

const stored = (): string => JSON.stringify(test.store.range([]).map(({ value }) => value));
const envOf = (id: string): readonly string[] => docker.containers.get(`proofwright-${id}`)?.body.Env ?? [];
const contained = async (env: Readonly<Record<string, string>>, more: object = {}) =>
  await settled(test, { type: "ipfs", config: { ...CONTAINED, env }, ...more });

/** Writes a connector as an earlier version left it. */
async function rewrite(id: string, config: object): Promise<void> {
  const repository = new ConnectorRepository({ store: test.store });
  const current = repository.require(test.owner, id);
  const older = { ...current.value, config } as StoredConnector;
  await test.store.commit(repository.update(current, older));
}

describe("the environment of a connector", () => {
  it("is in the vault, reaches the container, and is answered without its values", async () => {
    const made = await contained({ A: SECRET, B: "server" });
    expect(made.config.env).toEqual({ A: SEALED, B: SEALED });
    expect(envOf(made.id)).toEqual([`A=${SECRET}`, "B=server"]);
    expect(stored()).not.toContain(SECRET);
    expect(JSON.stringify(test.service.list(test.owner, { page: 1, rpp: 100 }))).not.toContain(SECRET);
  });

  it("is no change when it is sent back as answered, or as it was given", async () => {
    const made = await contained({ A: SECRET, B: "server" });
    for (const env of [made.config.env, { B: "server", A: SECRET }, { A: SEALED, B: "server" }])
      await test.service.update(test.owner, made.id, { config: { env: { ...env } } });
    const change = test.service.update(test.owner, made.id, { config: { env: { A: "other", B: SEALED } } });
    expect((await failureOf(() => change)).message).toMatch(/^config\.env: the container was made from it/);
    expect((await plain(test, made.id)).config.env).toEqual({ A: SEALED, B: SEALED });
  });

  it("and the credentials leave each other alone", async () => {
    const credentials = { username: "ada", password: "the-first" };
    const { id } = await create(test, { type: "redis", is_virtual: true, config: { env: { A: SECRET }, credentials } });
    await untilSettled(test, id);
    const opened = async () => {
      const found = new ConnectorRepository({ store: test.store }).require(test.owner, id).value;
      const { ConnectorCredentials } = await import("../../../src/chain/connectors/connector-credentials.js");
      return await new ConnectorCredentials({ vault: test.vault.vault, store: test.store }).open(found);
    };
    await test.service.update(test.owner, id, { config: { credentials: { password: "the-second" } } });
    expect(await opened()).toEqual({ credentials: { password: "the-second" }, env: { A: SECRET } });
    await test.service.update(test.owner, id, { config: { env: { A: SEALED, B: "more" } } });
    expect(await opened()).toEqual({ credentials: { password: "the-second" }, env: { A: SECRET, B: "more" } });
    await test.service.update(test.owner, id, { config: { credentials: null } });
    expect(await opened()).toEqual({ credentials: {}, env: { A: SECRET, B: "more" } });
    await test.service.update(test.owner, id, { config: { env: null } });
    expect(await opened()).toEqual({ credentials: {}, env: {} });
    expect((await plain(test, id)).config).not.toHaveProperty("env");
  });

  it("takes the text that stands for a value for a present one only", async () => {
    for (const draft of [contained({ A: SEALED }), contained({ __proto__x: SEALED })])
      expect((await failureOf(() => draft)).code).toBe("connector_config_invalid");
    const { id } = await create(test, { type: "redis", is_virtual: true, config: { env: { A: SECRET } } });
    const change = test.service.update(test.owner, id, { config: { env: { A: SEALED, toString: SEALED } } });
    expect((await failureOf(() => change)).message).toMatch(/^config\.env\.toString: /);
  });

  it("of an earlier version is answered without its values, still works, and is sealed by a change of it", async () => {
    const { id } = await create(test, { type: "redis", is_virtual: true, config: {} });
    await untilSettled(test, id);
    await rewrite(id, { env: { A: SECRET } });
    expect((await plain(test, id)).config.env).toEqual({ A: SEALED });
    await test.service.update(test.owner, id, { name: "renamed", config: { env: { A: SEALED } } });
    expect(stored()).toContain(SECRET);
    await test.service.update(test.owner, id, { config: { env: { A: SEALED, B: "more" } } });
    expect(stored()).not.toContain(SECRET);
    expect((await plain(test, id)).config.env).toEqual({ A: SEALED, B: SEALED });
  });
});

describe("a member of the configuration that an earlier version kept and this one refuses", () => {
  it("is dropped by a PUT with null", async () => {
    const { id } = await create(test, { type: "redis", is_virtual: true, config: { region: "eu" } });
    await untilSettled(test, id);
    await rewrite(id, { region: "eu", apiToken: "old" });
    const dropped: object = { apiToken: null };
    await test.service.update(test.owner, id, { config: dropped });
    expect((await plain(test, id)).config).toEqual({ region: "eu" });
  });

  it.each([
    ["connector", compileRoute(connectorRoutes.updateConnector)],
    ["network", compileRoute(networkRoutes.updateNetwork)],
  ])("may be null in a change of a %s, and nothing else", (_what, validator) => {
    for (const name of ["apiToken", "token", "secretKey"]) {
      expect(validator.body({ config: { [name]: null } }).body).toEqual({ config: { [name]: null } });
      for (const value of ["x", 1, {}, []]) expect(() => validator.body({ config: { [name]: value } })).toThrow(name);
    }
  });
});
