/** The page at /ceremony in a real browser: it contributes by our kernels, and what it made is checked as any other. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BEACON_BODY, CeremonyGround, contributeBySnarkjs, verifyBySnarkjs } from "../prover/ceremonies/support.js";
import { Chromium } from "./chromium.js";

describe("the page of ceremonies", () => {
  let ground: CeremonyGround;
  let browser: Chromium;

  beforeAll(async () => {
    ground = await CeremonyGround.open();
    browser = await Chromium.start();
  });
  afterAll(async () => {
    await browser.stop();
    await ground.close();
  });

  const textOf = async (id: string): Promise<string> =>
    String(await browser.run(`document.querySelector("#${id}").textContent`));
  const join = async (name: string): Promise<void> => {
    await expect.poll(async () => await browser.run(`document.querySelector("#form")?.hidden`)).toBe(false);
    await browser.run(`document.querySelector("#name").value = ${JSON.stringify(name)}`);
    await browser.run(`document.querySelector("#entropy").value = "dice: 4 2 6 1"`);
    await browser.run(`document.querySelector("#join").click()`);
  };

  it("contributes between contributors with snarkjs, under its own policy", async () => {
    const id = await ground.begin({ minimum: 3 });
    await ground.contribute(id, "Grace", contributeBySnarkjs);
    await browser.open(`${ground.url}/ceremony#id=${id}`);
    await join("Ada");
    await expect
      .poll(async () => await textOf("status"), { timeout: 120_000 })
      .toBe("your contribution is part of the key");
    const statement = await textOf("statement");
    const seen = await ground.see(id);
    expect(seen.contributions.map(({ name }) => name)).toEqual(["Grace", "Ada"]);
    expect(seen.contributions[1]).toMatchObject({ written_name: "Ada", statement_text: statement });
    expect(statement).toContain(`ceremony: ${id}\n`);
    expect(await browser.run("sessionStorage.length")).toBe(0);
    expect(browser.complaints.filter((text) => !text.includes("favicon"))).toEqual([]);

    await ground.contribute(id, "Emmy", contributeBySnarkjs);
    await ground.own("POST", `${id}/ceremony/beacon`, BEACON_BODY);
    await ground.until(id, "ended");
    const [r1cs, key] = await Promise.all(
      ["circuit.r1cs", "proving_key.zkey"].map(async (name) => await ground.file(id, `files/${name}`)),
    );
    expect(await verifyBySnarkjs({ r1cs: r1cs!, powers: ground.powers, key: key! })).toBe(true);
  });

  it("takes the invitation from behind the #, which the server does not see", async () => {
    const id = await ground.begin({ open: false });
    const { body } = await ground.own<{ token: string }>("POST", `${id}/ceremony/invitations`, { name: "Ada" });
    await browser.open(`${ground.url}/ceremony#id=${id}&invitation=${body.token}`);
    await join("Ada");
    await expect
      .poll(async () => await textOf("status"), { timeout: 120_000 })
      .toBe("your contribution is part of the key");
  });

  it("waits on while the first key is being made", async () => {
    const id = await ground.begin();
    await browser.open(`${ground.url}/ceremony#id=${id}`);
    // The first look at the ceremony finds it as it was before its key was there.
    await browser.run(`{
      const real = window.fetch;
      window.fetch = async (url, options) => {
        const answer = await real(url, options);
        if (options.method !== "GET") return answer;
        window.fetch = real;
        const seen = await answer.json();
        const you = { ...seen.you, state: "waiting", position: 1 };
        return Response.json({ ...seen, state: "preparing", accepts: false, you });
      };
    }`);
    await join("Ada");
    await expect.poll(async () => await textOf("status")).toContain("the first key is being made");
    await expect
      .poll(async () => await textOf("status"), { timeout: 120_000 })
      .toBe("your contribution is part of the key");
  });

  it("goes on where a download broke off, and finds what an upload without an answer has done", async () => {
    const id = await ground.begin();
    await browser.open(`${ground.url}/ceremony#id=${id}`);
    await expect.poll(async () => await browser.run(`document.querySelector("#form")?.hidden`)).toBe(false);
    // Half of the key, then the end of the connection; the first upload does not leave, the second one loses its answer.
    await browser.run(`{
      const real = window.fetch;
      window.seen = { ranges: [], said: [], uploads: 0 };
      const status = document.querySelector("#status");
      new MutationObserver(() => window.seen.said.push(status.textContent)).observe(status, { childList: true });
      window.fetch = async (url, options) => {
        if (url.endsWith("/key")) {
          window.seen.ranges.push(options.headers.range ?? null);
          const answer = await real(url, options);
          if (window.seen.ranges.length > 1) return answer;
          const bytes = new Uint8Array(await answer.arrayBuffer());
          const half = Math.floor(bytes.length / 2);
          window.seen.half = half;
          let isSent = false;
          return new Response(new ReadableStream({
            pull: (stream) => {
              if (isSent) stream.error(new TypeError("network error"));
              else stream.enqueue(bytes.slice(0, half));
              isSent = true;
            },
          }));
        }
        if (options.method !== "PUT") return await real(url, options);
        window.seen.uploads += 1;
        if (window.seen.uploads === 2) await real(url, options);
        throw new TypeError("network error");
      };
    }`);
    await join("Ada");
    await expect
      .poll(async () => await textOf("status"), { timeout: 120_000 })
      .toBe("your contribution is part of the key");
    const seen = (await browser.run("window.seen")) as Record<"ranges" | "said", string[]> & { half: number };
    expect(seen).toMatchObject({ ranges: [null, `bytes=${seen.half}-`], uploads: 2 });
    expect(seen.said).toContain("the connection broke off: trying again in 1 s");
    expect((await ground.see(id)).contributions.map(({ name }) => name)).toEqual(["Ada"]);
  });

  it("says what is wrong with an address, and with a ceremony that is not there", async () => {
    await browser.open(`${ground.url}/ceremony`);
    await expect.poll(async () => await textOf("status")).toContain("names no ceremony");
    await browser.open(`${ground.url}/ceremony#id=7a4c1f2e-0000-4000-8000-00000000ffff`);
    await join("Ada");
    await expect.poll(async () => await textOf("status")).not.toBe("");
    expect(await browser.run("crossOriginIsolated")).toBe(true);
    // Nothing is taken from elsewhere, and no text becomes a script.
    const refused = `(async () => { try { await fetch("https://example.com/"); return "sent"; } catch { return "refused"; } })()`;
    expect(await browser.run(refused)).toBe("refused");
  });
});
