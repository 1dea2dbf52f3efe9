/** All routes of the chain area, in one object. */
import { accountRoutes } from "./accounts/account-routes.js";
import { connectorRoutes } from "./connectors/connector-routes.js";
import { contractRoutes } from "./contracts/contract-routes.js";
import { subscriptionRoutes } from "./events/subscription-routes.js";
import { networkViewRoutes } from "./networks/network-view-routes.js";
import { networkRoutes } from "./networks/network-routes.js";
import { registrationRoutes } from "./networks/registration-routes.js";
import { transactionRoutes } from "./transactions/transaction-routes.js";

export const chainRoutes = {
  ...networkRoutes,
  ...networkViewRoutes,
  ...contractRoutes,
  ...subscriptionRoutes,
  ...accountRoutes,
  ...transactionRoutes,
  ...connectorRoutes,
  ...registrationRoutes,
} as const;
