/** A real PgBouncer before a test's PostgreSQL, which gives each transaction whichever session is free. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chownSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "node:net";
import { eventually } from "./eventually.js";
import type { Postgres } from "./postgres.js";
import { newFolder, removeFolder } from "./temporary-folder.js";

const NOBODY = 65534;
const PORT = 5432;

export class Pooler {
  /** Folder of its socket. */
  readonly folder = newFolder("pooler");
  readonly #process: ChildProcess;

  private constructor(postgres: Postgres) {
    const users = join(this.folder, "users.txt");
    const config = join(this.folder, "pgbouncer.ini");
    writeFileSync(users, '"proofwright" ""\n');
    writeFileSync(
      config,
      [
        "[databases]",
        `* = host=${postgres.socketFolder} port=${String(PORT)}`,
        "[pgbouncer]",
        "pool_mode = transaction",
        `unix_socket_dir = ${this.folder}`,
        `listen_port = ${String(PORT)}`,
        "auth_type = trust",
        `auth_file = ${users}`,
        "default_pool_size = 3",
        // The next transaction gets the session that was used longest ago.
        "server_round_robin = 1",
        "",
      ].join("\n"),
    );
    const isRoot = process.getuid?.() === 0;
    if (isRoot) for (const path of [this.folder, users, config]) chownSync(path, NOBODY, NOBODY);
    // It refuses to run as root.
    const [command, args] = isRoot
      ? [
          "setpriv",
          ["--reuid", String(NOBODY), "--regid", String(NOBODY), "--clear-groups", "/usr/sbin/pgbouncer", config],
        ]
      : ["/usr/sbin/pgbouncer", [config]];
    this.#process = spawn(command, args, { stdio: "ignore" });
  }

  /** Starts one, and waits until it takes connections. */
  static async start(postgres: Postgres): Promise<Pooler> {
    const pooler = new Pooler(postgres);
    await eventually(async () => {
      const socket = connect(join(pooler.folder, `.s.PGSQL.${String(PORT)}`));
      try {
        await once(socket, "connect");
      } finally {
        socket.destroy();
      }
    });
    return pooler;
  }

  async dispose(): Promise<void> {
    const ended = once(this.#process, "exit");
    this.#process.kill("SIGKILL");
    await ended;
    removeFolder(this.folder);
  }
}
