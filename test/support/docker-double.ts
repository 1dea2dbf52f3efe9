/**
 * A local stand-in for a Docker engine: the part of the Engine API that the provider uses, over TCP or a unix socket,
 * with the engine's rules (an image must be there before a container, names are taken once, a network must exist, ports
 * are given out) and checks of what is sent. What a container publishes is answered by what the test runs for it.
 */
import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface CreateBody {
  readonly Image: string;
  readonly Env: readonly string[];
  readonly Cmd?: readonly string[];
  readonly Labels: Readonly<Record<string, string>>;
  readonly ExposedPorts: Readonly<Record<string, object>>;
  readonly HostConfig: {
    readonly PortBindings: Readonly<Record<string, readonly { readonly HostIp: string; readonly HostPort: string }[]>>;
    readonly NetworkMode: string;
    readonly Dns?: readonly string[];
    readonly DnsOptions?: readonly string[];
    readonly Privileged: boolean;
    readonly SecurityOpt: readonly string[];
    readonly Memory: number;
    readonly PidsLimit: number;
  };
}

export interface DoubleContainer {
  readonly id: string;
  readonly name: string;
  readonly body: CreateBody;
  ports: Record<string, { HostIp: string; HostPort: string }[]>;
  running: boolean;
  /** It ended, and the engine waits to start it again; `running` is true meanwhile. */
  restarting: boolean;
  restarts: number;
  exitCode: number;
}

/** The body that it was made from. */
interface DoubleNetwork {
  readonly Name: string;
  readonly Labels?: Readonly<Record<string, string>>;
}

/** What goes wrong: the request matches and gets this instead. */
export interface Fault {
  readonly method: string;
  readonly path: RegExp;
  readonly answer: { readonly status: number; readonly body: string } | "hang";
}

export interface DockerDouble {
  /** As PROOFWRIGHT_DOCKER_HOST takes it. */
  readonly host: string;
  /** `METHOD /path?query` without the version, in order. */
  readonly requests: string[];
  readonly images: Set<string>;
  /** What the registry has. */
  readonly registry: Set<string>;
  /** By id, the oldest first. Several may have one name: no container of theirs starts then. */
  readonly networks: Map<string, DoubleNetwork>;
  readonly containers: Map<string, DoubleContainer>;
  /** Requests that no engine would take. */
  readonly complaints: string[];
  faults: Fault[];
  stop(): Promise<void>;
}

export interface DockerOptions {
  readonly socketPath?: string;
  /**
   * What runs in the container: host port by container port, such as `5001/tcp`. Called at each start; a number is a
   * port, a thrown error an exit, after which the engine starts it again and again.
   */
  readonly run?: (container: DoubleContainer) => Promise<Readonly<Record<string, number>>>;
  readonly apiVersion?: string;
}

export async function startDocker(options: DockerOptions = {}): Promise<DockerDouble> {
  const state = {
    requests: [] as string[],
    images: new Set<string>(),
    registry: new Set<string>(),
    networks: new Map<string, DoubleNetwork>(),
    containers: new Map<string, DoubleContainer>(),
    complaints: [] as string[],
    faults: [] as Fault[],
  };
  const server = createServer((incoming, answer) => {
    void serve(state, options, incoming, answer);
  });
  await new Promise<void>((resolve) => {
    if (options.socketPath === undefined) server.listen(0, "127.0.0.1", resolve);
    else server.listen(options.socketPath, resolve);
  });
  return Object.assign(state, {
    host:
      options.socketPath === undefined
        ? `tcp://127.0.0.1:${String((server.address() as AddressInfo).port)}`
        : `unix://${options.socketPath}`,
    stop: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => {
        server.close(() => {
          resolve();
        });
      });
    },
  });
}

type State = Omit<DockerDouble, "host" | "stop">;
interface Reply {
  readonly status: number;
  readonly body?: unknown;
  readonly bytes?: Buffer;
}
const missing = (what: string): Reply => ({ status: 404, body: { message: `No such ${what}` } });

