/** A node of chain 31337 that answers whatever a test decides: a batch, garbage, a failure of the proxy before it. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

export interface Request {
  readonly id: number;
  readonly method: string;
}
export type Body = Request | readonly Request[];

export interface NodeDouble {
  readonly url: string;
  /** What it was asked, but for the chain's number. */
  readonly bodies: Body[];
  /** The chain's number that it tells, 0x-hex. */
  chainId: string;
}

const running: Server[] = [];

/** Starts a node that tells the chain's number truly; the test decides what it answers to everything else. */
export async function startNodeDouble(
  answer: (body: Body) => { readonly status?: number; readonly body: unknown },
): Promise<NodeDouble> {
  const double = { url: "", bodies: [] as Body[], chainId: "0x7a69" };
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk: Buffer) => {
      text += chunk.toString();
    });
    request.on("end", () => {
      const body = JSON.parse(text) as Body;
      const isCheck = "method" in body && body.method === "eth_chainId";
      if (!isCheck) double.bodies.push(body);
      const answered = isCheck ? { body: { jsonrpc: "2.0", id: body.id, result: double.chainId } } : answer(body);
      response.statusCode = answered.status ?? 200;
      response.end(JSON.stringify(answered.body));
    });
  });
  running.push(server);
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  double.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return double;
}

/** Ends all doubles, for `afterEach`. */
export function endNodeDoubles(): void {
  for (const server of running.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
}
