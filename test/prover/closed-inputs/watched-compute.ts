/** A compute that shows what crosses to the proving thread. */
import type { ProveValue, TaskResult } from "../../../src/engine/protocol.js";
import type { ProveInput } from "../../../src/prover/compute/compute.js";
import { LocalCompute } from "../local-compute.js";

/** Keeps what crosses to the proving thread, and lets a test do something before. */
export class WatchedCompute extends LocalCompute {
  readonly messages: string[] = [];
  before: (() => Promise<void>) | undefined;

  override async prove(message: ProveInput): Promise<TaskResult<ProveValue>> {
    this.messages.push(JSON.stringify({ inputs: message.inputs, closed: message.closed }));
    const { before } = this;
    this.before = undefined;
    await before?.();
    return await super.prove(message);
  }
}
