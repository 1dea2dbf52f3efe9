/**
 * The page at /ceremony: joins a ceremony of this server, waits, contributes in workers of this browser, uploads and
 * shows the statement, which a wallet in the browser may sign. The address names the ceremony after its `#`, which no
 * server sees: `/ceremony#id=ID`, with `&invitation=TOKEN` for who was invited.
 */
import { contributionStatement } from "../../../engine/groth16/ceremony/contribution-statement.js";
import { browser } from "./browser-scope.js";
import type { PageElement } from "./browser-scope.js";
import { CeremonyClient } from "./ceremony-client.js";
import type { PageCeremony, PageContribution } from "./ceremony-client.js";
import type { ContributeReport, ContributeRequest } from "./contribute-worker.js";
import { ROOM_BYTES } from "./shared-key.js";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const WAIT_MS = 5_000;

const element = (id: string): PageElement => {
  const found = browser.document.querySelector(`#${id}`);
  if (found === null) throw new Error(`the page has no element ${id}`);
  return found;
};
const say = (text: string): void => {
  element("status").textContent = text;
};
const percent = (what: string) => (share: number) => {
  say(`${what}: ${Math.floor(share * 100)} %`);
};

function start(): void {
  const asked = new URLSearchParams(browser.location.hash.slice(1));
  const id = asked.get("id")?.toLowerCase() ?? "";
  if (!UUID.test(id)) throw new Error("this address names no ceremony: it ends with #id= and the ceremony's id");
  if (!browser.crossOriginIsolated)
    throw new Error(
      "this browser shares no memory between workers here: open the page over https, in a current browser",
    );
  const place = `proofwright-ceremony-${id}`;
  const known = browser.sessionStorage.getItem(place) ?? undefined;
  const client = new CeremonyClient(id, known, (seconds) => {
    say(`the connection broke off: trying again in ${seconds} s`);
  });
  const form = element("form");
  form.hidden = false;
  if (known !== undefined) element("join").textContent = "Go on";
  say("");
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    element("join").disabled = true;
    const run = async (): Promise<void> => {
      const name = element("name").value.trim();
      if (known === undefined) {
        const token = await client.join(name, asked.get("invitation") ?? undefined);
        browser.sessionStorage.setItem(place, token);
      }
      await contribute(client, id, name);
      browser.sessionStorage.removeItem(place);
    };
    run().catch(fail);
  });
}

async function contribute(client: CeremonyClient, id: string, name: string): Promise<void> {
  const seen = await turnOf(client);
  const lease = await client.lease();
  const { bytes, sha256 } = lease.key;
  const memory = new SharedArrayBuffer(bytes + ROOM_BYTES);
  await client.download(memory, bytes, percent("downloading the key"));
  say("contributing");
  const entropy = element("entropy").value;
  element("entropy").value = "";
  const made = await contributeInWorker({ memory, bytes, sha256, name, entropy });
  if (made.record.index !== lease.index) throw new Error("the key has other contributions than the server says");
  const taken = await client.upload(made.after, made.bytes, percent("uploading"));
  if (taken.hash !== made.record.hash) throw new Error("the server took another contribution than the one made here");
  const circuitHash = seen.circuit.hash ?? "";
  const text = contributionStatement({
    ...{ ceremonyId: id, circuitHash, index: made.record.index, hash: made.record.hash, contributor: taken.name },
  });
  if (taken.statement_text !== text) throw new Error("the server asks for a statement about something else");
  element("statement").textContent = text;
  element("done").hidden = false;
  say("your contribution is part of the key");
  offerSignature(client, taken);
}

async function turnOf(client: CeremonyClient): Promise<PageCeremony> {
  for (;;) {
    const seen = await client.show();
    const { you } = seen;
    if (you?.state === "offered" || you?.state === "leased") return seen;
    if (you?.state === "contributed") throw new Error("you have contributed already");
    if (you === null || you.state === "gone") throw new Error("you are no longer in the queue");
    const isPreparing = seen.state === "preparing";
    if (!seen.accepts && !isPreparing) throw new Error("the ceremony takes no contributions now");
    const place = `waiting: place ${you.position ?? "?"} of ${seen.queue.length}`;
    say(isPreparing ? `${place}; the first key is being made` : place);
    await new Promise((resolve) => setTimeout(resolve, WAIT_MS));
  }
}

/** Ends the worker, and with it the secret, as soon as the key is there. */
async function contributeInWorker(
  request: ContributeRequest,
): Promise<Extract<ContributeReport, { readonly kind: "made" }>> {
  const worker = new browser.Worker(new URL("ceremony/contribute.js", browser.location.href), { type: "module" });
  try {
    return await new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => {
        const report = data as ContributeReport;
        if (report.kind === "progress") percent("contributing")(report.share);
        else if (report.kind === "made") resolve(report);
        else reject(new Error(report.message));
      };
      worker.onerror = ({ message }) => {
        reject(new Error(message ?? "the worker did not start"));
      };
      worker.postMessage(request);
    });
  } finally {
    worker.terminate();
  }
}

function offerSignature(client: CeremonyClient, taken: PageContribution): void {
  const wallet = browser.ethereum;
  if (wallet === undefined) return;
  const button = element("sign");
  button.hidden = false;
  button.addEventListener("click", () => {
    const sign = async (): Promise<void> => {
      const [address] = (await wallet.request({ method: "eth_requestAccounts" })) as string[];
      const bytes = [...new TextEncoder().encode(taken.statement_text)];
      const message = `0x${bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
      const signature = await wallet.request({ method: "personal_sign", params: [message, address] });
      await client.sign(taken.index, { kind: "ethereum", address, signature });
      button.hidden = true;
      say("your contribution is signed");
    };
    sign().catch(fail);
  });
}

function fail(error: unknown): void {
  say(error instanceof Error ? error.message : String(error));
  element("join").disabled = false;
}

try {
  start();
} catch (error) {
  fail(error);
}
