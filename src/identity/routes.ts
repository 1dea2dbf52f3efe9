/** All route definitions of the identity area, from the files of their subjects. Plain values; no server code. */
import { applicationRoutes } from "./tenants/application-routes.js";
import { invitationRoutes } from "./tenants/invitation-routes.js";
import { deviceRoutes } from "./oauth/device/device-routes.js";
import { oauthRoutes } from "./oauth/oauth-routes.js";
import { organizationRoutes } from "./tenants/organization-routes.js";
import { tokenRoutes } from "./tokens/token-routes.js";
import { userRoutes } from "./users/user-routes.js";

export const identityRoutes = {
  ...userRoutes,
  ...tokenRoutes,
  ...applicationRoutes,
  ...organizationRoutes,
  ...invitationRoutes,
  ...oauthRoutes,
  ...deviceRoutes,
};
