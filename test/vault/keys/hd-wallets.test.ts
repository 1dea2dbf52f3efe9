// Wallets over HTTP: paths, the next index, the list of addresses and extended public keys.
import { HDKey } from "@scure/bip32";
import { keccak256, recoverAddress, type Hex } from "viem";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { addressOfPublicKey } from "../../../src/crypto/ethereum/address.js";
import { parseSecp256k1PublicKey } from "../../../src/crypto/secp256k1/secp256k1.js";
import { StoreConflict } from "../../../src/platform/store/store.js";
import { startVaultServer, type Answer, type VaultServer } from "../http-support.js";

let server: VaultServer;
let at: string;
let key: Record<string, string>;
beforeAll(async () => {
  server = await startVaultServer();
  ({ path: at, key } = await server.newKey("BIP39"));
});
afterAll(async () => {
  await server.close();
});

const DIGEST = keccak256("0x1234");
const FIRST = "m/44'/60'/0'/0/0";
const failure = (answer: Answer): (string | number | undefined)[] => [answer.status, answer.body.errors?.[0]?.code];

async function sign(hdwallet?: object, path = at): Promise<Answer["body"]> {
  const answer = await server.call("POST", `${path}/sign`, {
    message: DIGEST,
    ...(hdwallet === undefined ? {} : { options: { hdwallet } }),
  });
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body;
}

describe("a BIP39 key", () => {
  it("has no public key, no address and no words in any answer", async () => {
    expect(Object.keys(key).sort()).toEqual([
      "created_at",
      "description",
      "id",
      "name",
      "spec",
      "type",
      "usage",
      "vault_id",
    ]);
    expect((await server.call("GET", at)).body).toEqual(key);
  });

  it("signs with the default path when none is named, and never moves on from it", async () => {
    const one = await sign();
    expect(one).toMatchObject({ hd_derivation_path: FIRST });
    expect(
      await recoverAddress({
        hash: DIGEST,
        signature: { r: one["r"] as Hex, s: one["s"] as Hex, yParity: Number(one["yParity"]) },
      }),
    ).toBe(one["address"]);
    for (const options of [
      undefined,
      {},
      { index: 0 },
      { hd_derivation_path: FIRST },
      { purpose: 44, coin: 60, coin_abbr: "ETH", account: 0, change: 0 },
      { next: false },
    ])
      expect(await sign(options)).toEqual(one);
    const check = async (options?: object): Promise<unknown> =>
      (
        await server.call("POST", `${at}/verify`, {
          message: DIGEST,
          signature: one["signature"],
          ...(options === undefined ? {} : { options }),
        })
      ).body["verified"];
    expect(await check()).toBe(true);
    expect(await check({ hdwallet: { hd_derivation_path: FIRST } })).toBe(true);
    expect(await check({ hdwallet: { index: 1 } })).toBe(false);
  });

  it("derives a key of its own for each path, hardened ones from 2^31 on", async () => {
    const paths = [
      { index: 1 },
      { account: 1 },
      { change: 1 },
      { purpose: 49 },
      { index: 2 ** 31 - 1 },
      { index: 2 ** 31 },
      { index: 2 ** 32 - 2 },
    ];
    const answers = await Promise.all(paths.map(async (path) => await sign(path)));
    expect(new Set(answers.map((answer) => answer["address"])).size).toBe(paths.length);
    expect(answers.map((answer) => answer["hd_derivation_path"])).toEqual([
      "m/44'/60'/0'/0/1",
      "m/44'/60'/1'/0/0",
      "m/44'/60'/0'/1/0",
      "m/49'/60'/0'/0/0",
      "m/44'/60'/0'/0/2147483647",
      "m/44'/60'/0'/0/0'",
      "m/44'/60'/0'/0/2147483646'",
    ]);
  });

  it("signs the same for a path after more others than a thread keeps opened", async () => {
    const indexes = [...Array.from({ length: 70 }, (_, index) => index), 0, 69, 1];
    const { body, status } = await server.call("POST", `${at}/sign`, {
      batch: indexes.map((index) => ({ message: DIGEST, options: { hdwallet: { index } } })),
    });
    expect(status).toBe(201);
    const answers = (body as unknown as { batch: Record<string, unknown>[] }).batch;
    expect(new Set(answers.map(({ address }) => address)).size).toBe(70);
    expect(answers.slice(70)).toEqual([answers[0], answers[69], answers[1]]);
  });

  it.each<[object, string]>([
    [{ index: 2 ** 32 - 1 }, "invalid_request"],
    [{ index: -1 }, "invalid_request"],
    [{ index: 0.5 }, "invalid_request"],
    [{ account: 2 ** 31 }, "invalid_request"],
    [{ hd_derivation_path: "m/44'/60'/0'/0/4294967295" }, "derivation_path_invalid"],
    [{ hd_derivation_path: "m/44'/60'/0'/0/01" }, "derivation_path_invalid"],
    [{ hd_derivation_path: "m/44h/60h/0h/0/1" }, "derivation_path_invalid"],
    [{ hd_derivation_path: "m/44/60/0/0/0" }, "derivation_path_invalid"],
    [{ hd_derivation_path: "" }, "derivation_path_invalid"],
    [{ hd_derivation_path: FIRST, index: 0 }, "derivation_path_invalid"],
    [{ hd_derivation_path: FIRST, next: true }, "derivation_path_invalid"],
    [{ coin: 0 }, "derivation_path_invalid"],
    [{ coin_abbr: "BTC" }, "derivation_path_invalid"],
    [{ hd_derivation_path: "m/44'/0'/0'/0/0" }, "derivation_path_invalid"],
    [{ next: true, index: 3 }, "derivation_path_invalid"],
    [{ seed: "00" }, "unknown_member"],
  ])("refuses the path %j", async (hdwallet, code) => {
    expect(failure(await server.call("POST", `${at}/sign`, { message: DIGEST, options: { hdwallet } }))).toEqual([
      422,
      code,
    ]);
  });

  it("does not verify with the next index, nor detached, nor derive a ChaCha20 child", async () => {
    expect(
      failure(
        await server.call("POST", `${at}/verify`, {
          message: DIGEST,
          signature: "00",
          options: { hdwallet: { next: true } },
        }),
      ),
    ).toEqual([422, "derivation_path_invalid"]);
    expect(
      failure(
        await server.call("POST", "/api/v1/verify", {
          spec: "BIP39",
          public_key: "00",
          message: DIGEST,
          signature: "00",
        }),
      ),
    ).toEqual([400, "spec_cannot_verify"]);
    expect(failure(await server.call("POST", `${at}/derive`, { context: "c", name: "n" }))).toEqual([
      422,
      "option_unsupported",
    ]);
  });
});

