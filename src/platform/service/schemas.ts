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
    four_lanes: Type.Record(Type.String(), Type.Array(Type.String()), {
      description: "the kernels that run on four lanes, by curve",
    }),
    speedups: Type.Record(Type.String(), Type.Record(Type.String(), Type.Number()), {
      description: "how many times as fast each kernel of a curve was on four lanes as on two, when the server started",
    }),
  },
  { description: "the form of the kernels; only for tokens with the permission sudo" },
);
export type KernelStatusJson = Static<typeof KernelStatus>;

const NodeStatus = Type.Object({
  name: Type.String({ description: "the node's name for operators" }),
  role: Type.Union([Type.Literal("server"), Type.Literal("worker")], { description: "a worker takes no requests" }),
  node: Type.String({ description: "UUID that stays with the node's data folder" }),
  version: Type.String(),
  position: Type.Integer({ minimum: 0, description: "number of the last commit that the node had" }),
  seal: Type.String({ description: "state of the node's vault, such as unsealed; empty while it starts" }),
  duties: Type.Array(Type.String(), { description: "what this node does for all" }),
  silent_seconds: Type.Number({ minimum: 0, description: "age of the node's last sign of life, a few seconds old" }),
});
const ClusterStatus = Type.Object(
  {
    position: Type.Integer({ minimum: 0, description: "number of the last commit that this node has" }),
    unconfirmed_ms: Type.Integer({ minimum: 0, description: "how long ago this node has had the whole log" }),
    clock_ahead_ms: Type.Integer({ description: "how far the database's clock is ahead of this machine's" }),
    nodes: Type.Array(NodeStatus, { description: "the nodes, this one first" }),
  },
  { description: "the cluster, where the server is a node of one; only for tokens with the permission sudo" },
);
export type ClusterStatusJson = Static<typeof ClusterStatus>;

export const ServiceStatus = Type.Object(
  {
    status: Type.Literal("ok"),
    name: Type.String(),
    version: Type.String(),
    sandbox: Type.Optional(SandboxStatus),
    work: Type.Optional(WorkStatus),
    kernels: Type.Optional(KernelStatus),
    cluster: Type.Optional(ClusterStatus),
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
