/**
 * The types of connector (interoperability facts, 7.6) and how each is reached. One row a type; a driver of its own or
 * a probe of its address.
 */

/**
 * How a peer is talked to. `tcp` is a bare connection: all that can be said of it honestly is that somebody listens.
 */
export type PeerProtocol = "http" | "nats" | "redis" | "postgres" | "tcp";

export interface ConnectorKind {
  readonly protocol: PeerProtocol;
  /** Port when the address names none. */
  readonly port: number;
  /** URL schemes that an address may have, plain ones and those over TLS. */
  readonly schemes: { readonly plain: readonly string[]; readonly tls: readonly string[] };
}

const HTTP = { plain: ["http"], tls: ["https"] } as const;

export const CONNECTOR_KINDS = {
  axiom: { protocol: "http", port: 8080, schemes: HTTP },
  elasticsearch: { protocol: "http", port: 9200, schemes: HTTP },
  ipfs: { protocol: "http", port: 5001, schemes: HTTP },
  mongodb: { protocol: "tcp", port: 27_017, schemes: { plain: ["mongodb"], tls: [] } },
  nats: { protocol: "nats", port: 4222, schemes: { plain: ["nats"], tls: ["tls"] } },
  provide: { protocol: "http", port: 8080, schemes: HTTP },
  redis: { protocol: "redis", port: 6379, schemes: { plain: ["redis"], tls: ["rediss"] } },
  rest: { protocol: "http", port: 80, schemes: HTTP },
  splunk: { protocol: "http", port: 8088, schemes: HTTP },
  sql: { protocol: "postgres", port: 5432, schemes: { plain: ["postgres", "postgresql"], tls: [] } },
  tableau: { protocol: "http", port: 80, schemes: HTTP },
  unibright: { protocol: "http", port: 8080, schemes: HTTP },
  zokrates: { protocol: "http", port: 8080, schemes: HTTP },
} as const satisfies Record<string, ConnectorKind>;

export type ConnectorType = keyof typeof CONNECTOR_KINDS;
export const CONNECTOR_TYPES = Object.keys(CONNECTOR_KINDS) as readonly ConnectorType[];

/** The type that a text names, whatever its case. */
export function findConnectorType(text: string): ConnectorType | undefined {
  const name = text.trim().toLowerCase();
  return CONNECTOR_TYPES.find((type) => type === name);
}
