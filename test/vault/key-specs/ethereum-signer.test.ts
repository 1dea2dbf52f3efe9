// Signatures for Ethereum over HTTP, with viem as the judge.
import {
  hashMessage,
  hashTypedData,
  keccak256,
  parseTransaction,
  recoverAddress,
  recoverMessageAddress,
  recoverTransactionAddress,
  recoverTypedDataAddress,
  serializeSignature,
  type Hex,
  type TypedDataDefinition,
} from "viem";
import { recoverAuthorizationAddress } from "viem/utils";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startVaultServer, type Answer, type VaultServer } from "../http-support.js";

let server: VaultServer;
let at: string;
let address: string;
beforeAll(async () => {
  server = await startVaultServer();
  const made = await server.newKey("secp256k1");
  ({ path: at } = made);
  address = made.key["address"]!;
});
afterAll(async () => {
  await server.close();
});

interface EthereumSignature {
  readonly signature: string;
  readonly r: Hex;
  readonly s: Hex;
  readonly yParity: number;
  readonly v: number;
  readonly raw_transaction: Hex;
  readonly transaction_hash: Hex;
}
const failure = (answer: Answer): (string | number | undefined)[] => [
  answer.status,
  answer.body.errors?.[0]?.code,
  answer.body.errors?.[0]?.path,
];

async function sign(message: unknown, options?: object): Promise<EthereumSignature> {
  const answer = await server.call("POST", `${at}/sign`, { message, ...(options === undefined ? {} : { options }) });
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body as unknown as EthereumSignature;
}
async function verify(message: unknown, signature: string, options?: object): Promise<unknown> {
  return (
    await server.call("POST", `${at}/verify`, { message, signature, ...(options === undefined ? {} : { options }) })
  ).body["verified"];
}

const DIGEST = keccak256("0x1234");
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

describe("raw digests", () => {
  it("are signed as they are, deterministically, with all forms of the signature", async () => {
    const one = await sign(DIGEST);
    expect(await sign(DIGEST.slice(2))).toEqual(one);
    expect(Object.keys(one).sort()).toEqual(["r", "s", "signature", "v", "yParity"]);
    expect(one.signature).toBe(`${one.r.slice(2)}${one.s.slice(2)}0${one.yParity}`);
    expect(one.v).toBe(27 + one.yParity);
    expect(BigInt(one.s) <= ORDER / 2n).toBe(true);
    expect(await recoverAddress({ hash: DIGEST, signature: { r: one.r, s: one.s, yParity: one.yParity } })).toBe(
      address,
    );
    for (const end of [`0${one.yParity}`, (27 + one.yParity).toString(16), ""])
      expect(await verify(DIGEST, one.signature.slice(0, 128) + end)).toBe(true);
    for (const end of [`0${1 - one.yParity}`, (28 - one.yParity).toString(16), "02", "1d", "ff"])
      expect(await verify(DIGEST, one.signature.slice(0, 128) + end), end).toBe(false);
  });

  it("with high S are refused, although the curve would take them", async () => {
    const { r, s, yParity } = await sign(DIGEST);
    const high = (ORDER - BigInt(s)).toString(16).padStart(64, "0");
    for (const end of ["", `0${1 - yParity}`, `0${yParity}`])
      expect(await verify(DIGEST, r.slice(2) + high + end)).toBe(false);
  });

  it("must have 32 bytes: no length is guessed at", async () => {
    for (const message of ["00".repeat(31), "00".repeat(33), "00", "00".repeat(64)]) {
      expect(failure(await server.call("POST", `${at}/sign`, { message }))).toEqual([
        422,
        "digest_length_invalid",
        "message",
      ]);
      expect(failure(await server.call("POST", `${at}/verify`, { message, signature: "00".repeat(65) }))).toEqual([
        422,
        "digest_length_invalid",
        "message",
      ]);
    }
  });

  it("are made here where the hash is named", async () => {
    const { r, s, yParity } = await sign("0x1234", { digest: "keccak256" });
    expect(await recoverAddress({ hash: keccak256("0x1234"), signature: { r, s, yParity } })).toBe(address);
    const hashed = await sign("1234", { digest: "sha256" });
    expect(await verify("1234", hashed.signature, { digest: "sha256" })).toBe(true);
    expect(await verify("1234", hashed.signature, { digest: "keccak256" })).toBe(false);
    expect((await sign(DIGEST, { digest: "none" })).signature).toBe((await sign(DIGEST)).signature);
  });
});