describe("derive", () => {
  it("answers the wallet with the address at a path, and lists each address once", async () => {
    const { path, key: wallet } = await server.newKey("BIP39");
    const first = await server.call("POST", `${path}/derive`, {});
    expect([first.status, first.body]).toEqual([
      201,
      { ...wallet, address: (await sign(undefined, path))["address"], hd_derivation_path: FIRST },
    ]);
    server.test.clock.ms += 1;
    const second = await server.call("POST", `${path}/derive`, { hd_derivation_path: "m/44'/60'/0'/0/5" });
    expect((await server.call("POST", `${path}/derive`, { options: { hdwallet: { index: 5 } } })).body).toEqual(
      second.body,
    );
    const list = await server.call("GET", `${path}/addresses`);
    expect(list.headers.get("x-total-results-count")).toBe("2");
    expect(list.body).toMatchObject([
      { address: first.body["address"], hd_derivation_path: FIRST, index: 0 },
      { address: second.body["address"], hd_derivation_path: "m/44'/60'/0'/0/5", index: 5 },
    ]);
    expect((await server.call("GET", `${path}/addresses?page=2&rpp=1`)).body).toMatchObject([{ index: 5 }]);
    expect(
      failure(await server.call("POST", `${path}/derive`, { hd_derivation_path: FIRST, options: { hdwallet: {} } })),
    ).toEqual([422, "derivation_path_invalid"]);
    const batch = await server.call("POST", `${path}/derive`, {
      batch: [
        { hd_derivation_path: "m/44'/60'/0'/0/7" },
        { hd_derivation_path: "m/1" },
        { options: { hdwallet: { next: true } } },
      ],
    });
    expect(
      batch.body.batch!.map((item) => item["hd_derivation_path"] ?? (item["errors"] as { code: string }[])[0]!.code),
    ).toEqual(["m/44'/60'/0'/0/7", "derivation_path_invalid", "m/44'/60'/0'/0/1"]);
  });

  it("of a key that is no wallet has no list", async () => {
    const { path } = await server.newKey("secp256k1");
    expect(failure(await server.call("GET", `${path}/addresses`))).toEqual([400, "spec_cannot_derive"]);
  });
});

