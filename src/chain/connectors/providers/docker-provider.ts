/**
 * Containers on a Docker engine. Containers and networks are found by label or name, so that each step can be
 * interrupted and repeated.
 */
import { AppError } from "../../../platform/errors.js";
import type { ContainerLogs, ContainerNode, LoadBalancer } from "../connector-schemas.js";
import { DockerEngine, engineJson, requireStatus } from "./docker-engine.js";
import { linesOfLog } from "./docker-logs.js";
import { DockerNetworks } from "./docker-networks.js";
import {
  CONNECTOR_LABEL,
  containerName,
  createBody,
  imageReference,
  invalid,
  isImageAllowed,
  networkOf,
  portBindings,
  SETTINGS_LABEL,
  settingsHash,
} from "./docker-settings.js";
import type { ContainerProvider, ContainerRuntime, ContainerSpec, NodeContext, PublishedEndpoint } from "./provider.js";

/** The members of `GET /containers/{id}/json` that are used here. */
interface Inspected {
  readonly Id: string;
  readonly Created: string;
  readonly RestartCount: number;
  /** `Running` is true as well while the engine waits to start a container again that ended. */
  readonly State: {
    readonly Running: boolean;
    readonly Restarting: boolean;
    readonly Status: string;
    readonly ExitCode: number;
  };
  readonly Config: {
    readonly Image: string;
    readonly Tty?: boolean;
    readonly Labels?: Readonly<Record<string, string>> | null;
  };
  readonly NetworkSettings: {
    readonly Ports?: Readonly<
      Record<string, readonly { readonly HostIp: string; readonly HostPort: string }[] | null>
    > | null;
    readonly Networks?: Readonly<Record<string, { readonly IPAddress?: string }>> | null;
  };
}

/** For large images over slow lines. */
const PULL_TIMEOUT_MS = 600_000;
const STOP_SEC = 10;
const REMOVE_TIMEOUT_MS = 30_000;
/** Addresses that mean all addresses of the host. */
const ALL_ADDRESSES: readonly string[] = ["", "0.0.0.0", "::"];

export class DockerProvider implements ContainerProvider {
  readonly id = "docker";
  readonly #engine: DockerEngine;
  readonly #networks: DockerNetworks;
  readonly #images: string;

  /** @param options.images the operator's list of allowed images, as `isImageAllowed` reads it */
  constructor(options: { readonly host: string; readonly images: string }) {
    this.#engine = new DockerEngine(options.host);
    this.#networks = new DockerNetworks(this.#engine);
    this.#images = options.images;
  }

