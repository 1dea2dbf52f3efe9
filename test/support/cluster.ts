/** Server processes as the nodes of a cluster over a real PostgreSQL. */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { canonicalPhrase, entropyPhrase, validationHash } from "../../src/crypto/wallets/seal-phrase.js";
import { openClusterKey } from "../../src/platform/cluster/cluster-key.js";
import { AUDIT_SECRET } from "../../src/platform/cluster/cluster-secrets.js";
import { initCluster } from "../../src/platform/cluster/init-cluster.js";
import { Postgres } from "./postgres.js";
import { startServer, type TestServer } from "./server.js";
import { newFolder, removeFolder } from "./temporary-folder.js";

export class TestCluster {
  readonly postgres: Postgres;
  readonly databaseUrl: string;
  /** The settings that all nodes have, as environment variables. */
  readonly env: Readonly<Record<string, string>>;
  readonly phrase: string;
  readonly #folder: string;
  readonly #servers: TestServer[] = [];

  private constructor(parts: { postgres: Postgres; databaseUrl: string; folder: string; phrase: string }) {
    this.postgres = parts.postgres;
    this.databaseUrl = parts.databaseUrl;
    this.phrase = parts.phrase;
    this.#folder = parts.folder;
    const canonical = canonicalPhrase(Buffer.from(parts.phrase)) ?? new Uint8Array();
    this.env = {
      PROOFWRIGHT_DATABASE_URL: parts.databaseUrl,
      PROOFWRIGHT_CLUSTER_KEY_FILE: join(parts.folder, "cluster-key"),
      PROOFWRIGHT_ISSUER: "https://cluster.test",
      SEAL_UNSEAL_KEY: parts.phrase,
      SEAL_UNSEAL_VALIDATION_HASH: Buffer.from(validationHash(canonical)).toString("hex"),
    };
  }

  /** Starts a PostgreSQL and makes an empty cluster in it. */
  static async make(): Promise<TestCluster> {
    const postgres = await Postgres.start();
    const folder = newFolder("cluster");
    const databaseUrl = postgres.urlOf(await postgres.newDatabase());
    const clusterKey = await openClusterKey(join(folder, "cluster-key"));
    await initCluster({ databaseUrl, clusterKey, secrets: new Map([[AUDIT_SECRET, randomBytes(32)]]) });
    const phrase = Buffer.from(entropyPhrase(randomBytes(32))).toString("utf8");
    return new TestCluster({ postgres, databaseUrl, folder, phrase });
  }

  /** Starts a node, with the folder of that name, which it keeps over restarts. */
  async start(name: string, env: Readonly<Record<string, string>> = {}): Promise<TestServer> {
    const server = await startServer({
      dataDir: this.folderOf(name),
      flags: [`--node-name=${name}`],
      env: { ...this.env, ...env },
    });
    this.#servers.push(server);
    return server;
  }

  /** Starts a node that only computes, likewise. */
  async startWorker(name: string, env: Readonly<Record<string, string>> = {}): Promise<TestServer> {
    const worker = await startServer({
      command: "worker",
      dataDir: this.folderOf(name),
      flags: [`--node-name=${name}`],
      env: { ...this.env, ...env },
    });
    this.#servers.push(worker);
    return worker;
  }

  /** The duties that a node has, as its last sign says; empty without one. */
  async dutiesOf(name: string): Promise<string> {
    const database = new URL(this.databaseUrl).pathname.slice(1);
    const text = "SELECT duties FROM pw_node WHERE name = $1 ORDER BY seen_at DESC LIMIT 1";
    const rows = await this.postgres.query(database, text, [name]);
    return rows.map(({ duties }) => String(duties)).join(" ");
  }

  folderOf(name: string): string {
    return join(this.#folder, name);
  }

  async dispose(): Promise<void> {
    await Promise.all(this.#servers.map(async (server) => await server.dispose()));
    await this.postgres.dispose();
    removeFolder(this.#folder);
  }
}
