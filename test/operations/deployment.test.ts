/** The files for containers, systemd and Kubernetes hold what the server has: settings, probes, ports, times, files. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { ROUTE_LIST } from "../../src/api.js";
import { databaseAddress } from "../../src/platform/cluster/database-address.js";
import { systemClock } from "../../src/platform/clock.js";
import { loadConfig, type Config } from "../../src/platform/config.js";
import { PACKAGE_ROOT } from "../../src/platform/files/package-root.js";
import { createLog } from "../../src/platform/log.js";
import { checkSealSettings } from "../../src/vault/seal/providers/select-provider.js";
import { MemoryStore } from "../support/memory-store.js";

const textOf = (name: string): string => readFileSync(join(PACKAGE_ROOT, "src/operations", name), "utf8");
const manifest = JSON.parse(readFileSync(join(PACKAGE_ROOT, "package.json"), "utf8")) as {
  readonly version: string;
  readonly files: readonly string[];
  readonly engines: { readonly node: string };
};
/** What the files leave to the operator. */
const OPERATOR = {
  SEAL_UNSEAL_VALIDATION_HASH: "0".repeat(64),
  PROOFWRIGHT_ISSUER: "https://proofs.example.com",
};
/** Between the last request and the end: closing the store. */
const CLOSING_SEC = 10;

interface ComposeService {
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
  readonly tmpfs?: readonly string[];
  readonly user?: string;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly stop_grace_period?: string;
  readonly healthcheck?: { readonly test: readonly string[] };
}

/** The settings of an environment, read as the server reads them: an unknown, wrong or missing one throws. */
function configOf(env: Readonly<Record<string, string>>): Config {
  const config = loadConfig({ flags: {}, env });
  checkSealSettings(config, { store: new MemoryStore(), clock: systemClock, log: createLog("silent") });
  return config;
}

const stopSec = ({ shutdown_delay: delay, shutdown_grace: grace }: Config): number => delay + grace + CLOSING_SEC;

