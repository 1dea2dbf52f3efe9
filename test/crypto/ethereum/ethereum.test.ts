// Ethereum forms: published vectors of the EIPs, and viem as the oracle for everything else.
import {
  hashMessage,
  hashTypedData,
  keccak256 as viemKeccak,
  recoverAddress,
  serializeTransaction,
  toRlp,
  type TransactionSerializable,
  type TypedDataDefinition,
} from "viem";
import { hashAuthorization } from "viem/utils";
import { privateKeyToAccount } from "viem/accounts";
import { describe, expect, it } from "vitest";
import { addressOfPublicKey, checksumAddress, isChecksummed } from "../../../src/crypto/ethereum/address.js";
import { InvalidPayload } from "../../../src/crypto/ethereum/invalid.js";
import { personalDigest } from "../../../src/crypto/ethereum/personal-message.js";
import { encodeRlp, type RlpItem } from "../../../src/crypto/ethereum/rlp.js";
import {
  authorizationDigest,
  readTransaction,
  serializeSigned,
  transactionDigest,
  transactionV,
} from "../../../src/crypto/ethereum/transaction.js";
import { typedDataDigest } from "../../../src/crypto/ethereum/typed-data.js";
import { secp256k1PublicKey, signatureBytes, type EcdsaSignature } from "../../../src/crypto/secp256k1/secp256k1.js";
import { signDigests } from "../../../src/crypto/secp256k1/signing.js";
import { seededRandom } from "../../support/seeded.js";

const random = seededRandom();
const SEED = `seed ${String(random.seed)}`;
const randomInt = (limit: number): number => random.below(limit);
const randomBytes = (length: number): Buffer => Buffer.from(Array.from({ length }, () => random.below(256)));
const hex = (bytes: Uint8Array): `0x${string}` => `0x${Buffer.from(bytes).toString("hex")}`;
const bytes = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text.replace(/^0x/, ""), "hex"));
const KEY = bytes("46".repeat(32));
const signDigest = (privateKey: Uint8Array, digest: Uint8Array): EcdsaSignature =>
  signDigests({ privateKey, publicKey: secp256k1PublicKey(privateKey) }, [digest])[0]!;
const ACCOUNT = privateKeyToAccount(hex(KEY));
const ADDRESS = "0x3535353535353535353535353535353535353535";

function pathOf(run: () => unknown): string {
  try {
    run();
    return "accepted";
  } catch (error) {
    if (error instanceof InvalidPayload) return error.path;
    throw error;
  }
}

describe("addresses", () => {
  // SOURCE: EIP-55, test cases.
  it.each([
    "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
    "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
    "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
    "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
    "0x52908400098527886E0F7030069857D2E4169EE7",
    "0xde709f2102306220921060314715629080e2fb77",
  ])("writes %s with its checksum", (address) => {
    expect(checksumAddress(bytes(address)).toLowerCase()).toBe(address.toLowerCase());
    expect(isChecksummed(address)).toBe(true);
    if (address !== address.toLowerCase()) expect(checksumAddress(bytes(address))).toBe(address);
  });

  it("refuses a checksum with one letter in the other case", () => {
    expect(isChecksummed("0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed")).toBe(false);
    expect(addressOfPublicKey(secp256k1PublicKey(KEY))).toBe(ACCOUNT.address);
    expect(() => addressOfPublicKey(new Uint8Array(64))).toThrow(TypeError);
  });
});

describe("RLP", () => {
  it("agrees with viem on nested lists of all lengths", () => {
    const randomItem = (depth: number): RlpItem =>
      depth === 0 || randomInt(3) === 0
        ? new Uint8Array(randomBytes([0, 1, 2, 55, 56, 300][randomInt(6)]!))
        : Array.from({ length: randomInt(5) }, () => randomItem(depth - 1));
    const asHex = (item: RlpItem): never => (item instanceof Uint8Array ? hex(item) : item.map(asHex)) as never;
    for (let i = 0; i < 200; i += 1) {
      const item = randomItem(4);
      expect(hex(encodeRlp(item)), SEED).toBe(toRlp(asHex(item)));
    }
  });
});