describe("EIP-191 messages", () => {
  it("are recovered by viem, in hex and in text", async () => {
    const text = await sign("hello grüße", { format: "personal_sign", encoding: "utf8" });
    expect(await recoverMessageAddress({ message: "hello grüße", signature: `0x${text.signature}` })).toBe(address);
    expect(text.signature.slice(128)).toBe(text.v.toString(16));
    const hex = await sign(Buffer.from("hello grüße").toString("hex"), { format: "personal_sign" });
    expect(hex).toEqual(text);
    expect(await verify("hello grüße", text.signature, { format: "personal_sign", encoding: "utf8" })).toBe(true);
    expect(await verify(hashMessage("hello grüße"), text.signature)).toBe(true);
    expect(await verify("hello gruesse", text.signature, { format: "personal_sign", encoding: "utf8" })).toBe(false);
  });
});

it("empty messages are signed where they are hashed, as viem signs them", async () => {
  const personal = await sign("", { format: "personal_sign" });
  expect(await recoverMessageAddress({ message: "", signature: `0x${personal.signature}` })).toBe(address);
  expect(await verify("", personal.signature, { format: "personal_sign" })).toBe(true);
  expect(await verify("00", personal.signature, { format: "personal_sign" })).toBe(false);
  const hashed = await sign("", { digest: "keccak256" });
  expect(hashed).toEqual(await sign(keccak256("0x")));
  expect(await verify("0x", hashed.signature, { digest: "keccak256" })).toBe(true);
  expect(failure(await server.call("POST", `${at}/sign`, { message: "", options: { digest: "none" } }))).toEqual([
    422,
    "message_required",
    "message",
  ]);
});

describe("EIP-712 typed data", () => {
  const document = {
    types: {
      Person: [
        { name: "name", type: "string" },
        { name: "wallet", type: "address" },
      ],
      Mail: [
        { name: "from", type: "Person" },
        { name: "to", type: "Person[]" },
        { name: "contents", type: "string" },
      ],
    },
    primaryType: "Mail",
    domain: {
      name: "Ether Mail",
      version: "1",
      chainId: 1,
      verifyingContract: "0xCcCCccccCCCCcCCCCCCcCcCccCcCCCcCcccccccC",
    },
    message: {
      from: { name: "Cow", wallet: "0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826" },
      to: [{ name: "Bob", wallet: "0xbBbBBBBbbBBBbbbBbbBbbbbBBbBbbbbBbBbbBBbB" }],
      contents: "Hello, Bob!",
    },
  };

  it("are recovered by viem, as an object and as JSON text", async () => {
    const typed = document as unknown as TypedDataDefinition;
    const signed = await sign(document, { format: "eip712" });
    expect(await recoverTypedDataAddress({ ...typed, signature: `0x${signed.signature}` })).toBe(address);
    expect(await sign(JSON.stringify(document), { format: "eip712" })).toEqual(signed);
    expect(await verify(document, signed.signature, { format: "eip712" })).toBe(true);
    expect(
      await verify({ ...document, domain: { ...document.domain, chainId: 2 } }, signed.signature, { format: "eip712" }),
    ).toBe(false);
    expect(await verify(hashTypedData(typed), signed.signature)).toBe(true);
  });

  it("name the member at fault", async () => {
    const { contents: _contents, ...rest } = document.message;
    expect(
      failure(
        await server.call("POST", `${at}/sign`, {
          message: { ...document, message: rest },
          options: { format: "eip712" },
        }),
      ),
    ).toEqual([422, "typed_data_invalid", "message.message.contents"]);
    expect(failure(await server.call("POST", `${at}/sign`, { message: "{", options: { format: "eip712" } }))).toEqual([
      422,
      "invalid_request",
      "message",
    ]);
    const twice = JSON.stringify(document).replace('"contents":', '"contents":"Hello, Eve!","contents":');
    expect(failure(await server.call("POST", `${at}/sign`, { message: twice, options: { format: "eip712" } }))).toEqual(
      [422, "invalid_request", "message"],
    );
    expect(
      failure(
        await server.call("POST", `${at}/sign`, {
          message: JSON.stringify(document).replace("Bob", "\\ud800"),
          options: { format: "eip712" },
        }),
      ),
    ).toEqual([422, "invalid_request", "message"]);
    expect(failure(await server.call("POST", `${at}/sign`, { options: { format: "eip712" } }))).toEqual([
      422,
      "message_required",
      "message",
    ]);
    expect(
      failure(
        await server.call("POST", `${at}/sign`, {
          message: document,
          options: { format: "eip712", digest: "keccak256" },
        }),
      ),
    ).toEqual([422, "option_unsupported", "options.digest"]);
  });

  it("and the other structures take no encoding, and are objects", async () => {
    for (const [format, code] of [
      ["eip712", "typed_data_invalid"],
      ["transaction", "transaction_invalid"],
      ["authorization", "transaction_invalid"],
    ] as const) {
      expect(
        failure(await server.call("POST", `${at}/sign`, { message: document, options: { format, encoding: "utf8" } })),
      ).toEqual([422, "option_unsupported", "options.encoding"]);
      for (const message of ["[]", "1", "null"])
        expect(
          failure(await server.call("POST", `${at}/sign`, { message, options: { format } })),
          `${format} ${message}`,
        ).toEqual([422, code, "message"]);
    }
  });
});

