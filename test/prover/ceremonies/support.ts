/** A registry with a published powers-of-tau file over HTTP, and contributors with snarkjs and with our kernels. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { makePowersOfTau } from "../../../bench/full-powers-of-tau.js";
import { primeSnarkjs } from "../../../src/engine/backends/snarkjs.js";
import { contributeToKey } from "../../../src/engine/groth16/ceremony/contribute-to-key.js";
import { rangeOfBytes } from "../../../src/engine/powers-of-tau/range-file.js";
import { bindRoutes } from "../../../src/platform/contract/route.js";
import { ceremonyPageHandlers } from "../../../src/prover/ceremony-page/ceremony-page-handlers.js";
import { ceremonyPageRoutes } from "../../../src/prover/ceremony-page/ceremony-page-routes.js";
import { proverRoutes } from "../../../src/prover/routes.js";
import type { Ceremony, PublicCeremony } from "../../../src/prover/ceremonies/ceremony-schemas.js";
import { startFront, type Front } from "../../platform/http/support.js";
import { HeldClock } from "../../platform/auth/support.js";
import { newFolder, removeFolder } from "../../support/temporary-folder.js";
import { CUBIC, openTestRegistry, type TestRegistry, type TestRegistryOptions } from "../support.js";

/** Whom the tokens of the test server belong to. */
export const OWNER = { kind: "user", id: "7a4c1f2e-0000-4000-8000-00000000000a" } as const;
const OWNER_TOKEN = "user-read+create+update+delete";
/** Enough for the circuit cubic. */
const POWER = 4;
/** drand's chain "quicknet". */
const CHAIN = "52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971";
const BEACON = { source: "drand", round: 1000, network: CHAIN } as const;
/** SOURCE: https://api.drand.sh/52db9ba7.../public/1000 */
export const BEACON_BODY = {
  value: "fe290beca10872ef2fb164d2aa4442de4566183ec51c56ff3cd603d930e54fdd",
  signature: "b44679b9a59af2ec876b1a6b1ad52ea9b1615fc3982b19576350f93447cb1125e342b73a8dd2bacbe47e4b6b63ed5e39",
} as const;

interface MemoryFile {
  readonly type: "mem";
  data?: Uint8Array;
}
interface SnarkjsZkey {
  contribute(from: MemoryFile, to: MemoryFile, name: string, entropy: string): Promise<Uint8Array>;
  beacon(from: MemoryFile, to: MemoryFile, name: string, hash: string, iterationsLog: number): Promise<Uint8Array>;
  verifyFromR1cs(r1cs: MemoryFile, ptau: MemoryFile, zkey: MemoryFile): Promise<boolean>;
}

export interface Answer<Body = Record<string, unknown>> {
  readonly status: number;
  readonly body: Body & { readonly errors?: readonly { readonly code: string; readonly message: string }[] };
}

export interface Participant {
  readonly participant_id: string;
  readonly token: string;
}

const file = (data?: Uint8Array): MemoryFile => (data === undefined ? { type: "mem" } : { type: "mem", data });
const zKey = async (): Promise<SnarkjsZkey> => (await primeSnarkjs()).zKey as unknown as SnarkjsZkey;

/** Contributes as `snarkjs zkey contribute` does. */
export async function contributeBySnarkjs(key: Uint8Array, name: string): Promise<Uint8Array> {
  const to = file();
  await (await zKey()).contribute(file(Uint8Array.from(key)), to, name, "some text");
  return Uint8Array.from(to.data ?? []);
}

/** Applies a beacon as `snarkjs zkey beacon` does. */
export async function beaconBySnarkjs(key: Uint8Array): Promise<Uint8Array> {
  const to = file();
  await (await zKey()).beacon(file(Uint8Array.from(key)), to, "early", "00".repeat(32), 10);
  return Uint8Array.from(to.data ?? []);
}

/** Verifies as `snarkjs zkey verify` does. */
export async function verifyBySnarkjs(files: Record<"r1cs" | "powers" | "key", Uint8Array>): Promise<boolean> {
  const [r1cs, powers, key] = [files.r1cs, files.powers, files.key].map((bytes) => file(Uint8Array.from(bytes)));
  return await (await zKey()).verifyFromR1cs(r1cs!, powers!, key!);
}

/** Contributes by our kernels. */
export async function contributeByOurs(key: Uint8Array, name: string): Promise<Uint8Array> {
  const bytes = new Uint8Array(key.length + 1_024);
  let end = 0;
  const target = {
    write: (source: Uint8Array, offset: number) => {
      bytes.set(source, offset);
      end = Math.max(end, offset + source.length);
    },
  };
  await contributeToKey({ source: rangeOfBytes(key), target }, { name });
  return bytes.slice(0, end);
}

export class CeremonyGround {
  readonly clock = new HeldClock();
  readonly powers: Uint8Array;
  readonly powersFolder: string;
  registry!: TestRegistry;
  readonly #options: TestRegistryOptions;
  #front!: Front;

  private constructor(powers: Uint8Array, powersFolder: string, options: TestRegistryOptions) {
    this.powers = powers;
    this.powersFolder = powersFolder;
    this.#options = options;
  }

