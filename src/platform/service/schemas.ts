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

export const ServiceStatus = Type.Object(
  {
    status: Type.Literal("ok"),
    name: Type.String(),
    version: Type.String(),
    sandbox: Type.Optional(SandboxStatus),
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
