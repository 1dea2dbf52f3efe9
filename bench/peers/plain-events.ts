/**
 * The least that can be done for many WebSocket subscribers: a bare uWebSockets.js server that publishes one text to
 * all of them. No log, no filters, no tokens, nothing durable. For each line on standard input it sends an event of the
 * length that the line says, in characters.
 */
import { createInterface } from "node:readline";
import { loadUwsLibrary } from "../../src/platform/http/drivers/uws-library.js";

const TOPIC = "events";
let id = 0;

/** As long as what it is compared with. */
function eventOf(length: number): string {
  const event = {
    id,
    subject: TOPIC,
    created_at: new Date().toISOString(),
    payload: { type: "Transfer", params: { filler: "" } },
  };
  event.payload.params.filler = "x".repeat(Math.max(0, length - JSON.stringify(event).length));
  return JSON.stringify(event);
}

const { App, us_socket_local_port } = loadUwsLibrary();
const app = App();
app.ws("/*", {
  idleTimeout: 60,
  sendPingsAutomatically: true,
  open: (socket) => {
    socket.subscribe(TOPIC);
    socket.send(JSON.stringify({ id, type: "ready" }));
  },
});
app.listen("127.0.0.1", 0, (socket) => {
  process.stdout.write(`Listening on ${String(socket === false ? "" : us_socket_local_port(socket))}\n`);
});
createInterface({ input: process.stdin }).on("line", (line) => {
  id += 1;
  app.publish(TOPIC, eventOf(Number(line)));
});
