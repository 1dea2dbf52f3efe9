/** The providers of this server. A row offers a provider; nothing else knows their names. */
import { circomProvider } from "./circom.js";
import type { ProviderFactory } from "./provider.js";

export const PROVIDERS: readonly ProviderFactory[] = [circomProvider];
