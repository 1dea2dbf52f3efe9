/** Returns a server's address as a URL, such as `https://[::1]:8080`: an IPv6 host in brackets, the scheme by TLS. */
export function describeAddress(address: {
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
}): string {
  const { host, port, isTls } = address;
  return `${isTls ? "https" : "http"}://${host.includes(":") ? `[${host}]` : host}:${String(port)}`;
}