  static async open(options: TestRegistryOptions = {}): Promise<CeremonyGround> {
    const folder = newFolder("ceremony-powers");
    const powers = await makePowersOfTau(POWER, { isPrepared: true });
    writeFileSync(join(folder, "powers.ptau"), powers);
    const ground = new CeremonyGround(powers, folder, options);
    await ground.#start();
    return ground;
  }

  /** Scheme and authority of the server. */
  get url(): string {
    return this.#front.url;
  }

  /** As a server that is started again on what the one before has left. */
  async restart(): Promise<void> {
    const { folder } = this.registry;
    await this.#front.server.stop({ graceMs: 0 });
    await this.registry.close({ keep: true });
    await this.#start(folder);
  }

  async close(): Promise<void> {
    await this.#front.server.stop({ graceMs: 0 });
    await this.registry.close();
    removeFolder(this.powersFolder);
  }

  async #start(folder?: string): Promise<void> {
    this.registry = await openTestRegistry({
      ...{ ...this.#options, powersFolder: this.powersFolder, clock: this.clock },
      ...(folder === undefined ? {} : { folder }),
    });
    const { handlers, bodyLimits } = this.registry.registry;
    const page = bindRoutes(ceremonyPageRoutes, ceremonyPageHandlers());
    this.#front = await startFront({ routes: [...bindRoutes(proverRoutes, handlers, bodyLimits), ...page] });
  }

  async call<Body = Record<string, unknown>>(
    method: string,
    path: string,
    { body, token, headers = {} }: { body?: unknown; token?: string; headers?: Record<string, string> } = {},
  ): Promise<Answer<Body>> {
    const isBytes = body instanceof Uint8Array;
    const response = await fetch(`${this.#front.url}/api/v1${path}`, {
      method,
      headers: {
        ...(body === undefined || isBytes ? {} : { "content-type": "application/json" }),
        ...(token === undefined ? {} : { authorization: `bearer ${token}` }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: isBytes ? Uint8Array.from(body) : JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: (text === "" ? {} : JSON.parse(text)) as Answer<Body>["body"] };
  }

  async own<Body = Ceremony>(method: string, path: string, body?: unknown): Promise<Answer<Body>> {
    return await this.call<Body>(method, `/provers/${path}`, {
      token: OWNER_TOKEN,
      ...(body === undefined ? {} : { body }),
    });
  }

  /** Makes a prover whose ceremony is open. */
  async begin(settings: object = {}): Promise<string> {
    const ceremony = { open: true, beacon: BEACON, ...settings };
    const { status, body } = await this.own<{ id: string }>("POST", "", { ...CUBIC, setup: "ceremony", ceremony });
    if (status !== 202) throw new Error(`no prover was made: ${JSON.stringify(body)}`);
    await this.until(body.id, "open");
    return body.id;
  }

  async until(id: string, state: Ceremony["state"]): Promise<void> {
    const endMs = Date.now() + 120_000;
    for (;;) {
      const { body } = await this.own("GET", `${id}/ceremony`);
      if (body.state === state) return;
      if (Date.now() > endMs || body.state === "failed")
        throw new Error(`never ${state}: ${body.state} ${String(body.reason)}`);
      await new Promise((resolve) => {
        setTimeout(resolve, 5);
      });
    }
  }

  async join(id: string, name: string): Promise<Participant> {
    return (
      await this.call<Participant & Record<string, unknown>>("POST", `/ceremonies/${id}/join`, { body: { name } })
    ).body;
  }

  async see(id: string, token?: string): Promise<PublicCeremony> {
    const { body } = await this.call<PublicCeremony>("GET", `/ceremonies/${id}`, token === undefined ? {} : { token });
    return body;
  }

  async lease(id: string, { token }: Participant): Promise<Answer<{ index: number; expires_at: string }>> {
    return await this.call("POST", `/ceremonies/${id}/lease`, { token });
  }

  async file(id: string, name: string): Promise<Uint8Array> {
    const response = await fetch(`${this.#front.url}/api/v1/ceremonies/${id}/${name}`);
    if (response.status !== 200) throw new Error(`${name}: ${String(response.status)}`);
    return new Uint8Array(await response.arrayBuffer());
  }

  async key(id: string): Promise<Uint8Array> {
    return await this.file(id, "key");
  }

  async upload(
    id: string,
    { token }: Participant,
    key: Uint8Array,
    headers: Record<string, string> = {},
  ): Promise<Answer<{ index: number; hash: string; statement_text: string }>> {
    return await this.call("PUT", `/ceremonies/${id}/contribution`, { body: key, token, headers });
  }

  /** Joins, takes the lease, contributes and uploads. */
  async contribute(
    id: string,
    name: string,
    contribute: (key: Uint8Array, name: string) => Promise<Uint8Array> = contributeByOurs,
  ): Promise<Participant & { readonly index: number; readonly statement_text: string }> {
    const participant = await this.join(id, name);
    const leased = await this.lease(id, participant);
    if (leased.status !== 200) throw new Error(`no lease: ${JSON.stringify(leased.body)}`);
    const { status, body } = await this.upload(id, participant, await contribute(await this.key(id), name));
    if (status !== 201) throw new Error(`not taken: ${JSON.stringify(body)}`);
    return { ...participant, index: body.index, statement_text: body.statement_text };
  }
}
