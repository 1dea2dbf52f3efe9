/** The headers of answers in OpenAPI: described once, referred to by every answer that has them. */
import type { JsonObject } from "./openapi-components.js";

export const HEADERS = {
  "X-Request-Id": {
    description: "Id of the request; the client's X-Request-Id when it is 1 to 64 letters, digits and `._:-`",
    schema: { type: "string" },
  },
  "Retry-After": {
    description: "Seconds after which another attempt may succeed",
    schema: { type: "integer", minimum: 1 },
  },
  "X-Total-Results-Count": { description: "Results over all pages", schema: { type: "integer", minimum: 0 } },
  Link: { description: "Pages first, prev, next and last (RFC 8288)", schema: { type: "string" } },
  Location: { description: "Path of the new resource, where it has one", schema: { type: "string" } },
  ETag: { description: "SHA-256 of the content, quoted", schema: { type: "string" } },
} as const satisfies JsonObject;

/** Returns references to these headers. */
export function headers(...names: readonly (keyof typeof HEADERS)[]): JsonObject {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
