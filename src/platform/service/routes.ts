/** Routes of the service itself: status, readiness, documentation. Public, and outside `/api/v1`. */
import { defineRoute } from "../contract/route.js";
import { Liveness, Readiness, ServiceStatus } from "./schemas.js";

export const serviceRoutes = {
  getStatus: defineRoute({
    id: "getStatus",
    area: "service",
    method: "GET",
    path: "/status",
    summary: "Status of the service",
    auth: "public",
    description:
      "A bearer token with the permission sudo adds the state of the compilers' sandbox, what runs and waits, the form of the kernels, and the nodes of a cluster.",
    responses: { 200: { description: "The service answers", schema: ServiceStatus } },
  }),
  getLiveness: defineRoute({
    id: "getLiveness",
    area: "service",
    method: "GET",
    path: "/livez",
    summary: "Whether the process is alive",
    auth: "public",
    responses: { 200: { description: "The process is alive", schema: Liveness } },
  }),
  getReadiness: defineRoute({
    id: "getReadiness",
    area: "service",
    method: "GET",
    path: "/readyz",
    summary: "Whether the service is ready for work",
    auth: "public",
    description: "Answers 503 while a check fails (for example while the vault is sealed) and while the server stops.",
    responses: {
      200: { description: "Ready", schema: Readiness },
      503: { description: "Not ready; `checks` names what fails", schema: Readiness },
    },
  }),
  getOpenApi: defineRoute({
    id: "getOpenApi",
    area: "service",
    method: "GET",
    path: "/openapi.json",
    summary: "This API as OpenAPI 3.1",
    auth: "public",
    responses: { 200: { description: "The document", bytes: "application/json; charset=UTF-8", fixed: true } },
  }),
} as const;
