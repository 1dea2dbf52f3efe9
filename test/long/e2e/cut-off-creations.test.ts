/**
 * Kill -9 of a whole server while it makes what its areas make, each under an Idempotency-Key, and all sent again to the
 * next one: what was answered is answered alike, and what was cut off is made once.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { repeatOverKills, type Asked } from "../../support/repeat-over-kills.js";
import { seededRandom } from "../../support/seeded.js";
import { provisioned, startServer, type Api, type TestServer } from "../../support/server.js";
import { newFolder } from "../../support/temporary-folder.js";

const KILLS = { rounds: 8, requestsPerRound: 150, withinMs: 600 } as const;
/** Without it the issuer would be the address, and tokens would end with the first server. */
const ENV = { PROOFWRIGHT_ISSUER: "https://once.example.com", PROOFWRIGHT_MODE: "development" };
/** One of the networks that everybody sees. */
const PUBLIC_NETWORK = "deca2436-21ba-4ff5-b225-ad1b0b2f5c59";

/** What was there before, for requests to refer to. */
interface Place {
  readonly vault: string;
  readonly parent: string;
  readonly organization: string;
  readonly shared: string;
  readonly prover: string;
  readonly network: string;
  /** Token of an application, which some things belong to. */
  readonly applicationToken: string;
}
interface Kind {
  readonly make: (api: Api, place: Place, call: { idempotencyKey: string }, index: number) => Promise<unknown>;
  /** Whether an application makes it, and not its user. */
  readonly isOfApplication?: true;
  /** How many there are. */
  readonly count: (api: Api, place: Place) => Promise<number>;
}

const FIRST = { query: { rpp: 1 } } as const;
const sharedVault = ({ organization: id, shared: vault_id }: Place) => ({ params: { id, vault_id } });

const KINDS = {
  vault: {
    make: async (api, _place, call) => await api.createVault({ body: { name: "v" }, ...call }),
    count: async (api) => (await api.listVaults(FIRST)).total,
  },
  key: {
    make: async (api, { vault: id }, call) =>
      await api.createKey({ params: { id }, body: { spec: "Ed25519", name: "k" }, ...call }),
    count: async (api, { vault: id }) =>
      (await api.listKeys({ params: { id }, query: { rpp: 1, spec: "Ed25519" } })).total,
  },
  child: {
    make: async (api, { vault: id, parent: key_id }, call) =>
      await api.deriveKey({ params: { id, key_id }, body: { context: "once", name: "child" }, ...call }),
    count: async (api, { vault: id }) =>
      (await api.listKeys({ params: { id }, query: { rpp: 1, name: "child" } })).total,
  },
  secret: {
    make: async (api, { vault: id }, call) =>
      await api.createSecret({ params: { id }, body: { name: "s", type: "t", value: "kept" }, ...call }),
    count: async (api, { vault: id }) => (await api.listSecrets({ params: { id }, ...FIRST })).total,
  },
  sharedVault: {
    make: async (api, { organization: id }, call) =>
      await api.createOrganizationVault({ params: { id }, body: { name: "v" }, ...call }),
    count: async (api, { organization: id }) => (await api.listOrganizationVaults({ params: { id }, ...FIRST })).total,
  },
  sharedKey: {
    make: async (api, place, call) =>
      await api.createOrganizationVaultKey({ ...sharedVault(place), body: { spec: "P-256", name: "k" }, ...call }),
    count: async (api, place) =>
      (await api.listOrganizationVaultKeys({ ...sharedVault(place), query: { rpp: 1, spec: "P-256" } })).total,
  },
  sharedSecret: {
    make: async (api, place, call) =>
      await api.createOrganizationVaultSecret({
        ...{ ...sharedVault(place), ...call },
        body: { name: "s", type: "t", value: "kept" },
      }),
    count: async (api, place) => (await api.listOrganizationVaultSecrets({ ...sharedVault(place), ...FIRST })).total,
  },
  application: {
    make: async (api, _place, call) => await api.createApplication({ body: { name: "a" }, ...call }),
    count: async (api) => (await api.listApplications(FIRST)).total,
  },
  organization: {
    make: async (api, _place, call) => await api.createOrganization({ body: { name: "o" }, ...call }),
    count: async (api) => (await api.listOrganizations(FIRST)).total,
  },
  inputKey: {
    make: async (api, { prover: id }, call) => await api.createProverInputKey({ params: { id }, ...call }),
    count: async (api, { prover: id }) => (await api.listProverInputKeys({ params: { id } })).body.keys.length,
  },
  grant: {
    make: async (api, { prover: id }, call, index) =>
      await api.createProverGrant({
        ...{ params: { id }, ...call },
        body: { user_id: `00000000-0000-4000-8000-${String(index).padStart(12, "0")}` },
      }),
    count: async (api, { prover: id }) => (await api.listProverGrants({ params: { id }, ...FIRST })).total,
  },
  network: {
    make: async (api, _place, call) =>
      await api.createNetwork({ body: { name: "n", config: { chain: "once" } }, ...call }),
    count: async (api) => (await api.listNetworks(FIRST)).total,
  },
  account: {
    make: async (api, { network: network_id }, call) => await api.createAccount({ body: { network_id }, ...call }),
    count: async (api) => (await api.listAccounts(FIRST)).total,
  },
  wallet: {
    make: async (api, _place, call) => await api.createWallet({ body: {}, ...call }),
    count: async (api) => (await api.listWallets(FIRST)).total,
  },
  oracle: {
    isOfApplication: true,
    make: async (api, _place, call) =>
      await api.createOracle({ body: { name: "o", network_id: PUBLIC_NETWORK }, ...call }),
    count: async (api) => (await api.listOracles(FIRST)).total,
  },
  bridge: {
    isOfApplication: true,
    make: async (api, _place, call) =>
      await api.createBridge({ body: { name: "b", network_id: PUBLIC_NETWORK }, ...call }),
    count: async (api) => (await api.listBridges(FIRST)).total,
  },
  connector: {
    isOfApplication: true,
    make: async (api, _place, call) =>
      await api.createConnector({
        ...call,
        body: { name: "c", network_id: PUBLIC_NETWORK, type: "ipfs", config: {}, is_virtual: true },
      }),
    count: async (api) => (await api.listConnectors(FIRST)).total,
  },
} as const satisfies Record<string, Kind>;
type KindName = keyof typeof KINDS;
const NAMES = Object.keys(KINDS) as readonly KindName[];

