/**
 * The OAuth client of the server's own console: public, built in, and sent back to the server's own address only. It is
 * made at every start from the address that the server has, and stored nowhere.
 */

/** The same on every server, so that the console needs no configuration. No application can get it: ids are random. */
export const CONSOLE_CLIENT_ID = "c0450000-0000-4000-8000-000000000001";
/** As the login page names it. */
export const CONSOLE_NAME = "The Proofwright console";

const LOOPBACK_HOSTS = ["127.0.0.1", "localhost", "[::1]"];

/**
 * Returns the client of the console.
 * @param serviceUrl address of the server; one on loopback may be written with any of its names, on the same port
 */
export function consoleClient(serviceUrl: string) {
  const addresses = consoleAddresses(serviceUrl);
  return {
    id: CONSOLE_CLIENT_ID,
    created_at: "1970-01-01T00:00:00.000Z",
    redirect_uris: addresses,
    post_logout_redirect_uris: addresses,
    public: true,
    keys: [],
    permissions: 0,
    secret_hash: null,
    secret_created_at: null,
    previous_secret_hash: null,
    previous_secret_until_ms: 0,
  };
}

/** None for an issuer that is no web address, at which there is no console either. */
function consoleAddresses(serviceUrl: string): string[] {
  if (!/^https?:\/\/[^/?#]+(?:\/[^?#]*)?$/.test(serviceUrl) || !URL.canParse(serviceUrl)) return [];
  const { protocol, hostname, port } = new URL(serviceUrl);
  const own = `${serviceUrl}/`;
  if (!LOOPBACK_HOSTS.includes(hostname)) return protocol === "https:" ? [own] : [];
  const authority = port === "" ? "" : `:${port}`;
  return [...new Set([own, ...LOOPBACK_HOSTS.map((host) => `${protocol}//${host}${authority}/`)])];
}