describe("the next index", () => {
  it("is never given out twice, by calls at the same time, batches and derivations together", async () => {
    const { path } = await server.newKey("BIP39");
    const next = { message: DIGEST, options: { hdwallet: { next: true } } };
    const [signed, derived, batch] = await Promise.all([
      Promise.all(
        Array.from(
          { length: 12 },
          async () => (await server.call("POST", `${path}/sign`, next)).body["hd_derivation_path"],
        ),
      ),
      Promise.all(
        Array.from(
          { length: 6 },
          async () =>
            (await server.call("POST", `${path}/derive`, { options: { hdwallet: { next: true } } })).body[
              "hd_derivation_path"
            ],
        ),
      ),
      server.call("POST", `${path}/sign`, {
        batch: [next, { message: DIGEST }, next, { ...next, message: "00" }, next],
      }),
    ]);
    const fromBatch = batch.body.batch!.map((item) => item["hd_derivation_path"]);
    expect([fromBatch[1], fromBatch[3]]).toEqual([FIRST, undefined]);
    const given = [...signed, ...derived, fromBatch[0], fromBatch[2], fromBatch[4]];
    expect(given.sort()).toEqual(Array.from({ length: 21 }, (_, i) => `m/44'/60'/0'/0/${i}`).sort());
    expect((await server.call("GET", `${path}/addresses`)).headers.get("x-total-results-count")).toBe("21");
  });

  it("counts each account and change by itself, and passes over addresses that were derived by their path", async () => {
    const { path } = await server.newKey("BIP39");
    const next = async (more: object = {}): Promise<unknown> =>
      (await sign({ next: true, ...more }, path))["hd_derivation_path"];
    await server.call("POST", `${path}/derive`, {
      batch: [{ hd_derivation_path: "m/44'/60'/0'/0/1" }, { hd_derivation_path: "m/44'/60'/0'/0/2" }],
    });
    expect([await next(), await next(), await next({ account: 1 }), await next({ change: 1 }), await next()]).toEqual([
      FIRST,
      "m/44'/60'/0'/0/3",
      "m/44'/60'/1'/0/0",
      "m/44'/60'/0'/1/0",
      "m/44'/60'/0'/0/4",
    ]);
  });

  it("is not taken by a request that is refused", async () => {
    const { path } = await server.newKey("BIP39");
    for (const message of ["00", "zz", undefined])
      expect(
        (await server.call("POST", `${path}/sign`, { message, options: { hdwallet: { next: true } } })).status,
      ).toBe(422);
    expect((await sign({ next: true }, path))["hd_derivation_path"]).toBe(FIRST);
  });

  it("ends after 4,294,967,295 keys of an account", async () => {
    const { path, key: wallet } = await server.newKey("BIP39");
    const counter = ["hd_index", wallet["vault_id"]!, wallet["id"]!, 44, 0, 0];
    await server.test.store.commit({ puts: [{ key: counter, value: 2 ** 32 - 2 }] });
    expect((await sign({ next: true }, path))["hd_derivation_path"]).toBe("m/44'/60'/0'/0/2147483646'");
    expect(
      failure(await server.call("POST", `${path}/sign`, { message: DIGEST, options: { hdwallet: { next: true } } })),
    ).toEqual([409, "derivation_index_exhausted"]);
    expect((await sign({ next: true, account: 1 }, path))["hd_derivation_path"]).toBe("m/44'/60'/1'/0/0");
  });

  it("is on disk before the signature is answered, and its loss to somebody else means another index", async () => {
    let refuse = 2;
    const guarded = await startVaultServer({
      wrapStore: (store) =>
        new Proxy(store, {
          get: (target, name) =>
            name !== "commit"
              ? (Reflect.get(target, name) as unknown)
              : async (commit: Parameters<typeof store.commit>[0]) => {
                  const claim = commit.puts?.find((put) => put.key[0] === "hd_index");
                  if (claim !== undefined && refuse-- > 0) {
                    // Another process takes the index first.
                    await store.commit({ puts: [claim] });
                    throw new StoreConflict(claim.key);
                  }
                  await store.commit(commit);
                },
        }),
    });
    try {
      const { path } = await guarded.newKey("BIP39");
      const answer = await guarded.call("POST", `${path}/sign`, {
        message: DIGEST,
        options: { hdwallet: { next: true } },
      });
      expect(answer.body["hd_derivation_path"]).toBe("m/44'/60'/0'/0/2");
    } finally {
      await guarded.close();
    }
  });
});

describe("the extended public key", () => {
  it("of an account derives its plain addresses, and needs its own permission", async () => {
    const answer = await server.call("GET", `${at}/xpub?account=2`);
    expect([answer.status, answer.body["hd_derivation_path"]]).toEqual([200, "m/44'/60'/2'"]);
    const child = HDKey.fromExtendedKey(String(answer.body["xpub"])).derive("m/0/9");
    expect(child.privateKey).toBeNull();
    const address = addressOfPublicKey(parseSecp256k1PublicKey(child.publicKey!)!);
    expect((await sign({ account: 2, index: 9 }))["address"]).toBe(address);
    for (const without of ["vault_use", "secret_read"] as const)
      expect((await server.call("GET", `${at}/xpub`, undefined, server.token({ without }))).status).toBe(403);
    expect((await server.call("GET", `${at}/xpub`, undefined, server.token())).status).toBe(404);
    expect((await server.call("GET", `${at}/xpub?account=2147483648`)).status).toBe(422);
  });
});

describe("deleting a wallet", () => {
  it("removes its counters and its list", async () => {
    const vault = await server.newVault();
    const { path, key: wallet } = await server.newKey("BIP39", vault);
    await sign({ next: true }, path);
    expect((await server.call("DELETE", path)).status).toBe(204);
    for (const table of ["hd_index", "hd_address", "hd_address#key", "hd_address!path"])
      expect(server.test.store.count([table, vault, wallet["id"]!]), table).toBe(0);
    const other = await server.newKey("BIP39", vault);
    await sign({ next: true }, other.path);
    expect((await server.call("DELETE", `/api/v1/vaults/${vault}`)).status).toBe(204);
    for (const table of ["hd_index", "hd_address", "hd_address#key", "hd_address!path"])
      expect(server.test.store.count([table, vault]), table).toBe(0);
  });
});
