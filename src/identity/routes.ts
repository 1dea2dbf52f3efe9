/** All route definitions of the identity area, from the files of their subjects. Plain values; no server code. */
import { applicationRoutes } from "./application-routes.js";
import { invitationRoutes } from "./invitation-routes.js";
import { oauthRoutes } from "./oauth-routes.js";
import { organizationRoutes } from "./organization-routes.js";
import { tokenRoutes } from "./token-routes.js";
import { userRoutes } from "./user-routes.js";

export const identityRoutes = { ...userRoutes, ...tokenRoutes, ...applicationRoutes, ...organizationRoutes, ...invitationRoutes, ...oauthRoutes };