  /** Refuses images that the operator does not allow, and rules that Docker cannot enforce. */
  check(spec: ContainerSpec): void {
    if (!isImageAllowed(spec.image, this.#images))
      throw invalid(
        "config.container",
        `config.container: the operator does not allow this image; allowed are ${this.#images}`,
      );
    portBindings(spec, this.#engine);
    networkOf(spec.security);
  }

  /** Makes and starts the container. One made from the same settings is used again. */
  async provision(spec: ContainerSpec, signal: AbortSignal): Promise<ContainerRuntime> {
    this.check(spec);
    const existing = await this.#inspect(spec.connectorId, signal);
    if (existing?.Config.Labels?.[SETTINGS_LABEL] !== settingsHash(spec)) {
      if (existing !== undefined) await this.remove(spec.connectorId, signal);
      await this.#make(spec, signal);
    }
    if (!(await this.#start(spec, signal))) {
      // Made by an earlier try, for a network that was removed since.
      await this.remove(spec.connectorId, signal);
      await this.#make(spec, signal);
      if (!(await this.#start(spec, signal)))
        throw new AppError("connector_provider_failed", { message: "the container's network was removed meanwhile" });
    }
    const runtime = await this.locate(spec, signal);
    if (runtime === undefined)
      throw new AppError("connector_provider_failed", {
        message: "the container ended right after its start; its logs may show the reason",
      });
    return runtime;
  }

  /** Returns the published ports of a running container. */
  async locate(spec: ContainerSpec, signal: AbortSignal): Promise<ContainerRuntime | undefined> {
    const found = await this.#inspect(spec.connectorId, signal);
    if (found === undefined || !isRunning(found)) return undefined;
    return {
      provider_id: this.id,
      container_id: found.Id,
      api: this.#published(found, spec.apiPort, spec.scheme),
      gateway: spec.gatewayPort === undefined ? null : this.#published(found, spec.gatewayPort, "http"),
    };
  }

  /** Returns the container, if there is one. */
  async nodes(connectorId: string, context: NodeContext, signal: AbortSignal): Promise<ContainerNode[]> {
    const found = await this.#inspect(connectorId, signal);
    if (found === undefined) return [];
    const address = Object.values(found.NetworkSettings.Networks ?? {})
      .map(({ IPAddress: ip }) => ip ?? "")
      .find((ip) => ip !== "");
    return [
      {
        id: found.Id,
        created_at: new Date(found.Created).toISOString(),
        application_id: context.applicationId,
        network_id: context.networkId,
        role: context.role,
        ...nodeState(found),
        host: this.#engine.publishedHost,
        ipv4: address ?? null,
        config: { image: found.Config.Image, provider_id: this.id },
      },
    ];
  }

  /** Returns one endpoint for each published port and address. */
  async endpoints(connectorId: string, signal: AbortSignal): Promise<LoadBalancer[]> {
    const found = await this.#inspect(connectorId, signal);
    if (found === undefined) return [];
    return Object.entries(found.NetworkSettings.Ports ?? {}).flatMap(([name, bindings]) =>
      (bindings ?? []).map(({ HostIp: ip, HostPort: hostPort }) => ({
        id: `${found.Id.slice(0, 12)}:${name}@${ip}`,
        name,
        host: this.#hostOf(ip),
        port: Number(hostPort),
        container_port: Number.parseInt(name, 10),
        protocol: name.endsWith("/udp") ? ("udp" as const) : ("tcp" as const),
        bind_address: ip,
        status: isRunning(found) ? ("active" as const) : ("inactive" as const),
      })),
    );
  }

  /** Returns the newest lines of both streams, oldest first. */
  async logs(connectorId: string, lines: number, signal: AbortSignal): Promise<ContainerLogs["logs"]> {
    const found = await this.#inspect(connectorId, signal);
    if (found === undefined) return [];
    const answer = await this.#engine.ask(`/containers/${containerName(connectorId)}/logs`, {
      query: { stdout: "true", stderr: "true", timestamps: "true", tail: String(lines) },
      signal,
    });
    requireStatus(answer, [200], "return logs");
    return linesOfLog(answer.body, { hasTerminal: found.Config.Tty === true });
  }

  /** Stops the container and removes it with its volumes. */
  async remove(connectorId: string, signal: AbortSignal): Promise<void> {
    const name = containerName(connectorId);
    const stopped = await this.#engine.ask(`/containers/${name}/stop`, {
      method: "POST",
      query: { t: String(STOP_SEC) },
      timeoutMs: REMOVE_TIMEOUT_MS,
      signal,
    });
    requireStatus(stopped, [204, 304, 404], "stop the container");
    const removed = await this.#engine.ask(`/containers/${name}`, {
      method: "DELETE",
      query: { force: "true", v: "true" },
      timeoutMs: REMOVE_TIMEOUT_MS,
      signal,
    });
    requireStatus(removed, [204, 404], "remove the container");
  }

