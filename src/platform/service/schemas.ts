/** Shapes of the service's own answers. */
import Type from "typebox";

export const ServiceStatus = Type.Object(
  { status: Type.Literal("ok"), name: Type.String(), version: Type.String() },
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