describe("EIP-191", () => {
  it.each(["", "hello world", "grüße", "a".repeat(1000)])("hashes %j as wallets do", (message) => {
    expect(hex(personalDigest(Buffer.from(message)))).toBe(hashMessage(message));
  });
  // SOURCE: ethers.js and web3.js documentation of hashMessage.
  it("gives the known hash of hello world", () => {
    expect(hex(personalDigest(Buffer.from("hello world")))).toBe(
      "0xd9eba16ed0ecae432b71fe008c98cc872bb4cc214d3220a36f365326cf807d68",
    );
  });
});

describe("EIP-155", () => {
  // SOURCE: EIP-155, example.
  it("gives the published digest and signed transaction", () => {
    const transaction = readTransaction({
      nonce: 9,
      gas_price: "20000000000",
      gas: 21000,
      to: ADDRESS,
      value: "1000000000000000000",
      data: "0x",
      chain_id: 1,
    });
    expect(transaction.type).toBe(0);
    const digest = transactionDigest(transaction);
    expect(hex(digest)).toBe("0xdaf5a779ae972f972197303d7b574746c7ef83eadac0f2791ad23db92e4c8e53");
    const signature = signDigest(KEY, digest);
    expect(transactionV(transaction, signature)).toBe(37);
    expect(hex(serializeSigned(transaction, signature))).toBe(
      "0xf86c098504a817c800825208943535353535353535353535353535353535353535880de0b6b3a76400008025a028ef61340bd939bc2195fe537567866003e1a15d3c71ff63e1590620aa636276a067cbe9d8997f761aecb703304b3800ccf555c9f3dc64214b297fb1966a3b6d83",
    );
  });
});

