/** Shapes of the service's own answers. */
import Type, { type Static } from "typebox";

const SandboxStatus = Type.Object(
  {
    mode: Type.Union([Type.Literal("auto"), Type.Literal("require")]),
    missing: Type.Array(Type.Object({ limit: Type.String(), consequence: Type.String() }), {
      description: "limits that this system does not offer, each with what its absence means",
    }),
  },
  { description: "the sandbox of the compilers; only for tokens with the permission sudo" },
);
export type SandboxStatusJson = Static<typeof SandboxStatus>;

const KernelStatus = Type.Object(
  {
    form: Type.Union([Type.Literal("four_lanes"), Type.Literal("two_lanes")]),
    reason: Type.String({ description: "why this form runs" }),
    speedups: Type.Record(Type.String(), Type.Number(), {
      description: "how many times as fast each kernel was on four lanes as on two, when the server started",
    }),
  },
  { description: "the form of the proving kernels; only for tokens with the permission sudo" },
);
export type KernelStatusJson = Static<typeof KernelStatus>;

export const ServiceStatus = Type.Object(
  {
    status: Type.Literal("ok"),
    name: Type.String(),
    version: Type.String(),
    sandbox: Type.Optional(SandboxStatus),
    kernels: Type.Optional(KernelStatus),
  },
  { description: "the process serves" },
);
export const Liveness = Type.Object({ live: Type.Literal(true) }, { description: "the event loop turns" });
export const Readiness = Type.Object(
  {
    ready: Type.Boolean({ description: "true when every check is ok" }),
    checks: Type.Array(Type.Object({ name: Type.String(), ok: Type.Boolean() }), {
      description: "conditions for accepting work",
    }),
  },
  { description: "whether this server accepts work" },
);
