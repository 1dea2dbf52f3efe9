/** The built server with traces: a login, a circuit and a proof, as a collector gets them when the server stops. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { startServer, type TestServer } from "../../support/server.js";
import { startCollector, type CollectedSpan, type TraceCollector } from "../../support/trace-collector.js";

let collector: TraceCollector;
let server: TestServer;
beforeAll(async () => {
  collector = await startCollector();
  server = await startServer({ flags: [`--traces-url=${collector.url}`] });
});
afterAll(async () => {
  await server.dispose();
  await collector.stop();
});

it("shows what a proof takes, and tells no secret", async () => {
  const { token, password, email } = await server.newUser();
  const send = async (path: string, body: object): Promise<{ id: string; proof: string }> => {
    const answer = await fetch(`${server.url}/api/v1/provers${path}`, {
      method: "POST",
      headers: { authorization: `bearer ${token}`, "content-type": "application/json", prefer: "wait=300" },
      body: JSON.stringify(body),
    });
    expect(answer.ok).toBe(true);
    return (await answer.json()) as { id: string; proof: string };
  };
  const { id } = await send("", { identifier: "cubic", proving_scheme: "groth16", curve: "BN254" });
  const { proof } = await send(`/${id}/prove`, { witness: { X: "3", Y: "35" } });
  await send(`/${id}/verify`, { witness: { Y: "35" }, proof });
  expect(await server.end()).toBe(0);

  const { spans } = collector;
  const namesIn = (root: CollectedSpan): string[] =>
    spans.filter(({ traceId, spanId }) => traceId === root.traceId && spanId !== root.spanId).map(({ name }) => name);
  const rootOf = (name: string): CollectedSpan => spans.find((span) => span.name === name)!;
  expect(namesIn(rootOf("POST /api/v1/provers/:id/prove"))).toEqual(
    expect.arrayContaining(["prove task", "vault-prompt task", "store commit"]),
  );
  expect(namesIn(rootOf("POST /api/v1/provers/:id/verify"))).toContain("interactive task");
  const setup = rootOf("process setup.process");
  expect(namesIn(setup)).toEqual(expect.arrayContaining([expect.stringMatching(/^job /), "store commit"]));
  const text = collector.texts.join("\n");
  for (const secret of [token, password, email, id, proof, "cubic"]) expect(text).not.toContain(secret);
});
