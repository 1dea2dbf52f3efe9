/** Nodes of a cluster on a real PostgreSQL that send transactions to a real chain: some here, some in processes. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { randomBytes, randomUUID } from "node:crypto";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { createTransactions, type Transactions } from "../../src/chain/transactions/create-transactions.js";
import type { TransactionNetwork } from "../../src/chain/transactions/transaction-ports.js";
import type { TransactionJson } from "../../src/chain/transactions/transaction-schemas.js";
import type { Subject } from "../../src/platform/auth/principal.js";
import { systemClock, type Clock } from "../../src/platform/clock.js";
import { ClusterNodes } from "../../src/platform/cluster/members/cluster-nodes.js";
import { NO_SETTINGS } from "../../src/platform/cluster/members/member-settings.js";
import { openNodeStore, type NodeStore } from "../../src/platform/cluster/cluster-store.js";
import { databaseAddress } from "../../src/platform/cluster/database-address.js";
import { initCluster } from "../../src/platform/cluster/init-cluster.js";
import { notFound } from "../../src/platform/errors.js";
import { createVault, type Vault } from "../../src/vault/create-vault.js";
import { DEVELOPMENT_PHRASE_FILE } from "../../src/vault/seal/providers/development.js";
import { SpoiledRpc } from "../chain/transactions/support.js";
import { startAnvil, type Anvil } from "./anvil.js";
import { eventually } from "./eventually.js";
import type { Postgres } from "./postgres.js";
import { recordedLog, type RecordedLog } from "./silent-log.js";
import { newFolder, removeFolder } from "./temporary-folder.js";

const CHILD = fileURLToPath(new URL("chain-node-child.mjs", import.meta.url));
const TEN_ETHER = "0x8ac7230489e80000";
const CONFIRMATIONS = 3;
/** A node is given up after fifteen seconds of this clock, and gives a sign each two seconds of the machine's. */
const HASTE = 4;
const hastyClock: Clock = {
  nowMs: () => systemClock.nowMs(),
  monotonicMs: () => HASTE * systemClock.monotonicMs(),
};

interface Stoppable {
  stop(): Promise<void>;
}

/** A node in this process, without a chain area. */
export interface OpenedNode {
  readonly store: NodeStore;
  readonly nodes: ClusterNodes;
  readonly vault: Vault;
  readonly log: RecordedLog;
  /** Ends it in order. */
  readonly leave: () => Promise<void>;
  /** Has something stopped first then. */
  readonly onLeave: (part: Stoppable) => void;
}

/** A node in this process. */
export interface ChainNode {
  readonly store: NodeStore;
  readonly nodes: ClusterNodes;
  readonly transactions: Transactions;
  /** Has this node send transactions as soon as no other does that could sign them. */
  take(): void;
  /** Seals its vault by a fault, which no other node hears of. */
  seal(): Promise<void>;
  unseal(): Promise<void>;
  /** Reads a transaction as a strict request does. */
  get(id: string): Promise<TransactionJson>;
  /** Waits until this node says of the transaction what is claimed. */
  until(id: string, claim: (transaction: TransactionJson) => boolean): Promise<TransactionJson>;
  /** Ends it in order. */
  leave(): Promise<void>;
}

export class ChainCluster {
  readonly owner: Subject = { kind: "user", id: randomUUID() };
  readonly networkId = randomUUID();
  /** What is other than usual, for the nodes of this process. */
  network: Partial<TransactionNetwork> = {};
  readonly anvil: Anvil;
  readonly rpc: SpoiledRpc;
  readonly #databaseUrl: string;
  readonly #clusterKey: Uint8Array;
  readonly #sealFolder: string;
  readonly #folders: string[] = [];
  readonly #leaving: (() => Promise<void>)[] = [];
  readonly #children: ChildProcess[] = [];

  private constructor(anvil: Anvil, databaseUrl: string, clusterKey: Uint8Array) {
    this.anvil = anvil;
    this.rpc = new SpoiledRpc(anvil.url);
    this.#databaseUrl = databaseUrl;
    this.#clusterKey = clusterKey;
    this.#sealFolder = this.#folder();
  }

  /** Makes a cluster without nodes in a database of its own, and starts a chain. */
  static async open(postgres: Postgres): Promise<ChainCluster> {
    const databaseUrl = postgres.urlOf(await postgres.newDatabase());
    const clusterKey = randomBytes(32);
    await initCluster({ databaseUrl, clusterKey });
    return new ChainCluster(await startAnvil(), databaseUrl, clusterKey);
  }

