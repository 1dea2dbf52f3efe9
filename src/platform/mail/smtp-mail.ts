/**
 * Mail by SMTP (RFC 5321), through nodemailer; the only file that imports it. Loaded only when an SMTP server is
 * configured.
 */
import { createTransport } from "nodemailer";
import { isSafeHeaderText, type MailDriver } from "./mail.js";

/** A server that sends nothing for this time is treated as unreachable. */
const TIMEOUT_MS = 15_000;
/** Two connections keep a queue of password resets moving and stay below what servers take for a flood. */
const CONNECTIONS_MAX = 2;

/**
 * Creates the driver.
 * @param options.url `smtp://user:password@host:587` (STARTTLS is required unless the host is loopback) or
 *   `smtps://...:465`
 * @param options.from address in `From:`
 */
export function createSmtpMail(options: {
  readonly url: string;
  readonly from: string;
}): MailDriver & { close(): void } {
  const { protocol, hostname, port, username, password } = new URL(options.url);
  const isLoopback = ["localhost", "127.0.0.1", "[::1]"].includes(hostname);
  const secure = protocol === "smtps:";
  const transport = createTransport({
    host: hostname.replace(/^\[|\]$/g, ""),
    port: port === "" ? (secure ? 465 : 587) : Number(port),
    secure,
    requireTLS: !secure && !isLoopback,
    ...(username === "" ? {} : { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
    pool: true,
    maxConnections: CONNECTIONS_MAX,
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
    // A message is plain text of this service; nothing in it may make the library read a file or fetch a URL.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return {
    send: async ({ to, subject, text }) => {
      if (![to, subject].every(isSafeHeaderText))
        throw new Error("a mail header contains characters that are not allowed in a header");
      await transport.sendMail({ from: options.from, to: { name: "", address: to }, subject, text });
    },
    close: () => {
      transport.close();
    },
  };
}
