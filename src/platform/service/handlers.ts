/** Handlers of the service's own routes. Everything static is made once, with the first request for it. */
import type { HandlersFor } from "../contract/route.js";
import type { StaticBytes } from "../contract/static-bytes.js";
import { SANDBOX_LIMITS } from "../pool/process-sandbox.js";
import type { Sandbox } from "../pool/sandbox.js";
import type { serviceRoutes } from "./routes.js";
import type { ClusterStatusJson, KernelStatusJson, SandboxStatusJson, WorkStatusJson } from "./schemas.js";

/** One condition of readiness. */
export interface ReadinessCheck {
  /** Such as `store` or `vault_unsealed`. */
  readonly name: string;
  readonly ok: boolean;
}

export interface ServiceOptions {
  readonly name: string;
  readonly version: string;
}

export interface ServiceDependencies {
  /** Returns the OpenAPI document, which is JSON; called once, with the first request for it. */
  readonly document: () => StaticBytes;
  /** Asked on every readiness call; must be quick. */
  readonly readiness: () => readonly ReadinessCheck[];
  readonly sandbox: Pick<Sandbox, "mode" | "missing">;
  /** What the server works at; for operators. */
  readonly work: () => WorkStatusJson;
  /** What the kernels that prove and verify run on now. */
  readonly kernels: () => KernelStatusJson;
  /** What a node knows of its cluster; undefined for a single server. */
  readonly cluster: () => ClusterStatusJson | undefined;
  /** Resolves to true when the bearer token has the permission sudo. Rejects for a token that is not valid. */
  readonly isOperator: (token: string) => Promise<boolean>;
}

/** How long a probe should wait when a check fails; unsealing and a full disk take a person. */
const NOT_READY_RETRY_SEC = "5";

/** Binds the service's own routes. */
export function createServiceHandlers(
  options: ServiceOptions,
  dependencies: ServiceDependencies,
): HandlersFor<typeof serviceRoutes> {
  const { name, version } = options;
  let document: StaticBytes | undefined;
  return {
    getStatus: async ({ bearer }) => {
      const body = { status: "ok" as const, name, version };
      // A token that is not valid changes nothing: the status itself is public.
      const isOperator = bearer !== undefined && (await dependencies.isOperator(bearer).catch(() => false));
      if (!isOperator) return { status: 200, body };
      const { sandbox, work, kernels } = dependencies;
      const cluster = dependencies.cluster();
      const told = { sandbox: sandboxStatus(sandbox), work: work(), kernels: kernels() };
      return { status: 200, body: { ...body, ...told, ...(cluster === undefined ? {} : { cluster }) } };
    },
    getLiveness: () => ({ status: 200, body: { live: true } }),
    getReadiness: () => {
      const checks = dependencies.readiness().map((check) => ({ name: check.name, ok: check.ok }));
      const ready = checks.every(({ ok }) => ok);
      return ready
        ? { status: 200, body: { ready, checks } }
        : { status: 503, body: { ready, checks }, headers: { "Retry-After": NOT_READY_RETRY_SEC } };
    },
    getOpenApi: () => ({ status: 200, fixed: (document ??= dependencies.document()) }),
  };
}

function sandboxStatus({ mode, missing }: ServiceDependencies["sandbox"]): SandboxStatusJson {
  return { mode, missing: missing.map((limit) => ({ limit, consequence: SANDBOX_LIMITS[limit] })) };
}