  /** Returns the container, or undefined. Throws for one of the same name that this server did not make. */
  async #inspect(connectorId: string, signal: AbortSignal): Promise<Inspected | undefined> {
    const answer = await this.#engine.ask(`/containers/${containerName(connectorId)}/json`, { signal });
    if (answer.status === 404) return undefined;
    requireStatus(answer, [200], "describe the container");
    const found = engineJson(answer) as Inspected;
    if (found.Config.Labels?.[CONNECTOR_LABEL] !== connectorId)
      throw new AppError("connector_provider_failed", {
        message: "a container of that name exists and was not made by this server",
      });
    return found;
  }

  /** Fetches an image unless the engine has it. A pull answers 200 and reports failures in its lines. */
  async #pull(image: string, signal: AbortSignal): Promise<void> {
    const present = await this.#engine.ask(`/images/${image}/json`, { signal });
    if (present.status === 200) return;
    requireStatus(present, [404], "look for the image");
    const answer = await this.#engine.ask("/images/create", {
      method: "POST",
      query: imageReference(image),
      timeoutMs: PULL_TIMEOUT_MS,
      signal,
    });
    const isMissing =
      answer.status === 404 ||
      answer.body
        .toString("utf8")
        .split("\n")
        .some((line) => line.includes('"errorDetail"') || line.includes('"error"'));
    if (isMissing) throw new AppError("connector_provider_failed", { message: `the image ${image} cannot be fetched` });
    requireStatus(answer, [200], "fetch the image");
  }

  /** Makes the container, and what it needs. */
  async #make(spec: ContainerSpec, signal: AbortSignal): Promise<void> {
    await this.#pull(spec.image, signal);
    const networkId = await this.#networks.idOf(networkOf(spec.security), signal);
    await this.#create(spec, networkId, signal);
  }

  /** Starts the container, unless it runs. Returns false when something that it was made with is gone. */
  async #start(spec: ContainerSpec, signal: AbortSignal): Promise<boolean> {
    const started = await this.#engine.ask(`/containers/${containerName(spec.connectorId)}/start`, {
      method: "POST",
      signal,
    });
    // 304: the container runs already.
    requireStatus(started, [204, 304, 404], "start the container");
    return started.status !== 404;
  }

  async #create(spec: ContainerSpec, networkId: string, signal: AbortSignal): Promise<void> {
    const answer = await this.#engine.ask("/containers/create", {
      method: "POST",
      query: { name: containerName(spec.connectorId) },
      json: createBody(spec, this.#engine, networkId),
      signal,
    });
    if (answer.status === 404)
      throw new AppError("connector_provider_failed", { message: `the image ${spec.image} is missing` });
    requireStatus(answer, [201], "create the container");
  }

  #published({ NetworkSettings: { Ports: ports } }: Inspected, port: number, scheme: string): PublishedEndpoint | null {
    const bindings = ports?.[`${String(port)}/tcp`] ?? [];
    const binding = bindings.find(({ HostIp: ip }) => !ip.includes(":")) ?? bindings[0];
    if (binding === undefined) return null;
    const host = this.#hostOf(binding.HostIp);
    return {
      url: `${scheme}://${host.includes(":") ? `[${host}]` : host}:${binding.HostPort}`,
      host,
      port: Number(binding.HostPort),
    };
  }

  #hostOf(bound: string): string {
    return ALL_ADDRESSES.includes(bound) || !this.#engine.isLocal ? this.#engine.publishedHost : bound;
  }
}

function isRunning({ State: state }: Inspected): boolean {
  return state.Running && !state.Restarting;
}

function nodeState(found: Inspected): Pick<ContainerNode, "status" | "description"> {
  const { RestartCount: restarts, State: state } = found;
  if (state.Restarting)
    return {
      status: "failed",
      description: `ended with status ${String(state.ExitCode)} and is started again; restarts so far: ${String(restarts)}`,
    };
  if (state.Running)
    return {
      status: "running",
      description: restarts > 0 ? `ended and was started again; restarts so far: ${String(restarts)}` : null,
    };
  if (state.ExitCode !== 0) return { status: "failed", description: `ended with status ${String(state.ExitCode)}` };
  return { status: state.Status === "created" ? "created" : "stopped", description: null };
}