async function serve(
  state: State,
  options: DockerOptions,
  incoming: IncomingMessage,
  answer: ServerResponse,
): Promise<void> {
  const version = options.apiVersion ?? "1.51";
  const url = new URL(incoming.url ?? "/", "http://docker");
  const chunks: Buffer[] = [];
  for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
  const method = incoming.method ?? "";
  if (url.pathname === "/_ping") {
    answer.writeHead(200, { "api-version": version, "content-type": "text/plain" }).end("OK");
    return;
  }
  const asked = /^\/v([0-9.]+)(\/.*)$/.exec(url.pathname);
  if (asked === null || Number(asked[1]!.split(".")[1]) > Number(version.split(".")[1])) {
    state.complaints.push(`version of ${url.pathname}`);
    answer.writeHead(400).end(JSON.stringify({ message: "client version is too new" }));
    return;
  }
  const path = asked[2]!;
  state.requests.push(`${method} ${path}${url.search}`);
  const fault = state.faults.find((candidate) => candidate.method === method && candidate.path.test(path));
  if (fault?.answer === "hang") return;
  if (fault !== undefined) {
    answer.writeHead(fault.answer.status, { "content-type": "application/json" }).end(fault.answer.body);
    return;
  }
  const text = Buffer.concat(chunks).toString("utf8");
  const reply = await route(state, options, {
    method,
    path,
    query: url.searchParams,
    body: text === "" ? undefined : (JSON.parse(text) as unknown),
  });
  answer.writeHead(reply.status, { "content-type": "application/json" });
  answer.end(reply.bytes ?? (reply.body === undefined ? undefined : JSON.stringify(reply.body)));
}

interface Request {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: unknown;
}

async function route(state: State, options: DockerOptions, request: Request): Promise<Reply> {
  const { path } = request;
  const reply = path.startsWith("/images/")
    ? images(state, request)
    : path.startsWith("/networks")
      ? networks(state, request)
      : await containers(state, options, request);
  if (reply !== undefined) return reply;
  state.complaints.push(`${request.method} ${path}`);
  return { status: 404, body: { message: "page not found" } };
}

function images(state: State, { method, path, query }: Request): Reply | undefined {
  const image = /^\/images\/(.+)\/json$/.exec(path)?.[1];
  if (method === "GET" && image !== undefined)
    return state.images.has(image) ? { status: 200, body: { Id: "sha256:0" } } : missing(`image: ${image}`);
  return method === "POST" && path === "/images/create"
    ? pull(state, `${query.get("fromImage") ?? ""}:${query.get("tag") ?? ""}`)
    : undefined;
}

/** The engine takes a name twice, unless the first request was answered. */
function networks(state: State, { method, path, query, body }: Request): Reply | undefined {
  if (method === "POST" && path === "/networks/create") {
    const id = randomBytes(32).toString("hex");
    state.networks.set(id, body as DoubleNetwork);
    return { status: 201, body: { Id: id, Warning: "" } };
  }
  const id = /^\/networks\/([0-9a-f]+)$/.exec(path)?.[1];
  if (method === "DELETE" && id !== undefined) {
    if ([...state.containers.values()].some((container) => container.body.HostConfig.NetworkMode === id))
      return { status: 403, body: { message: "has active endpoints" } };
    return state.networks.delete(id) ? { status: 204 } : missing("network");
  }
  if (method !== "GET" || path !== "/networks") return undefined;
  const { name: parts } = JSON.parse(query.get("filters") ?? "{}") as { readonly name: readonly string[] };
  // The engine lists them in no order.
  const listed = [...state.networks].map(([key, { Name: name, Labels: labels }], index) => ({
    Id: key,
    Name: name,
    Labels: labels ?? {},
    Created: `2026-11-21T10:00:00.${String(index).padStart(3, "0")}456789+01:00`,
  }));
  return { status: 200, body: listed.reverse().filter(({ Name: name }) => parts.some((part) => name.includes(part))) };
}

/** What the engine refuses about the network that a container was made for. */
function networkFault({ networks: known }: State, { body }: DoubleContainer): Reply | undefined {
  const { NetworkMode: id } = body.HostConfig;
  const network = known.get(id);
  if (network === undefined) return { status: 404, body: { message: `network ${id} not found` } };
  const named = [...known.values()].filter(({ Name: name }) => name === network.Name);
  return named.length > 1
    ? { status: 400, body: { message: `network ${network.Name} is ambiguous (${String(named.length)} matches)` } }
    : undefined;
}

async function containers(
  state: State,
  options: DockerOptions,
  { method, path, query, body }: Request,
): Promise<Reply | undefined> {
  if (method === "POST" && path === "/containers/create")
    return create(state, query.get("name") ?? "", body as CreateBody);
  const [, name = "", verb = ""] = /^\/containers\/([\w-]+)(?:\/(\w+))?$/.exec(path) ?? [];
  const container = state.containers.get(name);
  if (container === undefined) return missing(`container: ${name}`);
  switch (`${method} ${verb}`) {
    case "POST start":
      return networkFault(state, container) ?? (await start(container, options));
    case "POST stop":
      return stopContainer(container);
    case "GET json":
      return { status: 200, body: inspected(container) };
    case "GET logs":
      return {
        status: 200,
        bytes: framed([
          [1, "2026-11-21T10:00:00.000000001Z Daemon is ready\n"],
          [2, "2026-11-21T10:00:01.500000000Z a warning\n"],
        ]),
      };
    case "DELETE ": {
      if (container.running && query.get("force") !== "true")
        return { status: 409, body: { message: "container is running" } };
      state.containers.delete(name);
      return { status: 204 };
    }
    default:
      return undefined;
  }
}

