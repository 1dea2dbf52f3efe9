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
const LaneStatus = Type.Object({
  waiting: Type.Integer({ minimum: 0 }),
  running: Type.Integer({ minimum: 0 }),
  started: Type.Integer({ minimum: 0, description: "tasks that began since the start" }),
  refused: Type.Integer({ minimum: 0, description: "tasks that the full queue refused since the start" }),
  wait_seconds: Type.Number({ minimum: 0, description: "time that the begun tasks waited, summed up" }),
});
const WorkStatus = Type.Object(
  {
    prove_threads: Type.Integer({ minimum: 1 }),
    lanes: Type.Record(Type.String(), LaneStatus, { description: "what runs and waits, by the name of its lane" }),
  },
  { description: "what the server works at; only for tokens with the permission sudo" },
);
export type WorkStatusJson = Static<typeof WorkStatus>;
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
    work: Type.Optional(WorkStatus),
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