/** The instructions of a Dockerfile by stage, without comments. */
function stages(): (readonly [name: string, argument: string])[][] {
  const found: (readonly [string, string])[][] = [];
  for (const line of textOf("Dockerfile").split("\n")) {
    const [, name = "", argument = ""] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
    if (name === "FROM") found.push([]);
    if (name !== "") found.at(-1)!.push([name, argument]);
    else expect(line).toMatch(/^(#.*)?$/);
  }
  return found;
}

const [, image = []] = stages();
const all = (name: string): string[] => image.filter(([one]) => one === name).map(([, argument]) => argument);
const imageEnv = Object.fromEntries(all("ENV").map((pair) => pair.split("=") as [string, string]));
const IMAGE_USER = all("USER")[0];

describe("the image", () => {
  it("has every file of the package, and nothing of the build but what runs", () => {
    const copied = all("COPY").map((line) => /^--from=build \/app\/(\S+) (\S+)$/.exec(line)!.slice(1));
    for (const [from, to] of copied) expect(from).toBe(to);
    const names = copied.map(([from]) => from!);
    // Ignored where the package leaves it out again.
    const packed = manifest.files.filter((file) => !file.startsWith("!")).map((file) => file.split("/src/cli.js")[0]!);
    expect(names.sort()).toEqual([...new Set([...packed, "LICENSE", "node_modules", "package.json"])].sort());
    for (const name of names) expect(existsSync(join(PACKAGE_ROOT, name)), name).toBe(true);
  });

  it("serves as a user without a name and without rights, by settings that exist", () => {
    expect(IMAGE_USER).toMatch(/^[1-9]\d{3,}:[1-9]\d{3,}$/);
    const config = configOf({ ...imageEnv, ...OPERATOR });
    expect(config).toMatchObject({ mode: "production", host: "0.0.0.0" });
    expect(all("EXPOSE")).toEqual([String(config.port)]);
    expect(all("VOLUME")).toEqual([config.data_dir]);
    expect(all("RUN").join()).toContain(`chown ${IMAGE_USER!} ${config.data_dir}`);
    // What changes files stands before the user, who may change none of them.
    const order = image.map(([name]) => name);
    expect(order.lastIndexOf("COPY")).toBeLessThan(order.indexOf("USER"));
    expect(order.lastIndexOf("RUN")).toBeLessThan(order.indexOf("USER"));
  });

  it("starts the program, asks a route whether it lives, and runs on a Node that is supported", () => {
    expect(JSON.parse(all("ENTRYPOINT")[0]!)).toEqual(["node", "--enable-source-maps", "dist/src/cli.js"]);
    expect(JSON.parse(all("CMD")[0]!)).toEqual(["server"]);
    const health = all("HEALTHCHECK")[0]!;
    expect(ROUTE_LIST.some(({ path, auth }) => health.includes(`'${path}'`) && auth === "public")).toBe(true);
    // A worker answers on this port alone, and has it without a setting of its own.
    expect(health).toContain("PROOFWRIGHT_METRICS_PORT");
    expect(configOf({ ...imageEnv, ...OPERATOR })).toMatchObject({ metrics_port: 9464, metrics_host: "127.0.0.1" });
    const bases = stages().map(([from]) => /^node:(\d+)-bookworm(-slim)?( AS build)?$/.exec(from![1])![1]!);
    expect(new Set(bases).size).toBe(1);
    expect(manifest.engines.node).toContain(`^${bases[0]!}.`);
  });

  it("takes no data, secrets or packages of the machine that builds it", () => {
    const ignored = textOf("Dockerfile.dockerignore").split("\n");
    for (const name of [".git", "data", "dist", "**/node_modules", "**/*.log"]) expect(ignored).toContain(name);
  });
});

describe("the compose file", () => {
  const { services, volumes } = parse(textOf("compose.yaml")) as {
    readonly services: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
    readonly volumes: Readonly<Record<string, unknown>>;
  };
  const server = services.server!;

  it("has settings that exist, and asks for those without a default", () => {
    const given = server.environment as Readonly<Record<string, string>>;
    const asked = Object.entries(given).filter(([, value]) => value.startsWith("${"));
    expect(asked.map(([name]) => name).sort()).toEqual(Object.keys(OPERATOR).sort());
    for (const [name, value] of asked) expect(value).toMatch(new RegExp(`^\\$\\{${name}:\\?.+\\}$`));
    const config = configOf({ ...imageEnv, ...given, ...OPERATOR });
    expect(config.mode).toBe("production");
    expect(parseInt(String(server.stop_grace_period), 10)).toBe(stopSec(config));
    expect(server.ports).toEqual([`127.0.0.1:${String(config.port)}:${String(config.port)}`]);
    expect(server.volumes).toEqual([`data:${config.data_dir}`]);
    expect(Object.keys(volumes)).toEqual(["data"]);
  });

  it("gives the server no rights and no place to write but its data and /tmp", () => {
    expect(server).toMatchObject({ user: IMAGE_USER, read_only: true, cap_drop: ["ALL"], init: true });
    expect(server.security_opt).toEqual(["no-new-privileges:true"]);
    expect((server.tmpfs as string[]).map((place) => place.split(":")[0])).toEqual(["/tmp"]);
    expect(server).not.toHaveProperty("privileged");
    const build = server.build as { readonly context: string; readonly dockerfile: string };
    expect(existsSync(join(PACKAGE_ROOT, "src/operations", build.context, build.dockerfile))).toBe(true);
  });
});

describe("the compose file of a cluster", () => {
  const { services, volumes, networks, configs } = parse(textOf("compose-cluster.yaml"), { merge: true }) as {
    readonly services: Readonly<Record<string, ComposeService>>;
    readonly configs: Readonly<Record<string, { readonly content: string }>>;
    readonly volumes: Readonly<Record<string, unknown>>;
    readonly networks: { readonly default: { readonly ipam: { readonly config: readonly { subnet: string }[] } } };
  };
  const nodes = ["one", "two", "three"].map((name) => ({ name, ...services[name]! }));

  it("gives each node a name and a folder of its own, and all else alike, by settings that exist", () => {
    for (const { name, environment, volumes: mounts, stop_grace_period: grace } of nodes) {
      const given: Readonly<Record<string, string>> = { ...imageEnv, ...environment };
      // What `init` writes into the file: the mode, the issuer and the hash of the seal key.
      const env = Object.entries(given).filter(([setting]) => setting !== "PROOFWRIGHT_CONFIG");
      const config = configOf({ ...Object.fromEntries(env), ...OPERATOR, PROOFWRIGHT_MODE: "production" });
      expect(config).toMatchObject({ node_name: name, seal_unseal_provider: "container_secret" });
      expect(parseInt(grace!, 10)).toBe(stopSec(config));
      expect(mounts![0]).toBe(`${name}:${config.data_dir}`);
      expect(config.trusted_proxies).toBe(networks.default.ipam.config[0]!.subnet);
    }
    const [one, ...others] = nodes.map(({ environment, volumes: mounts }) => ({
      environment: { ...environment, PROOFWRIGHT_NODE_NAME: "" },
      mounts: mounts!.slice(1),
    }));
    for (const other of others) expect(other).toEqual(one);
    const named = Object.values(services)
      .flatMap((service) => (service.volumes ?? []).map((at) => at.split(":")[0]!))
      .filter((name) => !name.startsWith("/"));
    expect([...new Set(named)].sort()).toEqual(Object.keys(volumes).sort());
  });

  it("gives each worker a folder of its own and no name, and what it gives the nodes beside", () => {
    const { name: _name, environment, volumes: mounts, ...node } = nodes[0]!;
    const { PROOFWRIGHT_NODE_NAME: _own, ...shared } = environment!;
    expect(services.worker).toEqual({
      ...node,
      profiles: ["worker"],
      command: ["worker"],
      environment: shared,
      volumes: [shared.PROOFWRIGHT_DATA_DIR, ...mounts!.slice(1)],
    });
  });

  it("reaches the database by its socket, with the password that it asks for", () => {
    const { environment, volumes: mounts, command, healthcheck } = services.postgres!;
    const url = nodes[0]!.environment!.PROOFWRIGHT_DATABASE_URL!;
    const asked = environment!.POSTGRES_PASSWORD!;
    expect(asked).toMatch(/^\$\{DATABASE_PASSWORD:\?.+\}$/);
    const address = databaseAddress(url.replace(asked, "letters09"));
    expect(address).toMatchObject({ user: environment!.POSTGRES_USER, password: "letters09", ssl: false });
    expect(mounts).toContain(`socket:${address.host}`);
    for (const { volumes: own } of nodes) expect(own).toContain(`socket:${address.host}`);
    // While the image makes the database, a first server answers at the socket, and ends: only the real one has a port.
    const host = "127.0.0.1";
    expect(command).toContain(`listen_addresses=${host}`);
    expect(healthcheck!.test).toEqual(["CMD", "pg_isready", `--host=${host}`, `--username=${address.user}`]);
  });

  it("keeps whoever has a token at one node, which gets all parts of an upload", () => {
    expect(configs.balancer!.content).toMatch(
      /reverse_proxy one:8080 two:8080 three:8080 \{\n\s+lb_policy header Authorization\n/,
    );
  });

  it("writes the keys where the image's user may, and reads them there", () => {
    const places = [...services.administrator!.command!, ...services.cluster!.command!].flatMap(
      (argument) => /^--(?:data-dir|seal-key-to|config-to|from)=(.+)$/.exec(argument)?.[1] ?? [],
    );
    expect(places).toHaveLength(4);
    for (const place of places) expect(place).toMatch(/^\/etc\/proofwright\//);
    expect(all("RUN").join()).toContain(`chown ${IMAGE_USER!} /var/lib/proofwright /etc/proofwright`);
    const { environment, volumes: mounts } = nodes[0]!;
    expect(places).toEqual(
      expect.arrayContaining([environment!.SEAL_UNSEAL_KEY_SECRET_PATH, environment!.PROOFWRIGHT_CONFIG]),
    );
    expect(mounts).toContain("keys:/etc/proofwright:ro");
  });

  it("gives the nodes no rights and no place to write but their data and /tmp, and opens one port on this machine", () => {
    for (const { user, read_only: isReadOnly, cap_drop: dropped, tmpfs } of [
      ...nodes,
      services.worker!,
      services.administrator!,
    ])
      expect([user, isReadOnly, dropped, tmpfs!.length]).toEqual([IMAGE_USER, true, ["ALL"], 1]);
    const ports = Object.entries(services).flatMap(([name, service]) => (service.ports ?? []).map((at) => [name, at]));
    expect(ports).toEqual([["balancer", "127.0.0.1:8080:8080"]]);
  });
});

describe("the unit of systemd", () => {
  const lines = textOf("proofwright.service")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#") && !line.startsWith("["))
    .map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)] as const);
  const valueOf = (name: string): string | undefined => lines.find(([one]) => one === name)?.[1];
  const env = Object.fromEntries(
    lines.filter(([name]) => name === "Environment").map(([, pair]) => pair.split("=") as [string, string]),
  );

  it("starts the program with settings that exist, and waits for its end", () => {
    const config = configOf({ ...env, ...OPERATOR });
    expect(config.mode).toBe("production");
    expect(config.data_dir).toBe(`/var/lib/${valueOf("StateDirectory")!}`);
    expect(Number(valueOf("TimeoutStopSec"))).toBe(stopSec(config));
    const [, program, command] = /^\/usr\/bin\/node --enable-source-maps (\S+) (\S+)$/.exec(valueOf("ExecStart")!)!;
    const folder = valueOf("WorkingDirectory")!;
    expect(existsSync(join(PACKAGE_ROOT, program!.slice(folder.length)))).toBe(true);
    expect(command).toBe("server");
  });

  it("takes every right that the server does not need", () => {
    const hardening = {
      ...{ NoNewPrivileges: "yes", CapabilityBoundingSet: "", AmbientCapabilities: "", ProtectSystem: "strict" },
      ...{ ProtectHome: "yes", PrivateTmp: "yes", PrivateDevices: "yes", ProtectKernelTunables: "yes", LimitCORE: "0" },
      ...{ ProtectKernelModules: "yes", ProtectControlGroups: "yes", StateDirectoryMode: "0700", UMask: "0077" },
      ...{ RestrictSUIDSGID: "yes", LockPersonality: "yes", SystemCallFilter: "@system-service" },
    };
    for (const [name, value] of Object.entries(hardening)) expect(valueOf(name), name).toBe(value);
    expect(valueOf("User")).not.toBe("root");
    // What would end the server: machine code is made while it runs, and compilers get namespaces.
    expect(valueOf("MemoryDenyWriteExecute")).toBeUndefined();
    expect(valueOf("RestrictNamespaces")!.split(" ")).toEqual(expect.arrayContaining(["user", "net"]));
  });
});

describe("the manifests for Kubernetes", () => {
  const kustomization = parse(textOf("kubernetes/kustomization.yaml")) as {
    readonly resources: readonly string[];
    readonly images: readonly { readonly name: string; readonly newTag: string }[];
    readonly configMapGenerator: readonly { readonly name: string; readonly literals: readonly string[] }[];
  };
  const objects = kustomization.resources.flatMap((name) =>
    parseAllDocuments(textOf(`kubernetes/${name}`)).map((one) => one.toJS() as KubernetesObject),
  );
  const pod = objects.find(({ kind }) => kind === "StatefulSet")!.spec.template!.spec;
  const container = pod.containers[0]!;
  const [map] = kustomization.configMapGenerator;
  const literals = Object.fromEntries(
    map!.literals.map((pair) => [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)]),
  );
  /** What a secret gives, and the key in it. */
  const secrets = Object.fromEntries(container.env.map(({ name, valueFrom }) => [name, valueFrom.secretKeyRef]));
  const given = Object.fromEntries(
    Object.entries(OPERATOR).filter(([name]) => Object.hasOwn(secrets, name) || Object.hasOwn(literals, name)),
  );
  const config = configOf({ ...imageEnv, ...given, ...literals });
  const portOf = (name: string): number | undefined =>
    container.ports.find((port) => port.name === name)?.containerPort;

  it("have settings that exist, of the container and its times", () => {
    expect(container.envFrom).toEqual([{ configMapRef: { name: map!.name } }]);
    expect(config).toMatchObject({ mode: "production", seal_unseal_provider: "container_secret" });
    expect(pod.terminationGracePeriodSeconds).toBe(stopSec(config));
    // Readiness is noticed before the listener closes.
    const { periodSeconds, failureThreshold = 3 } = container.readinessProbe;
    expect(periodSeconds * failureThreshold).toBeLessThan(config.shutdown_delay);
    expect([portOf("http"), portOf("metrics")]).toEqual([config.port, config.metrics_port]);
    expect(config.memory_mb).toBeLessThan(1024 * parseInt(container.resources.limits.memory, 10));
    expect(kustomization.images.map(({ name, newTag }) => [name, newTag])).toEqual([
      [container.image, manifest.version],
    ]);
  });

  it("probe routes that anybody may ask", () => {
    const open = ROUTE_LIST.filter(({ auth, method }) => auth === "public" && method === "GET").map(({ path }) => path);
    const { startupProbe, livenessProbe, readinessProbe } = container;
    for (const { httpGet } of [startupProbe, livenessProbe, readinessProbe]) {
      expect(open).toContain(httpGet.path);
      expect(portOf(httpGet.port)).toBe(config.port);
    }
    // A sealed server is alive: to start it again would not unseal it.
    expect([livenessProbe.httpGet.path, readinessProbe.httpGet.path]).toEqual(["/livez", "/readyz"]);
  });

  it("give the server no rights and no place to write but its data and /tmp", () => {
    const [user, group] = IMAGE_USER!.split(":").map(Number);
    expect(pod.securityContext).toMatchObject({
      runAsNonRoot: true,
      runAsUser: user,
      runAsGroup: group,
      fsGroup: group,
    });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
    expect(pod.automountServiceAccountToken).toBe(false);
    const writable = container.volumeMounts.filter(({ readOnly }) => readOnly !== true).map((mount) => mount.mountPath);
    expect(writable.sort()).toEqual(["/tmp", config.data_dir].sort());
  });

  it("name every setting without which the server would not start", () => {
    const { SEAL_UNSEAL_VALIDATION_HASH: _hash, ...lacking } = { ...imageEnv, ...given, ...literals };
    expect(() => configOf(lacking)).toThrow("container_secret needs SEAL_UNSEAL_VALIDATION_HASH");
    expect(Object.keys(given)).toContain("SEAL_UNSEAL_VALIDATION_HASH");
  });

  it("mount the seal key where the server looks, with a mode that it takes", () => {
    const mount = container.volumeMounts.find(({ name }) => name === "seal-key")!;
    expect(config.seal_unseal_key_secret_path).toBe(`${mount.mountPath}/seal-key`);
    const volume = pod.volumes.find(({ name }) => name === "seal-key")!;
    const secretName = "proofwright-seal-key";
    expect(volume.secret).toEqual({ secretName, defaultMode: 0o440, items: [{ key: "seal-key", path: "seal-key" }] });
    expect(secrets).toEqual({ SEAL_UNSEAL_VALIDATION_HASH: { name: secretName, key: "validation-hash" } });
    const command = textOf("kubernetes/kustomization.yaml")
      .split("\n")
      .find((line) => line.includes(secretName))!;
    expect(command).toContain("--from-file=seal-key=");
    expect(command).toContain("--from-literal=validation-hash=");
  });

  it("lead callers to a ready server, and whoever unseals it to one that is not", () => {
    const services = objects.filter(({ kind }) => kind === "Service");
    const ready = services.find(({ metadata }) => metadata.name === "proofwright")!;
    expect(ready.spec.publishNotReadyAddresses).toBeUndefined();
    expect(services.filter(({ spec }) => spec.publishNotReadyAddresses === true)).toHaveLength(1);
    for (const { spec } of services)
      for (const { targetPort } of spec.ports ?? []) expect(portOf(targetPort), targetPort).toBeDefined();
    // One process owns a data folder.
    expect(objects.find(({ kind }) => kind === "StatefulSet")!.spec.replicas).toBe(1);
  });
});

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
  readonly periodSeconds: number;
  readonly failureThreshold?: number;
}
interface SecretKey {
  readonly name: string;
  readonly key: string;
}
interface KubernetesObject {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly replicas?: number;
    readonly publishNotReadyAddresses?: boolean;
    readonly ports?: readonly { readonly targetPort: string }[];
    readonly template?: {
      readonly spec: {
        readonly automountServiceAccountToken: boolean;
        readonly terminationGracePeriodSeconds: number;
        readonly securityContext: unknown;
        readonly volumes: readonly { readonly name: string; readonly secret?: unknown }[];
        readonly containers: readonly {
          readonly image: string;
          readonly envFrom: unknown;
          readonly env: readonly { readonly name: string; readonly valueFrom: { readonly secretKeyRef: SecretKey } }[];
          readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
          readonly securityContext: unknown;
          readonly startupProbe: Probe;
          readonly livenessProbe: Probe;
          readonly readinessProbe: Probe;
          readonly resources: { readonly limits: { readonly memory: string } };
          readonly volumeMounts: readonly {
            readonly name: string;
            readonly mountPath: string;
            readonly readOnly?: boolean;
          }[];
        }[];
      };
    };
  };
}