/** The engine answers 200 before it knows, and tells failures in its lines. */
function pull(state: State, reference: string): Reply {
  if (!state.registry.has(reference)) {
    const error = `manifest for ${reference} not found`;
    return {
      status: 200,
      bytes: Buffer.from(
        `${JSON.stringify({ status: "Pulling" })}\r\n${JSON.stringify({ errorDetail: { message: error }, error })}\r\n`,
      ),
    };
  }
  state.images.add(reference);
  return {
    status: 200,
    bytes: Buffer.from(
      `${JSON.stringify({ status: `Pulling from ${reference}` })}\r\n${JSON.stringify({ status: "Status: Downloaded newer image" })}\r\n`,
    ),
  };
}

function create(state: State, name: string, body: CreateBody): Reply {
  if (!state.images.has(body.Image)) return missing(`image: ${body.Image}`);
  if (state.containers.has(name))
    return { status: 409, body: { message: `Conflict. The container name "/${name}" is already in use` } };
  if (!state.networks.has(body.HostConfig.NetworkMode)) return missing(`network ${body.HostConfig.NetworkMode}`);
  for (const [port, bindings] of Object.entries(body.HostConfig.PortBindings)) {
    if (!/^[0-9]+\/(tcp|udp)$/.test(port) || body.ExposedPorts[port] === undefined || bindings.length === 0)
      state.complaints.push(`binding of ${port}`);
  }
  if (
    body.HostConfig.Privileged ||
    !body.HostConfig.SecurityOpt.includes("no-new-privileges:true") ||
    !(body.HostConfig.Memory > 0) ||
    !(body.HostConfig.PidsLimit > 0)
  )
    state.complaints.push("limits");
  const id = randomBytes(32).toString("hex");
  state.containers.set(name, {
    id,
    name,
    body,
    ports: {},
    running: false,
    restarting: false,
    restarts: 0,
    exitCode: 0,
  });
  return { status: 201, body: { Id: id, Warnings: [] } };
}

async function start(container: DoubleContainer, options: DockerOptions): Promise<Reply> {
  if (container.running) return { status: 304 };
  try {
    const published = (await options.run?.(container)) ?? {};
    container.ports = Object.fromEntries(
      Object.entries(container.body.HostConfig.PortBindings).map(([port, bindings], index) => [
        port,
        bindings.map(({ HostIp: ip }) => ({ HostIp: ip, HostPort: String(published[port] ?? 40_000 + index) })),
      ]),
    );
    container.restarting = false;
  } catch {
    container.restarting = true;
    container.restarts += 1;
    container.exitCode = 1;
  }
  container.running = true;
  return { status: 204 };
}

function stopContainer(container: DoubleContainer): Reply {
  if (!container.running) return { status: 304 };
  container.running = false;
  container.restarting = false;
  return { status: 204 };
}

function inspected(container: DoubleContainer): object {
  const { id, name, body, ports, running, restarting, restarts, exitCode } = container;
  const isUp = running && !restarting;
  return {
    Id: id,
    Name: `/${name}`,
    Created: "2026-11-21T10:00:00.123456789Z",
    RestartCount: restarts,
    State: {
      Status: restarting ? "restarting" : running ? "running" : exitCode === 0 ? "created" : "exited",
      Running: running,
      Restarting: restarting,
      // Of a process that runs, the engine says 0.
      ExitCode: isUp ? 0 : exitCode,
      Error: "",
    },
    Config: { Image: body.Image, Labels: body.Labels, Tty: false },
    NetworkSettings: {
      Ports: isUp ? ports : {},
      Networks: { [body.HostConfig.NetworkMode]: { IPAddress: isUp ? "172.17.0.2" : "" } },
    },
  };
}

/** stream(1) || 0(3) || length(4) || bytes, as the engine frames the logs of a container without a terminal. */
function framed(lines: readonly (readonly [number, string])[]): Buffer {
  return Buffer.concat(
    lines.flatMap(([stream, text]) => {
      const head = Buffer.alloc(8);
      head[0] = stream;
      head.writeUInt32BE(Buffer.byteLength(text), 4);
      return [head, Buffer.from(text)];
    }),
  );
}