  /** Starts a node in this process without a chain area. */
  async openNode(): Promise<OpenedNode> {
    const log = recordedLog();
    const [node, incarnation, databaseUrl] = [randomUUID(), randomUUID(), this.#databaseUrl];
    const cluster = { databaseUrl, clusterKey: this.#clusterKey, node, incarnation };
    const store = await openNodeStore({ path: this.#folder(), chainKey: new Uint8Array(32).fill(7), cluster }, { log });
    const nodes = await ClusterNodes.join(
      { address: databaseAddress(databaseUrl), node, incarnation, name: "here", role: "server", settings: NO_SETTINGS },
      { store, clock: hastyClock, log },
    );
    const vault = await createVault(
      { queueLengthMax: 1024, seal: { developmentDataDir: this.#sealFolder } },
      { ...{ store, nodes, clock: systemClock, log } },
    );
    await vault.start();
    nodes.reportSeal(() => vault.service.state());
    const parts: Stoppable[] = [];
    let isLeft = false;
    const leave = async (): Promise<void> => {
      if (isLeft) return;
      isLeft = true;
      for (const part of parts) await part.stop();
      await vault.stop();
      await nodes.stop();
      await store.close();
    };
    this.#leaving.push(leave);
    return { store, nodes, vault, log, leave, onLeave: (part) => void parts.push(part) };
  }

  /** Starts a node in this process, which sends nothing before `take`. */
  async join(): Promise<ChainNode> {
    const { store, nodes, vault, log, leave, onLeave } = await this.openNode();
    const transactions = createTransactions(
      { pollMs: 40, patienceMs: 400, resendMs: 400 },
      {
        ...{ store, nodes, clock: systemClock, log, vault: vault.service },
        networks: { find: (_owner, id) => this.#network(id) },
        requireTenant: (_principal, { kind }) => {
          throw notFound(kind);
        },
      },
    );
    onLeave(transactions);
    const get = async (id: string): Promise<TransactionJson> => {
      await store.confirm();
      return transactions.service.get(this.owner, id);
    };
    return {
      ...{ store, nodes, transactions, leave, get },
      take: () => {
        nodes.take(
          "chain",
          () => {
            transactions.start();
          },
          async () => {
            await transactions.end();
          },
        );
      },
      seal: async () => {
        await vault.sealByFault("the test says so");
      },
      unseal: async () => {
        const phrase = readFileSync(join(this.#sealFolder, DEVELOPMENT_PHRASE_FILE), "utf8").trim();
        await vault.service.unseal(this.owner, Buffer.from(JSON.stringify({ key: phrase })));
        transactions.wake();
      },
      until: async (id, claim) =>
        await eventually(async () => {
          const transaction = await get(id);
          if (!claim(transaction)) throw new Error(`${JSON.stringify(transaction)}; ${JSON.stringify(log.lines)}`);
          return transaction;
        }),
    };
  }

  /** Starts a node in a process of its own, and waits until it sends transactions. */
  async spawn({ killAtSend }: { readonly killAtSend?: number } = {}): Promise<ChildProcess> {
    const options = {
      ...{ folder: this.#folder(), sealFolder: this.#sealFolder, databaseUrl: this.#databaseUrl },
      ...{ clusterKey: Buffer.from(this.#clusterKey).toString("hex"), url: this.anvil.url },
      ...{ chainId: this.anvil.chainId, killAtSend },
    };
    const child = spawn(process.execPath, [CHILD, JSON.stringify(options)], { stdio: ["ignore", "pipe", "inherit"] });
    this.#children.push(child);
    const ended = once(child, "exit").then(([status]) => {
      throw new Error(`the node ended before it was ready (${String(status)})`);
    });
    // Later it ends when a test says so.
    ended.catch(() => undefined);
    await Promise.race([once(createInterface({ input: child.stdout }), "line"), ended]);
    return child;
  }

  /** Makes a funded account. */
  async account({ store, transactions }: ChainNode): Promise<{ readonly id: string; readonly address: string }> {
    await store.confirm();
    const { id, address } = await transactions.accounts.create(this.owner, { network_id: this.networkId });
    await this.anvil.request("anvil_setBalance", address, TEN_ETHER);
    return { id, address };
  }

  /** Ends all nodes and the chain. */
  async close(): Promise<void> {
    for (const child of this.#children) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    }
    for (const leave of this.#leaving) await leave();
    await this.anvil.stop("SIGKILL");
    for (const folder of this.#folders) removeFolder(folder);
  }

  #network(id: string): TransactionNetwork {
    return { id, chainId: this.anvil.chainId, rpc: this.rpc, confirmations: CONFIRMATIONS, ...this.network };
  }

  #folder(): string {
    const made = newFolder("node");
    this.#folders.push(made);
    return made;
  }
}