describe("transactions", () => {
  const word = (): `0x${string}` => hex(new Uint8Array(randomBytes(32)));
  const address = (): `0x${string}` => hex(new Uint8Array(randomBytes(20)));
  const accessList = [
    { address: address(), storageKeys: [word(), word()] },
    { address: address(), storageKeys: [] },
  ];
  const authorization = { chainId: 5, address: address(), nonce: 3, yParity: 1, r: word(), s: `0x${"12".repeat(32)}` };
  const common = {
    chainId: 11155111,
    nonce: 0,
    gas: 90000n,
    value: 2n ** 90n,
    data: "0xdeadbeef" as const,
    to: address(),
  };
  const fees = { maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 5n };
  it.each<[string, TransactionSerializable]>([
    ["EIP-155 legacy", { ...common, type: "legacy", gasPrice: 10n ** 9n }],
    ["legacy that creates a contract", { ...common, to: undefined, type: "legacy", gasPrice: 0n }],
    ["EIP-2930", { ...common, type: "eip2930", gasPrice: 7n, accessList }],
    ["EIP-2930 without a list", { ...common, type: "eip2930", gasPrice: 7n, accessList: [] }],
    ["EIP-1559", { ...common, type: "eip1559", ...fees, accessList }],
    [
      "EIP-1559 with zeros",
      { chainId: 1, type: "eip1559", nonce: 0, gas: 0n, maxFeePerGas: 0n, maxPriorityFeePerGas: 0n, to: address() },
    ],
    [
      "EIP-7702",
      {
        ...common,
        type: "eip7702",
        ...fees,
        accessList,
        authorizationList: [authorization as never, { ...authorization, yParity: 0, chainId: 0 } as never],
      },
    ],
  ])("serializes and signs %s as viem does", async (_name, transaction) => {
    const members = Object.fromEntries(
      Object.entries(transaction)
        .filter(([, value]) => value !== undefined)
        .map(([name, value]) => [name, typeof value === "bigint" ? String(value) : (value as unknown)]),
    );
    const read = readTransaction(members);
    const digest = transactionDigest(read);
    expect(hex(digest), SEED).toBe(viemKeccak(serializeTransaction(transaction)));
    const signature = signDigest(KEY, digest);
    expect(hex(serializeSigned(read, signature)), SEED).toBe(await ACCOUNT.signTransaction(transaction));
    expect(
      await recoverAddress({
        hash: hex(digest),
        signature: {
          r: hex(signatureBytes(signature).subarray(0, 32)),
          s: hex(signatureBytes(signature).subarray(32)),
          yParity: signature.yParity,
        },
      }),
    ).toBe(ACCOUNT.address);
  });

  it("takes the members under the names of JSON-RPC and of this API, in hex, decimal and numbers", () => {
    const one = readTransaction({
      chain_id: "0x1",
      nonce: "0x0",
      gas_limit: "21000",
      max_fee_per_gas: 7,
      max_priority_fee_per_gas: "0x1",
      to: ADDRESS,
      input: "0x01",
    });
    const other = readTransaction({
      type: "eip1559",
      chainId: 1,
      nonce: 0,
      gas: "0x5208",
      maxFeePerGas: "7",
      maxPriorityFeePerGas: 1,
      to: ADDRESS,
      data: "0x01",
      value: "0",
      accessList: [],
    });
    expect(transactionDigest(one)).toEqual(transactionDigest(other));
  });

  const base = { chain_id: 1, nonce: 0, gas: 21000, gas_price: 1, to: ADDRESS };
  it.each<[string, object, string]>([
    ["no chain id", { chain_id: undefined }, "chain_id"],
    ["chain id 0", { chain_id: 0 }, "chain_id"],
    ["a chain id too large for v", { chain_id: "4503599627370477" }, "chain_id"],
    ["no nonce", { nonce: null }, "nonce"],
    ["a nonce of 2^64 - 1", { nonce: "18446744073709551615" }, "nonce"],
    ["a negative nonce", { nonce: -1 }, "nonce"],
    ["half a nonce", { nonce: 0.5 }, "nonce"],
    ["an unsafe integer", { nonce: 2 ** 53 }, "nonce"],
    ["no gas", { gas: undefined }, "gas"],
    ["two spellings of gas", { gasLimit: 1 }, "gas"],
    ["a value of 2^256", { value: (2n ** 256n).toString() }, "value"],
    ["a value in words", { value: "1 ether" }, "value"],
    ["a short address", { to: "0x1234" }, "to"],
    ["an address with a wrong checksum", { to: "0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed" }, "to"],
    ["odd data", { data: "0x123" }, "data"],
    ["data without 0x", { data: "12" }, "data"],
    ["type 3", { type: 3 }, "type"],
    ["type 5", { type: "0x5" }, "type"],
    ["fee market members in a legacy one", { type: 0, max_fee_per_gas: 1 }, "max_fee_per_gas"],
    ["a gas price in type 2", { type: 2 }, "gas_price"],
    ["an unknown member", { tip: 1 }, "tip"],
    ["blobs", { blobs: [] }, "blobs"],
    ["type 3 by its name", { type: "eip4844" }, "type"],
    [
      "two spellings in a list",
      { access_list: [{ address: ADDRESS, storage_keys: [], storageKeys: [] }] },
      "access_list[0].storage_keys",
    ],
    ["a signature", { v: 27 }, "v"],
    [
      "a short storage key",
      { access_list: [{ address: ADDRESS, storage_keys: ["0x01"] }] },
      "access_list[0].storage_keys[0]",
    ],
    ["an unknown member of a list", { access_list: [{ address: ADDRESS, extra: 1 }] }, "access_list[0].extra"],
  ])("refuses %s", (_name, change, path) => {
    expect(pathOf(() => readTransaction({ ...base, ...change }))).toBe(path);
  });

  it("says of a number that JSON readers round how to give it", () => {
    for (const value of [2 ** 53, 1e20, 1e300])
      expect(() => readTransaction({ ...base, value })).toThrow(
        "`value` is a number beyond 2^53 - 1, which is not exact in JSON: give it as decimal or 0x-hex text",
      );
    expect(() => readTransaction({ ...base, value: 0.1 })).toThrow("`value` is not a whole number");
  });

  it("refuses a priority fee above the fee, type 4 without recipient or authorizations, and a high S in one", () => {
    const market = { chain_id: 1, nonce: 0, gas: 21000, max_fee_per_gas: 1, to: ADDRESS };
    expect(pathOf(() => readTransaction({ ...market, max_priority_fee_per_gas: 2 }))).toBe("max_priority_fee_per_gas");
    expect(pathOf(() => readTransaction({ ...market, type: 4 }))).toBe("authorization_list");
    expect(pathOf(() => readTransaction({ ...market, authorization_list: [] }))).toBe("authorization_list");
    const signed = { chain_id: 1, address: ADDRESS, nonce: 0, y_parity: 0, r: 1, s: 1 };
    expect(pathOf(() => readTransaction({ ...market, to: undefined, authorization_list: [signed] }))).toBe("to");
    expect(pathOf(() => readTransaction({ ...market, authorization_list: [{ ...signed, y_parity: 2 }] }))).toBe(
      "authorization_list[0].y_parity",
    );
    expect(
      pathOf(() => readTransaction({ ...market, authorization_list: [{ ...signed, s: `0x${"ff".repeat(32)}` }] })),
    ).toBe("authorization_list[0].s");
    expect(pathOf(() => readTransaction({ ...market, authorization_list: [{ ...signed, chainId: 1 }] }))).toBe(
      "authorization_list[0].chain_id",
    );
    expect(pathOf(() => readTransaction({ ...market, authorization_list: [{ ...signed, yParity: 1 }] }))).toBe(
      "authorization_list[0].y_parity",
    );
    expect(
      pathOf(() => readTransaction({ ...market, authorization_list: [{ ...signed, nonce: "18446744073709551615" }] })),
    ).toBe("authorization_list[0].nonce");
    expect(pathOf(() => readTransaction([]))).toBe("transaction");
    expect(pathOf(() => readTransaction("0x"))).toBe("transaction");
  });

  it("says of a blob transaction that it is one", () => {
    for (const change of [
      { type: 3 },
      { type: "0x3" },
      { type: "eip4844" },
      { maxFeePerBlobGas: 1 },
      { blob_versioned_hashes: [] },
    ])
      expect(() => readTransaction({ ...base, ...change })).toThrow("blob transaction (type 3, EIP-4844)");
  });

  it("hashes an EIP-7702 authorization as viem does", () => {
    for (const chainId of [0, 1, 11155111])
      expect(hex(authorizationDigest({ chain_id: chainId, address: ADDRESS, nonce: 7 }))).toBe(
        hashAuthorization({ chainId, address: ADDRESS, nonce: 7 }),
      );
    expect(pathOf(() => authorizationDigest({ chain_id: 1, address: ADDRESS }))).toBe("nonce");
    expect(pathOf(() => authorizationDigest({ chain_id: 1, address: ADDRESS, nonce: 1, s: 1 }))).toBe("s");
    expect(pathOf(() => authorizationDigest({ chain_id: 1, chainId: 2, address: ADDRESS, nonce: 1 }))).toBe("chain_id");
    // EIP-7702: an authorization with the nonce 2^64 - 1 is never applied.
    expect(pathOf(() => authorizationDigest({ chain_id: 1, address: ADDRESS, nonce: "18446744073709551615" }))).toBe(
      "nonce",
    );
    expect(authorizationDigest({ chain_id: 1, address: ADDRESS, nonce: "18446744073709551614" })).toHaveLength(32);
  });
});

