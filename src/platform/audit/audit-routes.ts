/** Route definitions of the audit log. They work while the vault is sealed. */
import Type from "typebox";
import { defineRoute } from "../contract/route.js";
import { closed, Timestamp, Uuid } from "../contract/schemas.js";

/** Records of one export: a few MB of lines. */
export const EXPORT_RECORDS_MAX = 5_000;
const LIST_ITEMS_MAX = 100;

export const AuditEntry = closed({
  number: Type.Integer({ description: "place in the log, from 1 without gaps" }),
  at: Timestamp,
  action: Type.String({ description: "operation id, or the name of an action of the service itself" }),
  outcome: Type.Union([Type.Literal("ok"), Type.Literal("refused")]),
  code: Type.Optional(Type.String({ description: "error code of a refused request" })),
  subject: Type.Optional(Type.String()),
  acting_user_id: Type.Optional(Uuid),
  session_id: Type.Optional(Type.String()),
  request_id: Type.Optional(Type.String()),
  address: Type.Optional(Type.String()),
  target: Type.Optional(Type.Record(Type.String(), Type.String(), { description: "ids of the path" })),
  objects: Type.Optional(Type.Array(Type.String(), { maxItems: 100, description: "records written and deleted" })),
  names: Type.Optional(
    Type.Record(Type.String(), Type.String(), { description: "keyed hashes of names; never the names" }),
  ),
  count: Type.Optional(Type.Integer({ description: "items of a batch" })),
  detail: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  node: Type.Optional(Type.String({ description: "name of the node of a cluster that recorded it" })),
});

const AuditQuery = closed({
  subject: Type.Optional(
    Type.String({
      pattern: "^(all|(user|application|organization):[0-9a-f-]{36})$",
      description: "`all`, or the subject whose events are listed; events of others require the permission sudo",
    }),
  ),
});
const ExportQuery = closed({
  after: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: "number of the last record to skip",
    }),
  ),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: EXPORT_RECORDS_MAX })),
});

export const auditRoutes = {
  listAudit: defineRoute({
    id: "listAudit",
    area: "vault",
    method: "GET",
    path: "/api/v1/audit",
    summary: "List events of the audit log, newest first",
    description:
      "Lists the caller's own events, or with the permission sudo those of others. The log never holds values or names.",
    auth: { permissions: ["read"] },
    query: AuditQuery,
    list: true,
    responses: { 200: { description: "Events", schema: Type.Array(AuditEntry, { maxItems: LIST_ITEMS_MAX }) } },
  }),
  exportAudit: defineRoute({
    id: "exportAudit",
    area: "vault",
    method: "GET",
    path: "/api/v1/audit/export",
    summary: "Export the audit log as lines of JSON, oldest first",
    description: `Up to ${String(EXPORT_RECORDS_MAX)} records of \`{"number", "mac", "event"}\`; repeat the request with \`after\` set to the last number until the answer is empty.`,
    auth: { permissions: ["sudo"] },
    query: ExportQuery,
    responses: { 200: { description: "Lines of JSON", bytes: "application/x-ndjson" } },
  }),
} as const;
