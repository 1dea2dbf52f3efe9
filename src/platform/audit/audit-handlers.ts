/** Handlers of the audit log's routes. They decide only whose events a caller may read. */
import type { AuditLog } from "./audit-log.js";
import { holdsAll, PERMISSIONS } from "../auth/permissions.js";
import { formatSubject } from "../auth/principal.js";
import type { HandlersFor } from "../contract/route.js";
import { AppError } from "../errors.js";
import { EXPORT_RECORDS_MAX, type auditRoutes } from "./audit-routes.js";

/** Binds the audit log to its routes. Reading the events of others requires the permission sudo. */
export function auditHandlers(dependencies: { readonly audit: AuditLog }): HandlersFor<typeof auditRoutes> {
  const { audit } = dependencies;
  return {
    listAudit: ({ principal, query }) => {
      const own = formatSubject(principal.subject);
      const subject = query.subject ?? own;
      if (subject !== own && !holdsAll(principal.permissions, PERMISSIONS.sudo))
        throw new AppError("forbidden", { message: "reading the events of others requires the permission sudo" });
      const { entries, total } = audit.list(query, subject === "all" ? undefined : subject);
      return { status: 200, body: entries, total };
    },
    exportAudit: ({ query }) => ({
      status: 200,
      bytes: Buffer.from(audit.exportLines(query.after ?? 0, query.limit ?? EXPORT_RECORDS_MAX)),
    }),
  };
}