describe("numbers that JSON.parse would round", () => {
  const to = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
  const transfer = (value: string): string =>
    `{"chain_id":1,"nonce":0,"gas":21000,"gas_price":1,"to":"${to}","value":${value}}`;
  const typed = (amount: string): string =>
    `{"types":{"Pay":[{"name":"amount","type":"uint256"}]},"primaryType":"Pay","domain":{},"message":{"amount":${amount}}}`;
  const post = async (verb: string, format: string, message: string): Promise<Answer> =>
    await server.callText(
      "POST",
      `${at}/${verb}`,
      `{"message":${message},"options":{"format":"${format}"}${verb === "verify" ? `,"signature":"${"11".repeat(64)}"` : ""}}`,
    );

  it.each(["sign", "verify"])("beyond 2^53 are refused by name, with how to give them (%s)", async (verb) => {
    for (const number of ["100000000000000000000", "9007199254740993", "9007199254740992.5", "1e21"]) {
      for (const [format, message, code, path] of [
        ["transaction", transfer(number), "transaction_invalid", "message.value"],
        ["eip712", typed(number), "typed_data_invalid", "message.message.amount"],
      ] as const) {
        for (const form of [message, JSON.stringify(message)]) {
          const answer = await post(verb, format, form);
          expect(failure(answer), `${format} ${number}`).toEqual([422, code, path]);
          expect(answer.body.errors?.[0]?.message).toContain("give it as decimal or 0x-hex text");
        }
      }
    }
  });

  it("to a whole one are refused before they are read, in an object and in its text", async () => {
    for (const number of ["9007199254740991.4", "1.00000000000000000001", "1e-400"]) {
      for (const [format, message] of [
        ["transaction", transfer(number)],
        ["eip712", typed(number)],
      ] as const) {
        const answer = await post("sign", format, message);
        expect(failure(answer), number).toEqual([400, "malformed_json", undefined]);
        expect(answer.body.errors?.[0]?.message).toContain("rounded to a whole number");
        expect(failure(await post("sign", format, JSON.stringify(message))), number).toEqual([
          422,
          "invalid_request",
          "message",
        ]);
      }
    }
  });

  it("and whole numbers in another notation are what they say; fractions are none", async () => {
    for (const [number, same] of [
      ["1.0", "1"],
      ["1e3", "1000"],
      ["9007199254740991.0", '"9007199254740991"'],
      ["-0", '"0"'],
    ] as const) {
      for (const [format, write] of [
        ["transaction", transfer],
        ["eip712", typed],
      ] as const) {
        const answer = await post("sign", format, write(number));
        expect([answer.status, answer.body["signature"]], number).toEqual([
          201,
          (await post("sign", format, write(same))).body["signature"],
        ]);
      }
    }
    expect(failure(await post("sign", "transaction", transfer("0.1")))).toEqual([
      422,
      "transaction_invalid",
      "message.value",
    ]);
    expect(failure(await post("sign", "eip712", typed("0.1")))).toEqual([
      422,
      "typed_data_invalid",
      "message.message.amount",
    ]);
  });
});

