/**
 * Finds out whether another program listens on an address. The library shares its ports (SO_REUSEPORT): without this
 * check a second server would silently take half of the first one's connections. The library's exclusive mode is no
 * alternative, because it cannot take a port again for a minute after a restart.
 */
import { connect } from "node:net";
import { StartError } from "../../start-error.js";

/** Loopback accepts or refuses at once; an address behind a packet filter may do neither. */
const ANSWER_WITHIN_MS = 1000;
const LOOPBACK_OF: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" };

/**
 * Resolves when nothing listens on the address.
 * @throws StartError when another program does
 */
export async function requireFreeAddress(host: string, port: number): Promise<void> {
  const isTaken = await new Promise<boolean>((resolve) => {
    const socket = connect({ host: LOOPBACK_OF[host] ?? host, port });
    const settle = (taken: boolean) => (): void => {
      socket.destroy();
      resolve(taken);
    };
    socket.setTimeout(ANSWER_WITHIN_MS, settle(false));
    socket.once("connect", settle(true));
    socket.once("error", settle(false));
  });
  if (isTaken)
    throw new StartError(
      `cannot listen on ${host} port ${String(port)}: another program listens there; stop it or choose another port`,
    );
}
