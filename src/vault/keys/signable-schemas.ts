/**
 * What may be signed, as OpenAPI shows it, with an example each: transactions of each type, typed data, authorizations,
 * messages, digests. The code of crypto/ethereum checks them, more exactly than a schema could, and names the member at
 * fault.
 */
import Type, { type TProperties } from "typebox";

const SAFE_INTEGER_MAX = Number.MAX_SAFE_INTEGER;

const WholeNumber = Type.Union(
  [
    Type.Integer({ minimum: 0, maximum: SAFE_INTEGER_MAX }),
    Type.String({ pattern: "^(0x[0-9a-fA-F]{1,64}|[0-9]{1,78})$" }),
  ],
  { title: "WholeNumber", description: "a whole number: as a number up to 2^53 - 1, as decimal text or as hex text" },
);
const Address = Type.String({
  title: "EthereumAddress",
  pattern: "^0x[0-9a-fA-F]{40}$",
  description: "in one letter case, or with the checksum of EIP-55",
});
const Bytes = Type.String({ title: "HexBytes", pattern: "^0x([0-9a-fA-F]{2})*$", description: "bytes as hex with 0x" });
const Word = Type.String({ pattern: "^0x[0-9a-fA-F]{64}$" });

const AccessList = Type.Array(Type.Object({ address: Address, storage_keys: Type.Optional(Type.Array(Word)) }), {
  title: "AccessList",
  description: "EIP-2930",
});
const AUTHORIZATION = { chain_id: WholeNumber, address: Address, nonce: WholeNumber };
const CALL = {
  chain_id: WholeNumber,
  nonce: WholeNumber,
  gas: WholeNumber,
  to: Type.Optional(Address),
  value: Type.Optional(WholeNumber),
  data: Type.Optional(Bytes),
  from: Type.Optional(Address),
};
const FEES = { max_fee_per_gas: WholeNumber, max_priority_fee_per_gas: Type.Optional(WholeNumber) };
const SPELLINGS =
  "Members may also have the spelling of JSON-RPC (`chainId`, `gasPrice`, `gasLimit`, `input`, `maxFeePerGas`); `from`, if given, must be the key's address. A transaction without `to` creates a contract";

/** Other members are of another spelling, or refused by name. */
function structure<T extends TProperties>(title: string, members: T, description: string) {
  return Type.Object(members, { title, description });
}

const LegacyTransaction = structure(
  "LegacyTransaction",
  { type: Type.Optional(Type.Enum([0, "legacy"])), ...CALL, gas_price: WholeNumber },
  `Type 0, with replay protection (EIP-155). ${SPELLINGS}.`,
);
const AccessListTransaction = structure(
  "AccessListTransaction",
  { type: Type.Enum([1, "eip2930"]), ...CALL, gas_price: WholeNumber, access_list: Type.Optional(AccessList) },
  `Type 1 (EIP-2930). ${SPELLINGS}.`,
);
const FeeMarketTransaction = structure(
  "FeeMarketTransaction",
  { type: Type.Optional(Type.Enum([2, "eip1559"])), ...CALL, ...FEES, access_list: Type.Optional(AccessList) },
  `Type 2 (EIP-1559). ${SPELLINGS}.`,
);
const SetCodeTransaction = structure(
  "SetCodeTransaction",
  {
    type: Type.Optional(Type.Enum([4, "eip7702"])),
    ...CALL,
    to: Address,
    ...FEES,
    access_list: Type.Optional(AccessList),
    authorization_list: Type.Array(
      Type.Object({ ...AUTHORIZATION, y_parity: WholeNumber, r: WholeNumber, s: WholeNumber }),
      {
        minItems: 1,
        maxItems: 100,
        description: "signed authorizations",
      },
    ),
  },
  `Type 4 (EIP-7702). ${SPELLINGS}.`,
);
const Authorization = structure(
  "Authorization",
  AUTHORIZATION,
  "EIP-7702: lets the account run the code of an address; chain id 0 stands for every chain.",
);
const TypedData = structure(
  "TypedData",
  {
    types: Type.Record(
      Type.String(),
      Type.Array(Type.Object({ name: Type.String(), type: Type.String({ description: "sized: uint256, not uint" }) })),
    ),
    primaryType: Type.String(),
    domain: Type.Object({
      name: Type.Optional(Type.String()),
      version: Type.Optional(Type.String()),
      chainId: Type.Optional(WholeNumber),
      verifyingContract: Type.Optional(Address),
      salt: Type.Optional(Word),
    }),
    message: Type.Optional(
      Type.Object({}, { description: "the members that the primary type declares, and no others" }),
    ),
  },
  "EIP-712, in the form of eth_signTypedData_v4.",
);

