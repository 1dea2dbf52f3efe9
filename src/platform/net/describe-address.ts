/** How an address is written for people and for clients. */

/** `https://[::1]:8080`: the brackets of IPv6, the scheme by TLS. */
export function describeAddress(tls: boolean, host: string, port: number): string {
  return `${tls ? "https" : "http"}://${host.includes(":") ? `[${host}]` : host}:${String(port)}`;
}