// SOURCE: EIP-712, Example.js (the mail from Cow to Bob).
const MAIL = {
  types: {
    EIP712Domain: [
      { name: "name", type: "string" },
      { name: "version", type: "string" },
      { name: "chainId", type: "uint256" },
      { name: "verifyingContract", type: "address" },
    ],
    Person: [
      { name: "name", type: "string" },
      { name: "wallet", type: "address" },
    ],
    Mail: [
      { name: "from", type: "Person" },
      { name: "to", type: "Person" },
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
    to: { name: "Bob", wallet: "0xbBbBBBBbbBBBbbbBbbBbbbbBBbBbbbbBbBbbBBbB" },
    contents: "Hello, Bob!",
  },
};

describe("EIP-712", () => {
  it("gives the published digest and signature", () => {
    const digest = typedDataDigest(MAIL);
    expect(hex(digest)).toBe("0xbe609aee343fb3c4b28e1df9e632fca64fcfaede20f02e86244efddf30957bd2");
    const signature = signDigest(bytes(viemKeccak(Buffer.from("cow"))), digest);
    expect(hex(signatureBytes(signature))).toBe(
      "0x4355c47d63924e8a72e509b65029052eb6c299d53a04e167c5775fd466751c9d07299936d304c153f6443dfa05f40ff007d72911b6f72307f996231605b91562",
    );
    expect(signature.yParity).toBe(1);
  });

  it("agrees with viem on every kind of type, arrays and nested structures", () => {
    const types = {
      Item: [
        { name: "id", type: "uint8" },
        { name: "tags", type: "string[]" },
        { name: "hash", type: "bytes32" },
      ],
      Box: [
        { name: "items", type: "Item[]" },
        { name: "pair", type: "Item[2]" },
        { name: "grid", type: "int16[2][]" },
        { name: "flag", type: "bool" },
        { name: "raw", type: "bytes" },
        { name: "low", type: "int256" },
        { name: "small", type: "bytes4" },
        { name: "big", type: "uint256" },
        { name: "to", type: "address" },
        { name: "next", type: "Item" },
      ],
    };
    for (let i = 0; i < 50; i += 1) {
      const item = (): object => ({
        id: randomInt(256),
        tags: Array.from({ length: randomInt(3) }, () => randomBytes(4).toString("latin1")),
        hash: hex(randomBytes(32)),
      });
      const message = {
        items: Array.from({ length: randomInt(4) }, item),
        pair: [item(), item()],
        grid: Array.from({ length: randomInt(3) }, () => [randomInt(32768) - 32768, randomInt(32768)]),
        flag: randomInt(2) === 1,
        raw: hex(randomBytes(randomInt(80))),
        low: String(-(2n ** 255n) + BigInt(randomInt(1000))),
        small: hex(randomBytes(4)),
        big: String(2n ** 256n - 1n),
        to: hex(randomBytes(20)),
        next: item(),
      };
      const domain = [
        {},
        { name: "d" },
        { name: "d", version: "2", chainId: 5, verifyingContract: hex(randomBytes(20)), salt: hex(randomBytes(32)) },
      ][i % 3];
      const document = { types, primaryType: "Box", domain, message };
      expect(hex(typedDataDigest(document)), SEED).toBe(hashTypedData(document as unknown as TypedDataDefinition));
    }
    expect(hex(typedDataDigest({ ...MAIL, primaryType: "EIP712Domain" }))).toBe(
      hashTypedData({ ...MAIL, primaryType: "EIP712Domain" } as unknown as TypedDataDefinition),
    );
  });

  it.each<[string, object, string]>([
    ["a missing member", { message: { from: MAIL.message.from, to: MAIL.message.to } }, "message.contents"],
    ["a member too many", { message: { ...MAIL.message, cc: 1 } }, "message.cc"],
    ["a member of another type", { message: { ...MAIL.message, contents: 5 } }, "message.contents"],
    [
      "an address with a wrong checksum",
      { message: { ...MAIL.message, to: { name: "Bob", wallet: "0xBbBBBBBbbBBBbbbBbbBbbbbBBbBbbbbBbBbbBBbB" } } },
      "message.to.wallet",
    ],
    ["an unknown primary type", { primaryType: "Letter" }, "primaryType"],
    ["no domain", { domain: undefined }, "domain"],
    ["no types", { types: null }, "types"],
    [
      "a domain member that its type lacks",
      { domain: { ...MAIL.domain, salt: `0x${"00".repeat(32)}` } },
      "domain.salt",
    ],
    [
      "a type that nobody knows",
      { types: { ...MAIL.types, Mail: [{ name: "from", type: "Animal" }] } },
      "types.Mail.from",
    ],
    [
      "a width that no integer has",
      { types: { ...MAIL.types, Mail: [{ name: "from", type: "uint7" }] } },
      "types.Mail.from",
    ],
    [
      "a width with a leading zero",
      { types: { ...MAIL.types, Mail: [{ name: "from", type: "uint08" }] } },
      "types.Mail.from",
    ],
    ["bytes01", { types: { ...MAIL.types, Mail: [{ name: "from", type: "bytes01" }] } }, "types.Mail.from"],
    [
      "a length with a leading zero",
      { types: { ...MAIL.types, Mail: [{ name: "from", type: "uint8[02]" }] } },
      "types.Mail.from",
    ],
    [
      "more than name and type of a member",
      { types: { ...MAIL.types, Person: [{ name: "name", type: "string", indexed: true }] } },
      "types.Person[0].indexed",
    ],
    ["a struct that is null", { message: { ...MAIL.message, to: null } }, "message.to"],
    ["bytes33", { types: { ...MAIL.types, Mail: [{ name: "from", type: "bytes33" }] } }, "types.Mail.from"],
    [
      "a member named twice",
      { types: { ...MAIL.types, Person: [...MAIL.types.Person, ...MAIL.types.Person] } },
      "types.Person[2].name",
    ],
    ...["uint256", "uint", "int", "uint7", "bytes33", "byte", "fixed128x18", "ufixed", "function"].map(
      (name): [string, object, string] => [
        `a struct named ${name}`,
        { types: { ...MAIL.types, [name]: [{ name: "x", type: "bool" }] } },
        "types",
      ],
    ),
    ...[
      "uint",
      "int",
      "uint[]",
      "int[2][]",
      "uint0",
      "uint264",
      "int7",
      "Uint256",
      "uint256 ",
      "bytes0",
      "byte",
      "fixed",
      "ufixed128x18",
      "address payable",
      "function",
      "mapping",
      "Person[0]",
      "Person[-1]",
      "Person[ ]",
      "Person[2",
      "Person]",
      "[]",
      "Person[][",
      "",
    ].map((type): [string, object, string] => [
      `the type ${JSON.stringify(type)}`,
      { types: { ...MAIL.types, Mail: [{ name: "from", type }] } },
      "types.Mail.from",
    ]),
    ["another top-level member", { extra: 1 }, "extra"],
  ])("refuses %s", (_name, change, path) => {
    expect(pathOf(() => typedDataDigest({ ...MAIL, ...change }))).toBe(path);
  });

  it("says how a type without a size is written", () => {
    for (const type of ["uint", "int[3][]"])
      expect(() => typedDataDigest({ ...MAIL, types: { ...MAIL.types, Mail: [{ name: "from", type }] } })).toThrow(
        `write that`,
      );
    expect(() =>
      typedDataDigest({ ...MAIL, types: { ...MAIL.types, Mail: [{ name: "from", type: "address payable" }] } }),
    ).toThrow("EIP-712 has only address");
  });

  // SOURCE: MetaMask eth-sig-util, "signTypedData_v4 with recursive types"; the key is keccak256("dragon").
  it("ends chains of structs that hold themselves as wallets do", () => {
    const family = {
      types: {
        EIP712Domain: MAIL.types.EIP712Domain,
        Person: [
          { name: "name", type: "string" },
          { name: "mother", type: "Person" },
          { name: "father", type: "Person" },
        ],
      },
      primaryType: "Person",
      domain: { ...MAIL.domain, name: "Family Tree" },
      message: {
        name: "Jon",
        mother: { name: "Lyanna", father: { name: "Rickard" } },
        father: { name: "Rhaegar", father: { name: "Aeris II" } },
      },
    };
    const digest = typedDataDigest(family);
    expect(hex(digest)).toBe("0x807773b9faa9879d4971b43856c4d60c2da15c6f8c062bd9d33afefb756de19c");
    expect(hex(signatureBytes(signDigest(bytes(viemKeccak(Buffer.from("dragon"))), digest)))).toBe(
      "0xf2ec61e636ff7bb3ac8bc2a4cc2c8b8f635dd1b2ec8094c963128b358e79c85c5ca6dd637ed7e80f0436fe8fce39c0e5f2082c9517fe677cc2917dcd6c84ba88",
    );
    expect(
      typedDataDigest({
        ...family,
        message: {
          ...family.message,
          mother: { name: "Lyanna", mother: null, father: { name: "Rickard", mother: null, father: null } },
        },
      }),
    ).toEqual(digest);
    expect(pathOf(() => typedDataDigest({ ...family, message: null }))).toBe("message");
    expect(pathOf(() => typedDataDigest({ ...family, message: { mother: null, father: null } }))).toBe("message.name");
  });

  it("bounds nesting and size", () => {
    const types = { Node: [{ name: "next", type: "Node[]" }] };
    let message: object = { next: [] };
    for (let i = 0; i < 20; i += 1) message = { next: [message] };
    expect(pathOf(() => typedDataDigest({ types, primaryType: "Node", domain: {}, message }))).toMatch(
      /^message\.next/,
    );
    const wide = {
      types: { List: [{ name: "numbers", type: "uint8[1000][]" }] },
      primaryType: "List",
      domain: {},
      message: { numbers: Array.from({ length: 11 }, () => Array.from({ length: 1000 }, () => 0)) },
    };
    expect(pathOf(() => typedDataDigest(wide))).toMatch(/^message\.numbers/);
  });
});