/** An object, by `options.format`; each may also be given as JSON text. */
export const SIGNABLE_OBJECTS = [
  LegacyTransaction,
  AccessListTransaction,
  FeeMarketTransaction,
  SetCodeTransaction,
  TypedData,
  Authorization,
];

const TO = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const CODE = "0x63c0c19a282a1B52b07dD5a65b58948A07DAE32B";
const EXAMPLE_CALL = { chain_id: 1, nonce: 9, gas: 21000, to: TO, value: "1000000000000000000" };
const EXAMPLE_FEES = { max_fee_per_gas: "30000000000", max_priority_fee_per_gas: "1000000000" };
const ACCESS_LIST = [{ address: TO, storage_keys: [`0x${"00".repeat(31)}01`] }];

/** An authorization of another account, as its key signed it. */
const SIGNED_AUTHORIZATION = {
  chain_id: 1,
  address: CODE,
  nonce: 0,
  y_parity: 0,
  r: "0xd2e083cc18f1fd8afb155d8a2da0cb9986ea5e7cb8a68cd8ec59c4f1e31ae2ff",
  s: "0x0769c9a42997b207ab9ae6b56dadf0c280e7361d121ed51ef63f0391c3404408",
};

const TYPED_DATA = {
  types: {
    Person: [
      { name: "name", type: "string" },
      { name: "wallet", type: "address" },
    ],
    Mail: [
      { name: "from", type: "Person" },
      { name: "to", type: "Person[]" },
      { name: "contents", type: "string" },
      { name: "value", type: "uint256" },
    ],
  },
  primaryType: "Mail",
  domain: { name: "Mail", version: "1", chainId: 1, verifyingContract: CODE },
  message: {
    from: { name: "Alice", wallet: CODE },
    to: [{ name: "Bob", wallet: TO }],
    contents: "Hello, Bob!",
    value: "1000000000000000000",
  },
};

function transaction(summary: string, message: object): { readonly summary: string; readonly body: object } {
  return { summary, body: { message, options: { format: "transaction" } } };
}

/** A body for each thing that secp256k1 and BIP39 keys sign. Each can be sent as it stands. */
export const SIGN_EXAMPLES = {
  digest: {
    summary: "A digest of 32 bytes, hashed by the caller",
    body: { message: "9c22ff5f21f0b81b113e63f7db6da94fedef11b2119b4088b89664fb9a3cb658" },
  },
  hashed: {
    summary: "Bytes that the vault hashes with Keccak-256",
    body: { message: "0x00ff", options: { digest: "keccak256" } },
  },
  personal_message: {
    summary: "A message of a person (EIP-191, personal_sign)",
    body: { message: "Hello, Bob!", options: { format: "personal_sign", encoding: "utf8" } },
  },
  typed_data: { summary: "Typed data (EIP-712)", body: { message: TYPED_DATA, options: { format: "eip712" } } },
  legacy_transaction: transaction("A transaction of type 0 (EIP-155)", { ...EXAMPLE_CALL, gas_price: "20000000000" }),
  access_list_transaction: transaction("A transaction of type 1 (EIP-2930)", {
    type: 1,
    ...EXAMPLE_CALL,
    gas: 30000,
    gas_price: "20000000000",
    access_list: ACCESS_LIST,
  }),
  fee_market_transaction: transaction("A transaction of type 2 (EIP-1559)", {
    type: 2,
    ...EXAMPLE_CALL,
    ...EXAMPLE_FEES,
  }),
  set_code_transaction: transaction("A transaction of type 4 (EIP-7702)", {
    type: 4,
    ...EXAMPLE_CALL,
    gas: 100000,
    data: "0x",
    ...EXAMPLE_FEES,
    authorization_list: [SIGNED_AUTHORIZATION],
  }),
  authorization: {
    summary: "An authorization (EIP-7702)",
    body: { message: { chain_id: 1, address: CODE, nonce: 10 }, options: { format: "authorization" } },
  },
  jws: {
    summary: "The payload of a JSON Web Signature",
    body: { message: '{"sub":"bob"}', options: { format: "jws", encoding: "utf8", header: { typ: "JWT" } } },
  },
  batch: {
    summary: "Several messages",
    body: {
      batch: [
        { message: "Hello, Bob!", options: { format: "personal_sign", encoding: "utf8" } },
        { message: "Hello, Eve!", options: { format: "personal_sign", encoding: "utf8" } },
      ],
    },
  },
} as const;
