/** Where a connector's peer is, in the forms that drivers and probes take. */
/** A peer over HTTP. The URL has no `/` at its end. */
export interface HttpAddress {
  readonly kind: "http";
  readonly url: string;
}

/** A peer over a protocol other than HTTP. */
export interface SocketAddress {
  readonly kind: "socket";
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  /** The path of the URL, such as a database; without slashes. */
  readonly path: string | undefined;
}

export interface PeerAddresses {
  /** Where the peer is asked; undefined when only a gateway, or nothing, is named. */
  readonly api: HttpAddress | SocketAddress | undefined;
  /** Base URL of an IPFS gateway. */
  readonly gateway: string | undefined;
}
