/**
 * The sandbox of untrusted compilers: which of its limits hold on this system, and whether compiling is allowed without
 * the others (setting PROOFWRIGHT_SANDBOX).
 */
import type { Log } from "../log.js";
import {
  missingLimits,
  probeSandboxTools,
  SANDBOX_LIMITS,
  type SandboxLimit,
  type SandboxTools,
} from "./process-sandbox.js";

/** `auto`: compile with the limits that the system offers. `require`: compile only when every limit holds. */
export type SandboxMode = "auto" | "require";

/** Code of a compile that was refused because a limit is missing. */
export const SANDBOX_INCOMPLETE = "sandbox_incomplete";

export class Sandbox {
  readonly mode: SandboxMode;
  readonly tools: SandboxTools;
  /** Limits that do not hold on this system. */
  readonly missing: readonly SandboxLimit[];

  constructor(options: { readonly mode: SandboxMode; readonly tools: SandboxTools }) {
    this.mode = options.mode;
    this.tools = options.tools;
    this.missing = missingLimits(options.tools);
  }

  /** Why compiling is refused, as a sentence for people; undefined when it is allowed. */
  get refusal(): string | undefined {
    if (this.mode === "auto" || this.missing.length === 0) return undefined;
    return `compiling is refused, because the server requires a complete sandbox and these limits are missing: ${this.missing.join(", ")}`;
  }

  /** One sentence for each missing limit. */
  get consequences(): string {
    return this.missing.map((limit) => `${limit}: ${SANDBOX_LIMITS[limit]}.`).join(" ");
  }
}

/**
 * Probes the system once, for the start of the server, and warns of missing limits.
 * @param options.searchPath folders of the tools, as in PATH; the server's own PATH by default
 */
export async function openSandbox(
  options: { readonly mode: SandboxMode; readonly searchPath?: string },
  dependencies: { readonly log: Log },
): Promise<Sandbox> {
  const sandbox = new Sandbox({ mode: options.mode, tools: await probeSandboxTools(options.searchPath) });
  if (sandbox.missing.length > 0)
    dependencies.log.warn(
      `the sandbox of the compilers is incomplete${sandbox.refusal === undefined ? "" : ", and compiling is refused"}. ${sandbox.consequences}`,
      { count: sandbox.missing.length },
    );
  return sandbox;
}
