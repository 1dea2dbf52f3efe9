/** The list of all routes: for the server, the OpenAPI document, the client and the contract tests. */
import { chainRoutes } from "./chain/routes.js";
import { consoleRoutes } from "./console/console-routes.js";
import { docsRoutes } from "./docs/docs-routes.js";
import { identityRoutes } from "./identity/routes.js";
import type { RouteSpec } from "./platform/contract/route.js";
import { eventRoutes } from "./platform/events/event-routes.js";
import { webhookRoutes } from "./platform/webhooks/webhook-routes.js";
import { serviceRoutes } from "./platform/service/routes.js";
import { ceremonyPageRoutes } from "./prover/ceremony-page/ceremony-page-routes.js";
import { proverRoutes } from "./prover/routes.js";
import { auditRoutes } from "./platform/audit/audit-routes.js";
import { lifecycleRoutes } from "./vault/keys/lifecycle-routes.js";
import { organizationVaultRoutes } from "./vault/organization-vault-routes.js";
import { vaultRoutes } from "./vault/routes.js";

export const apiRoutes = {
  ...serviceRoutes,
  ...consoleRoutes,
  ...docsRoutes,
  ...identityRoutes,
  ...organizationVaultRoutes,
  ...vaultRoutes,
  ...lifecycleRoutes,
  ...auditRoutes,
  ...proverRoutes,
  ...ceremonyPageRoutes,
  ...chainRoutes,
  ...eventRoutes,
  ...webhookRoutes,
};

/** All routes as a plain list. */
export const ROUTE_LIST: readonly RouteSpec[] = Object.values(apiRoutes);
