/** How long a killed node's duties lie: a process that has one is ended by SIGKILL, and another node waits for it. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { ClusterNodes } from "../../src/platform/cluster/members/cluster-nodes.js";
import { NO_SETTINGS } from "../../src/platform/cluster/members/member-settings.js";
import { openNodeStore } from "../../src/platform/cluster/cluster-store.js";
import { databaseAddress } from "../../src/platform/cluster/database-address.js";
import { systemClock } from "../../src/platform/clock.js";
import { newId } from "../../src/platform/ids.js";
import { createLog } from "../../src/platform/log.js";

/** What a member of a cluster is told; to another process as JSON. */
export interface MemberOptions {
  readonly databaseUrl: string;
  /** Hex. */
  readonly clusterKey: string;
  /** An empty folder. */
  readonly folder: string;
  readonly name: string;
}

const DUTY = "bench";
const log = createLog("error");

/** Joins as a member. Returns it, and what leaves again. */
export async function joinMember(
  options: MemberOptions,
): Promise<{ readonly nodes: ClusterNodes; readonly leave: () => Promise<void> }> {
  const [node, incarnation] = [newId(), newId()];
  const cluster = {
    databaseUrl: options.databaseUrl,
    clusterKey: Buffer.from(options.clusterKey, "hex"),
    node,
    incarnation,
  };
  const store = await openNodeStore({ path: options.folder, chainKey: new Uint8Array(32), cluster }, { log });
  const nodes = await ClusterNodes.join(
    {
      ...{ address: databaseAddress(options.databaseUrl), node, incarnation, name: options.name },
      ...{ role: "server", settings: NO_SETTINGS },
    },
    { store, clock: systemClock, log },
  );
  const leave = async (): Promise<void> => {
    await nodes.stop();
    await store.close();
  };
  return { nodes, leave };
}

/** Takes the duty and says so; for the process that is killed. */
export async function holdDuty(options: MemberOptions): Promise<void> {
  const { nodes } = await joinMember(options);
  nodes.take(DUTY, () => process.send?.("held"));
}

/**
 * Returns the milliseconds from the kill until the other node has the duty.
 * @param program path of the process that calls `holdDuty`
 */
export async function takeoverMs(killed: MemberOptions, other: MemberOptions, program: string): Promise<number> {
  const child = fork(program, [JSON.stringify(killed)]);
  const { nodes, leave } = await joinMember(other);
  try {
    await once(child, "message");
    const taken = new Promise<void>((resolve) => {
      nodes.take(DUTY, resolve);
    });
    child.kill("SIGKILL");
    const startedMs = performance.now();
    await taken;
    return performance.now() - startedMs;
  } finally {
    child.kill("SIGKILL");
    await leave();
  }
}
