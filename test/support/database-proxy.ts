/**
 * Stands between a node and its PostgreSQL as another Unix socket, and breaks connections at chosen moments: after the
 * database was asked and before the answer came back, so that the node cannot know what was done.
 */
import { chmodSync, mkdirSync } from "node:fs";
import net from "node:net";
import { join } from "node:path";
import { newFolder, removeFolder } from "./temporary-folder.js";

const SOCKET = ".s.PGSQL.5432";

export class DatabaseProxy {
  /** Folder of the proxy's socket. */
  readonly folder: string;
  /** Asked for each piece that the database sends back: whether the connection breaks in its place. */
  breaksAnswer: () => boolean = () => false;
  /** The same of each piece that the node sends. */
  breaksQuestion: () => boolean = () => false;
  /** Connections that it broke. */
  broken = 0;
  readonly #server: net.Server;
  readonly #open = new Set<net.Socket>();
  #target: string;

  private constructor(target: string) {
    this.#target = target;
    this.folder = join(newFolder("proxy"), "s");
    mkdirSync(this.folder);
    this.#server = net.createServer((client) => {
      this.#connect(client, net.connect(join(this.#target, SOCKET)));
    });
  }

  /** Starts a proxy to the socket in a folder. */
  static async start(target: string): Promise<DatabaseProxy> {
    const proxy = new DatabaseProxy(target);
    await new Promise<void>((resolve) => proxy.#server.listen(join(proxy.folder, SOCKET), resolve));
    // A standby, which may run as another user, connects through it as well.
    for (const path of [join(proxy.folder, ".."), proxy.folder, join(proxy.folder, SOCKET)]) chmodSync(path, 0o777);
    return proxy;
  }

  /** Ends all connections, and leads new ones to the socket in another folder. */
  leadTo(target: string): void {
    this.#target = target;
    for (const socket of this.#open) socket.destroy();
  }

  /** Ends all connections, and takes no more. */
  async stop(): Promise<void> {
    for (const socket of this.#open) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
    removeFolder(join(this.folder, ".."));
  }

  #connect(client: net.Socket, database: net.Socket): void {
    const end = (): void => {
      client.destroy();
      database.destroy();
      this.#open.delete(client);
    };
    this.#open.add(client);
    for (const socket of [client, database]) {
      socket.on("error", end);
      socket.on("close", end);
    }
    client.on("data", (chunk) => {
      if (!this.breaksQuestion()) {
        database.write(chunk);
        return;
      }
      this.broken += 1;
      end();
    });
    database.on("data", (chunk) => {
      if (!this.breaksAnswer()) {
        client.write(chunk);
        return;
      }
      this.broken += 1;
      // The database has done what it answers, or is about to.
      end();
    });
  }
}
