/** Networks over the guard, against real nodes and against doubles that answer what a test says. */
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll } from "vitest";
import { createNetworks, type NetworksPart } from "../../../src/chain/networks/create-networks.js";
import { FailoverRpc } from "../../../src/chain/rpc/failover-rpc.js";
import type { Subject } from "../../../src/platform/auth/principal.js";
import { systemClock } from "../../../src/platform/clock.js";
import { AllowList } from "../../../src/platform/net/address-rules.js";
import { createEgressGuard } from "../../../src/platform/net/egress-guard.js";
import type { EventDraft, Events } from "../../../src/platform/events/events.js";
import { notFound } from "../../../src/platform/errors.js";
import { References } from "../../../src/platform/references.js";
import { newId } from "../../../src/platform/ids.js";
import type { Nodes } from "../../../src/platform/nodes/nodes.js";
import type { Store } from "../../../src/platform/store/store.js";
import { startAnvil, type Anvil } from "../../support/anvil.js";
import { MemoryStore } from "../../support/memory-store.js";
import { recordedLog, type RecordedLog } from "../../support/silent-log.js";
import { openTestVault, type TestVault } from "../../vault/support.js";

export const SIGNAL = new AbortController().signal;
export const CHAIN = 31_337;
export const MAINNET = "deca2436-21ba-4ff5-b225-ad1b0b2f5c59";
export const egress = createEgressGuard({ allow: new AllowList(["127.0.0.0/8"]), ports: [443, 8545] });
export const ada: Subject = { kind: "user", id: newId() };
export const eve: Subject = { kind: "user", id: newId() };
const doubles: Server[] = [];
/** A node of `CHAIN`, one of chain 5, and a vault; from `setUpNetworks` on. */
export let anvil: Anvil;
export let other: Anvil;
export let vault: TestVault;

/** Starts the nodes and the vault before the tests of a file, and stops them afterwards. */
export function setUpNetworks(): void {
  beforeAll(async () => {
    [anvil, other, vault] = await Promise.all([
      startAnvil({ chainId: CHAIN }),
      startAnvil({ chainId: 5 }),
      openTestVault(),
    ]);
  });
  afterEach(() => {
    for (const double of doubles.splice(0)) {
      double.closeAllConnections();
      double.close();
    }
  });
  afterAll(async () => {
    egress.close();
    await Promise.all([anvil.stop("SIGKILL"), other.stop("SIGKILL"), vault.close()]);
  });
}

/** The id of the call that a response answers. */
const ids = new WeakMap<ServerResponse, number>();

/** Starts a node that answers as the test says. */
export async function double(
  answer: (method: string, response: ServerResponse, authorization: string | undefined) => void,
): Promise<string> {
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on("end", () => {
      const { id, method } = JSON.parse(body) as { id: number; method: string };
      ids.set(response, id);
      answer(method, response, request.headers.authorization);
    });
  });
  doubles.push(server);
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
}
export const result = (response: ServerResponse, value: unknown): void => {
  response.end(JSON.stringify({ jsonrpc: "2.0", id: ids.get(response), result: value }));
};
export const refusal = (response: ServerResponse, error: object): void => {
  response.end(JSON.stringify({ jsonrpc: "2.0", id: ids.get(response), error }));
};
export const asChain =
  (answer: (response: ServerResponse) => void) =>
  (method: string, response: ServerResponse): void => {
    if (method === "eth_chainId") result(response, "0x7a69");
    else answer(response);
  };
export const rpcOf = (...urls: string[]): FailoverRpc =>
  new FailoverRpc({ urls, chainId: CHAIN }, { egress, clock: systemClock });

export async function deadUrl(): Promise<string> {
  const url = await double(() => undefined);
  const server = doubles.pop();
  await new Promise((resolve) => {
    server?.close(resolve);
  });
  return url;
}

export interface Bench {
  readonly part: NetworksPart;
  readonly said: EventDraft[];
  readonly log: RecordedLog;
}

export function networks(
  publicUrls: ReadonlyMap<string, readonly string[]> = new Map(),
  intervalMs = 60_000,
  store: Store = new MemoryStore(),
  nodes?: Nodes,
): Bench {
  const said: EventDraft[] = [];
  const events: Events = {
    commitOf: () => ({}),
    publish: (drafts) => {
      said.push(...drafts);
      return Promise.resolve();
    },
  };
  const log = recordedLog();
  const part = createNetworks(
    { publicUrls, intervalMs },
    {
      store,
      ...(nodes === undefined ? {} : { nodes }),
      vault: vault.vault,
      egress,
      operatorEgress: egress,
      events,
      requireTenant: (_principal, { kind }) => {
        throw notFound(kind);
      },
      references: new References(),
      clock: systemClock,
      log,
    },
  );
  return { part, said, log };
}
export const PAGE = { page: 1, rpp: 25 };
