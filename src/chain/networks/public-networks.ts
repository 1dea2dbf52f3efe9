/** The public networks whose ids existing clients contain. The operator configures their nodes. */
import type { NetworkRecord } from "./network-port.js";

interface PublicNetwork {
  readonly id: string;
  /** Its name in PROOFWRIGHT_NETWORK_URLS. */
  readonly key: string;
  readonly name: string;
  /** 0 where it is not known, so that no node can be configured. */
  readonly chainId: number;
  readonly currency: string;
  readonly chain: string;
  readonly isProduction?: true;
  readonly isLayer2?: true;
  /**
   * No longer run as far as is known: found by its id, which existing clients have, but listed and used only where the
   * operator names a node of it.
   */
  readonly hasEnded?: true;
  readonly explorer?: string;
}

const PUBLIC_NETWORKS: readonly PublicNetwork[] = [
  {
    id: "deca2436-21ba-4ff5-b225-ad1b0b2f5c59",
    key: "mainnet",
    name: "Ethereum mainnet",
    chainId: 1,
    currency: "ETH",
    chain: "ethereum",
    isProduction: true,
    explorer: "https://etherscan.io",
  },
  {
    id: "1b16996e-3595-4985-816c-043345d22f8c",
    key: "goerli",
    name: "Ethereum Görli testnet",
    chainId: 5,
    currency: "ETH",
    chain: "goerli",
    hasEnded: true,
  },
  {
    id: "66d44f30-9092-4182-a3c4-bc02736d6ae5",
    key: "ropsten",
    name: "Ethereum Ropsten testnet",
    chainId: 3,
    currency: "ETH",
    chain: "ropsten",
    hasEnded: true,
  },
  {
    id: "07102258-5e49-480e-86af-6d0c3260827d",
    key: "rinkeby",
    name: "Ethereum Rinkeby testnet",
    chainId: 4,
    currency: "ETH",
    chain: "rinkeby",
    hasEnded: true,
  },
  {
    id: "8d31bf48-df6b-4a71-9d7c-3cb291111e27",
    key: "kovan",
    name: "Ethereum Kovan testnet",
    chainId: 42,
    currency: "ETH",
    chain: "kovan",
    hasEnded: true,
  },
  {
    id: "ffc9a168-1327-4ddc-8af9-2301da82cccb",
    key: "sepolia",
    name: "Ethereum Sepolia testnet",
    chainId: 11_155_111,
    currency: "ETH",
    chain: "sepolia",
    explorer: "https://sepolia.etherscan.io",
  },
  {
    id: "2fd61fde-5031-41f1-86b8-8a72e2945ead",
    key: "polygon",
    name: "Polygon mainnet",
    chainId: 137,
    currency: "POL",
    chain: "polygon",
    isProduction: true,
    isLayer2: true,
    explorer: "https://polygonscan.com",
  },
  {
    id: "4251b6fd-c98d-4017-87a3-d691a77a52a7",
    key: "mumbai",
    name: "Polygon Mumbai testnet",
    chainId: 80_001,
    currency: "MATIC",
    chain: "mumbai",
    isLayer2: true,
    hasEnded: true,
  },
  {
    id: "f6d2383b-8e0b-48d8-b539-cfdc13c7b970",
    key: "prvd",
    name: "Provide mainnet",
    chainId: 0,
    currency: "PRVD",
    chain: "prvd",
    hasEnded: true,
  },
  {
    id: "27795197-2a45-4a84-aed2-218a737d77f2",
    key: "peachtree",
    name: "Provide Peachtree testnet",
    chainId: 0,
    currency: "PRVD",
    chain: "peachtree",
    hasEnded: true,
  },
  {
    id: "d818afb9-df2f-4e46-963a-f7b6cb7655d2",
    key: "celo",
    name: "Celo Alfajores testnet",
    chainId: 44_787,
    currency: "CELO",
    chain: "alfajores",
    hasEnded: true,
  },
  {
    id: "d186de3a-48e9-4d99-8e60-adb98ae87a0c",
    key: "bsn",
    name: "BSN testnet",
    chainId: 0,
    currency: "BSN",
    chain: "bsn",
    hasEnded: true,
  },
];
/** Older than any stored record. */
const CREATED_AT = "2018-01-01T00:00:00.000Z";

/** Names that PROOFWRIGHT_NETWORK_URLS may have. */
const PUBLIC_NETWORK_KEYS: readonly string[] = PUBLIC_NETWORKS.filter(({ chainId }) => chainId !== 0).map(
  ({ key }) => key,
);
export const MAINNET_ID = "deca2436-21ba-4ff5-b225-ad1b0b2f5c59";

/** Returns the records, with the operator's URLs (by key) in their configuration. */
export function publicNetworks(urls: ReadonlyMap<string, readonly string[]>): NetworkRecord[] {
  return PUBLIC_NETWORKS.map(
    ({ id, key, name, chainId, currency, chain, isProduction, isLayer2, hasEnded, explorer }) => ({
      id,
      created_at: CREATED_AT,
      owner: null,
      name,
      description: hasEnded === true ? "no longer run by its operators" : null,
      is_production: isProduction === true,
      cloneable: false,
      enabled: hasEnded !== true || urls.has(key),
      layer2: isLayer2 === true,
      layer3: false,
      chain_id: String(chainId),
      sidechain_id: null,
      network_id: null,
      config: {
        platform: "evm",
        chain,
        native_currency: currency,
        ...(chainId === 0 ? {} : { network_id: chainId }),
        is_ethereum_network: true,
        ...(explorer === undefined ? {} : { block_explorer_url: explorer }),
        ...(urls.get(key) === undefined ? {} : { json_rpc_urls: [...(urls.get(key) ?? [])] }),
      },
    }),
  );
}

/** Reads entries such as `sepolia=https://a`. Throws a RangeError with the name that is no public network. */
export function readNetworkUrls(entries: readonly string[]): Map<string, string[]> {
  const urls = new Map<string, string[]>();
  for (const entry of entries) {
    const at = entry.indexOf("=");
    const key = entry.slice(0, at);
    if (!PUBLIC_NETWORK_KEYS.includes(key)) throw new RangeError(key);
    urls.set(key, [...(urls.get(key) ?? []), entry.slice(at + 1)]);
  }
  return urls;
}