describe("transactions", () => {
  const to = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
  const common = { chain_id: 11155111, nonce: 7, gas: 21000, to, value: "1000000000000000000" };
  it.each<[string, object]>([
    ["legacy", { ...common, gas_price: "1000000000" }],
    ["eip2930", { ...common, gas_price: 5, access_list: [{ address: to, storage_keys: [`0x${"01".repeat(32)}`] }] }],
    ["eip1559", { ...common, max_fee_per_gas: "30000000000", max_priority_fee_per_gas: 1, data: "0xdeadbeef" }],
    [
      "eip7702",
      {
        ...common,
        max_fee_per_gas: 9,
        authorization_list: [
          { chain_id: 0, address: to, nonce: 1, y_parity: 1, r: `0x${"21".repeat(32)}`, s: `0x${"12".repeat(32)}` },
        ],
      },
    ],
  ])("of the type %s are signed ready to send, and recovered by viem", async (type, transaction) => {
    const signed = await sign(transaction, { format: "transaction" });
    expect(signed.transaction_hash).toBe(keccak256(signed.raw_transaction));
    const serialized = signed.raw_transaction as `0x02${string}`;
    expect(await recoverTransactionAddress({ serializedTransaction: serialized })).toBe(address);
    const parsed = parseTransaction(serialized);
    expect(parsed).toMatchObject({
      type,
      chainId: 11155111,
      nonce: 7,
      gas: 21000n,
      to: to.toLowerCase(),
      value: 10n ** 18n,
    });
    // As numbers: viem leaves r and s of legacy transactions as RLP has them, without leading zero bytes.
    expect([BigInt(parsed.r!), BigInt(parsed.s!), parsed.yParity]).toEqual([
      BigInt(signed.r),
      BigInt(signed.s),
      signed.yParity,
    ]);
    expect(signed.v).toBe(type === "legacy" ? 11155111 * 2 + 35 + signed.yParity : signed.yParity);
    expect(serializeSignature({ r: signed.r, s: signed.s, yParity: signed.yParity }).slice(2, 130)).toBe(
      signed.signature.slice(0, 128),
    );
    expect(await verify(transaction, signed.signature, { format: "transaction" })).toBe(true);
    expect(await verify({ ...transaction, nonce: 8 }, signed.signature, { format: "transaction" })).toBe(false);
    expect(await sign({ ...transaction, from: address }, { format: "transaction" })).toEqual(signed);
  });

  it("of another sender, or with a member that is wrong, are refused by name", async () => {
    const transaction = { ...common, gas_price: 1 };
    const sent = async (more: object): Promise<unknown> =>
      failure(
        await server.call("POST", `${at}/sign`, {
          message: { ...transaction, ...more },
          options: { format: "transaction" },
        }),
      );
    expect(await sent({ from: to })).toEqual([422, "transaction_invalid", "message.from"]);
    expect(await sent({ chain_id: undefined })).toEqual([422, "transaction_invalid", "message.chain_id"]);
    expect(await sent({ to: "0x70997970C51812dc3A010C7d01b50e0d17dc79c8" })).toEqual([
      422,
      "transaction_invalid",
      "message.to",
    ]);
    expect(await sent({ type: 3 })).toEqual([422, "transaction_invalid", "message.type"]);
    expect(
      failure(await server.call("POST", `${at}/sign`, { message: "0xf86c", options: { format: "transaction" } })),
    ).toEqual([422, "invalid_request", "message"]);
  });

  it("may have as much data as nodes take, as an object and as text", async () => {
    const transaction = { ...common, gas_price: 1, data: `0x${"ab".repeat(128 * 1024)}` };
    const signed = await sign(transaction, { format: "transaction" });
    expect(await sign(JSON.stringify(transaction), { format: "transaction" })).toEqual(signed);
    expect(
      failure(
        await server.call("POST", `${at}/sign`, {
          message: { ...transaction, data: `${transaction.data}ab` },
          options: { format: "transaction" },
        }),
      ),
    ).toEqual([422, "transaction_invalid", "message.data"]);
  });

  it("of type 4 take authorizations that the vault signed", async () => {
    const authorization = { chain_id: 1, address: to, nonce: 3 };
    const signed = await sign(authorization, { format: "authorization" });
    expect(
      await recoverAuthorizationAddress({
        authorization: { chainId: 1, address: to, nonce: 3 },
        signature: { r: signed.r, s: signed.s, yParity: signed.yParity },
      }),
    ).toBe(address);
    const list = [{ ...authorization, y_parity: signed.yParity, r: signed.r, s: signed.s }];
    const sent = await sign(
      { ...common, chain_id: 1, max_fee_per_gas: 9, authorization_list: list },
      { format: "transaction" },
    );
    const parsed = parseTransaction(sent.raw_transaction as `0x04${string}`);
    expect(parsed.authorizationList).toEqual([
      expect.objectContaining({ address: to.toLowerCase(), nonce: 3, r: signed.r, s: signed.s }),
    ]);
  });

  it("and other Ethereum forms are not signed with other kinds of keys", async () => {
    const { path: other } = await server.newKey("Ed25519");
    for (const format of ["personal_sign", "eip712", "transaction", "authorization"])
      expect(failure(await server.call("POST", `${other}/sign`, { message: "00", options: { format } }))).toEqual([
        422,
        "option_unsupported",
        "options.format",
      ]);
    expect(failure(await server.call("POST", `${other}/sign`, { message: "00", options: { hdwallet: {} } }))).toEqual([
      422,
      "option_unsupported",
      "options.hdwallet",
    ]);
    expect(
      failure(await server.call("POST", `${at}/sign`, { message: DIGEST, options: { hdwallet: { index: 1 } } })),
    ).toEqual([422, "option_unsupported", "options.hdwallet"]);
  });
});
