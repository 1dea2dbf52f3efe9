/** The clients of nodes against real nodes and bad ones: chain checks, failures, failover. */
import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import { RpcRefusal } from "../../../../src/chain/rpc/rpc.js";
import { startAnvil } from "../../../support/anvil.js";
import { anvil, asChain, CHAIN, deadUrl, double, other, result, rpcOf, setUpNetworks, refusal } from "../support.js";

setUpNetworks();

describe("one node", () => {
  it("is asked for its chain before anything else, once", async () => {
    const asked: string[] = [];
    const url = await double((method, response) => {
      asked.push(method);
      result(response, method === "eth_chainId" ? "0x7a69" : "0x1");
    });
    const rpc = rpcOf(url);
    await Promise.all([rpc.request("eth_blockNumber", []), rpc.request("eth_gasPrice", [])]);
    expect(asked[0]).toBe("eth_chainId");
    expect(await rpc.request("eth_blockNumber", [])).toBe("0x1");
    expect(asked.filter((method) => method === "eth_blockNumber")).toHaveLength(2);
  });

  it("of another chain is network_chain_mismatch, and nothing of it is believed", async () => {
    const rpc = rpcOf(other.url);
    await expect(rpc.request("eth_blockNumber", [])).rejects.toMatchObject({
      code: "network_chain_mismatch",
      status: 409,
    });
    expect(rpc.health()[0]).toMatchObject({ state: "mismatch", failures: 1 });
  });

  it("replaced by a node of another chain is detected on the new connection", async () => {
    const first = await startAnvil({ chainId: CHAIN });
    const rpc = rpcOf(first.url);
    expect(await rpc.request("eth_blockNumber", [])).toBe("0x0");
    await first.stop("SIGKILL");
    const second = await startAnvil({ chainId: 99, port: first.port });
    try {
      await expect(rpc.request("eth_blockNumber", [])).rejects.toMatchObject({ code: "network_chain_mismatch" });
    } finally {
      await second.stop("SIGKILL");
    }
  });

  it.each<[string, string, (response: ServerResponse) => void]>([
    [
      "garbage",
      "network_answer_invalid",
      (response) => {
        response.end("<html>no</html>");
      },
    ],
    [
      "JSON that is no answer",
      "network_answer_invalid",
      (response) => {
        response.end("[1]");
      },
    ],
    [
      "an object without a result",
      "network_answer_invalid",
      (response) => {
        response.end("{}");
      },
    ],
    [
      "nesting without end",
      "network_answer_invalid",
      (response) => {
        response.end("[".repeat(10_000));
      },
    ],
    [
      "five megabytes",
      "network_answer_invalid",
      (response) => {
        response.end(`"${"a".repeat(5 * 1024 * 1024)}"`);
      },
    ],
    [
      "503",
      "network_unreachable",
      (response) => {
        response.writeHead(503).end("busy: secret words");
      },
    ],
    [
      "a redirect",
      "network_unreachable",
      (response) => {
        response.writeHead(307, { location: anvil.url }).end();
      },
    ],
    [
      "half an answer",
      "network_unreachable",
      (response) => {
        response.writeHead(200, { "content-length": "99" }).write("{", () => {
          response.destroy();
        });
      },
    ],
    [
      "a limit",
      "network_unreachable",
      (response) => {
        refusal(response, { code: -32_005, message: "slow down" });
      },
    ],
  ])("that answers %s is %s", async (_what, code, answer) => {
    const url = await double(asChain(answer));
    const error: unknown = await rpcOf(url)
      .request("eth_blockNumber", [])
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code });
    expect(String(error)).not.toContain("secret");
  });

  it("that hangs is network_timeout within the time given", async () => {
    const url = await double(asChain(() => undefined));
    await expect(rpcOf(url).request("eth_blockNumber", [], { timeoutMs: 150 })).rejects.toMatchObject({
      code: "network_timeout",
      status: 504,
    });
  });

  it("that refuses is a refusal with its code and return data", async () => {
    const url = await double(
      asChain((response) => {
        refusal(response, { code: 3, message: "execution reverted", data: "0x08c379a0" });
      }),
    );
    const error: unknown = await rpcOf(url)
      .request("eth_call", [])
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(RpcRefusal);
    expect(error).toMatchObject({ code: 3, data: "0x08c379a0" });
  });

  it("is cancelled by the caller's signal, with its reason", async () => {
    const controller = new AbortController();
    const url = await double(
      asChain(() => {
        controller.abort(new Error("gone"));
      }),
    );
    await expect(rpcOf(url).request("eth_blockNumber", [], { signal: controller.signal })).rejects.toThrow("gone");
  });
});

describe("several nodes", () => {
  it("are asked in turn when one is dead, garbled or of another chain, and their failures are remembered", async () => {
    const garbled = await double(
      asChain((response) => {
        response.end("no");
      }),
    );
    const rpc = rpcOf(await deadUrl(), garbled, other.url, anvil.url);
    expect(await rpc.request("eth_blockNumber", [])).toBe("0x0");
    expect(rpc.health().map(({ state }) => state)).toEqual(["down", "down", "mismatch", "up"]);
    const before = rpc.health().map(({ requests }) => requests);
    await rpc.request("eth_blockNumber", []);
    expect(rpc.health().map(({ requests }, at) => requests - before[at]!)).toEqual([0, 0, 0, 1]);
  });

  it("do not repeat at another node a request that one refused", async () => {
    let asked = 0;
    const refusing = await double(
      asChain((response) => {
        refusal(response, { code: -32_000, message: "nonce too low" });
      }),
    );
    const next = await double((_method, response) => {
      asked += 1;
      result(response, "0x7a69");
    });
    await expect(rpcOf(refusing, next).request("eth_sendRawTransaction", ["0x"])).rejects.toBeInstanceOf(RpcRefusal);
    expect(asked).toBe(0);
  });

  it("fail with the wrong chain rather than with the dead node", async () => {
    await expect(rpcOf(other.url, await deadUrl()).request("eth_blockNumber", [])).rejects.toMatchObject({
      code: "network_chain_mismatch",
    });
  });
});
