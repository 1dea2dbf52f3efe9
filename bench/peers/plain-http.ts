/**
 * The least that both HTTP libraries can do: a handler that answers a short JSON text.
 *
 *   node plain-http.js uws|node
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { loadUwsLibrary } from "../../src/platform/http/drivers/uws-library.js";

const BODY = JSON.stringify({ status: "ok" });

function say(port: number): void {
  process.stdout.write(`Plain HTTP on http://127.0.0.1:${String(port)}\n`);
}

if (process.argv[2] === "uws") {
  const { App, us_socket_local_port } = loadUwsLibrary();
  App()
    .any("/*", (response) => {
      response.cork(() => {
        response.writeHeader("content-type", "application/json").end(BODY);
      });
    })
    .listen("127.0.0.1", 0, (socket) => {
      if (socket !== false) say(us_socket_local_port(socket));
    });
} else {
  const server = createServer((_request, response) => {
    response.setHeader("content-type", "application/json").end(BODY);
  });
  server.listen(0, "127.0.0.1", () => {
    say((server.address() as AddressInfo).port);
  });
}
