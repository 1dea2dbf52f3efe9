/**
 * Local stand-ins for a NATS and a Redis server: the handshake of each as their protocol documents say, with
 * credentials that are checked, and ways to misbehave. Not more than a client that logs in and pings needs.
 */
import { createServer, type AddressInfo, type Socket } from "node:net";
import { TLSSocket, createSecureContext } from "node:tls";

export interface LineDouble {
  readonly port: number;
  /** What clients sent, line by line. */
  readonly received: string[];
  stop(): Promise<void>;
}

export interface NatsOptions {
  readonly user?: string;
  readonly pass?: string;
  /** Demands TLS after INFO, as a server does whose configuration says so. */
  readonly tls?: { readonly cert: string; readonly key: string };
}

/** INFO first; TLS when demanded; then CONNECT and PING, answered by PONG or by -ERR. */
export async function startNats(options: NatsOptions = {}): Promise<LineDouble> {
  const received: string[] = [];
  return await listen(received, (plain) => {
    plain.write(
      `INFO ${JSON.stringify({ server_id: "NDOUBLE", version: "2.12.1", proto: 1, headers: true, max_payload: 1048576, auth_required: options.user !== undefined, ...(options.tls === undefined ? {} : { tls_required: true }) })} \r\n`,
    );
    if (options.tls === undefined) serveNats(plain, options, received);
    else {
      const secure = new TLSSocket(plain, { isServer: true, secureContext: createSecureContext(options.tls) });
      secure.on("error", () => undefined);
      serveNats(secure, options, received);
    }
  });
}

function serveNats(socket: Socket, { user, pass }: NatsOptions, received: string[]): void {
  let isKnown = user === undefined;
  onLines(socket, (line) => {
    received.push(line);
    if (line.startsWith("CONNECT ")) {
      const sent = JSON.parse(line.slice("CONNECT ".length)) as { readonly user?: string; readonly pass?: string };
      isKnown ||= sent.user === user && sent.pass === pass;
      if (!isKnown) socket.end("-ERR 'Authorization Violation'\r\n");
    } else if (line === "PING" && isKnown) socket.write("PONG\r\n");
  });
}

/** RESP 2: AUTH, PING and SELECT with inline errors as Redis 7 words them. */
export async function startRedis(options: { readonly password?: string } = {}): Promise<LineDouble> {
  const received: string[] = [];
  return await listen(received, (socket) => {
    let isKnown = options.password === undefined;
    let waiting = 0;
    let words: string[] = [];
    onLines(socket, (line) => {
      received.push(line);
      if (line.startsWith("*")) {
        waiting = Number(line.slice(1));
        words = [];
      } else if (!line.startsWith("$")) words.push(line);
      if (words.length === 0 || words.length < waiting) return;
      const [command = "", ...rest] = words;
      words = [];
      if (command === "AUTH") {
        isKnown = rest.at(-1) === options.password;
        socket.write(isKnown ? "+OK\r\n" : "-WRONGPASS invalid username-password pair or user is disabled.\r\n");
      } else if (!isKnown) socket.write("-NOAUTH Authentication required.\r\n");
      else if (command === "PING") socket.write("+PONG\r\n");
      else if (command === "SELECT" && Number(rest[0]) < 16) socket.write("+OK\r\n");
      else socket.write(`-ERR unknown command '${command}'\r\n`);
    });
  });
}

/** Takes connections and never says a word. */
export async function startMute(): Promise<LineDouble> {
  return await listen([], () => undefined);
}

/** Says something that belongs to no protocol. */
export async function startBabbler(text: string): Promise<LineDouble> {
  return await listen([], (socket) => {
    socket.write(text);
  });
}

/** A port on which nobody listens. */
export async function freePort(): Promise<number> {
  const double = await startMute();
  await double.stop();
  return double.port;
}

async function listen(received: string[], serve: (socket: Socket) => void): Promise<LineDouble> {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on("close", () => {
      open.delete(socket);
    });
    socket.on("error", () => undefined);
    serve(socket);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    received,
    stop: async () => {
      for (const socket of open) socket.destroy();
      await new Promise<void>((resolve) => {
        server.close(() => {
          resolve();
        });
      });
    },
  };
}

function onLines(socket: Socket, take: (line: string) => void): void {
  let held = "";
  socket.on("data", (chunk: Buffer) => {
    held += chunk.toString("latin1");
    const lines = held.split("\r\n");
    held = lines.pop() ?? "";
    lines.forEach(take);
  });
}