const folder = newFolder("cut-off-creations");
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

async function placeOf(api: Api): Promise<Place> {
  const vault = (await api.createVault({ body: { name: "v" } })).body.id;
  const parent = await api.createKey({ params: { id: vault }, body: { spec: "ChaCha20", name: "parent" } });
  const organization = (await api.createOrganization({ body: { name: "o" } })).body.id;
  const shared = (await api.createOrganizationVault({ params: { id: organization }, body: { name: "v" } })).body.id;
  const prover = await provisioned(api, { identifier: "cubic", proving_scheme: "groth16", curve: "BN254", name: "p" });
  const network = (await api.createNetwork({ body: { name: "n", config: { chain: "once" } } })).body.id;
  // The first account is made with the vault of all.
  await api.createAccount({ body: { network_id: network } });
  const application_id = (await api.createApplication({ body: { name: "a" } })).body.id;
  const applicationToken = (await api.createToken({ body: { application_id } })).body.access_token;
  return { vault, parent: parent.body.id, organization, shared, prover, network, applicationToken };
}

/** The client that makes a kind. */
function clientOf(server: TestServer, kind: Kind, token: string, place: Place): Api {
  return server.as(kind.isOfApplication === true ? place.applicationToken : token);
}

async function countsOf(server: TestServer, token: string, place: Place): Promise<Map<KindName, number>> {
  const counted = NAMES.map(async (name) => {
    const kind: Kind = KINDS[name];
    return [name, await kind.count(clientOf(server, kind, token, place), place)] as const;
  });
  return new Map(await Promise.all(counted));
}

it(`makes each once over ${String(KILLS.rounds)} kills, and answers its repeat`, async () => {
  const random = seededRandom();
  const dataDir = join(folder, "data");
  let server: TestServer = await startServer({ dataDir, env: ENV });
  try {
    const { token, api: user } = await server.newUser();
    const place = await placeOf(user);
    const before = await countsOf(server, token, place);
    const start = async (): Promise<TestServer> => {
      await server.end();
      server = await startServer({ dataDir, env: ENV });
      return server;
    };
    const send = async (running: TestServer, { kind: name, index }: Asked<KindName>): Promise<string> => {
      const kind: Kind = KINDS[name];
      const api = clientOf(running, kind, token, place);
      const answer = await kind.make(api, place, { idempotencyKey: `${name}-${String(index)}` }, index);
      const { id, kid } = (answer as { readonly body: { readonly id?: string; readonly kid?: string } }).body;
      return id ?? String(kid);
    };
    const all = await repeatOverKills({ ...KILLS, kinds: NAMES, random, start }, send);
    const after = await countsOf(server, token, place);
    for (const name of NAMES) {
      const asked = all.filter(({ kind }) => kind === name).length;
      expect((after.get(name) ?? 0) - (before.get(name) ?? 0), `seed ${String(random.seed)}, ${name}`).toBe(asked);
    }
  } finally {
    await server.dispose();
  }
});
