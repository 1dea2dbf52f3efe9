/** Shapes of transactions in requests and answers. */
import Type, { type Static } from "typebox";
import { closed, Description, nullable, SAID_OWNER, Timestamp, Uuid } from "../../platform/contract/schemas.js";

/** The most that nodes take into their pools. */
export const DATA_BYTES_MAX = 128 * 1024;
/** A type 2 transaction with that much data, with room for its other members. */
const RAW_CHARACTERS_MAX = 2 + 2 * (DATA_BYTES_MAX + 1024);
const DECIMAL_CHARACTERS_MAX = 78;
/** What a record keeps of the logs of a receipt: the first ones, so many and so many bytes of data. */
export const LOGS_MAX = 100;
export const LOG_BYTES_MAX = 16 * 1024;
/** What a record keeps of the return data of a call. */
export const RETURN_BYTES_MAX = 4 * 1024;

export const Address = Type.String({
  minLength: 42,
  maxLength: 42,
  pattern: "^0x[0-9a-fA-F]{40}$",
  description: "address; in mixed case its checksum (EIP-55) must be right",
});
export const Hash = Type.String({ minLength: 66, maxLength: 66, pattern: "^0x[0-9a-f]{64}$" });
/** Wei or gas: JSON integers are exact up to 2^53, so that texts are accepted too. */
export const Quantity = Type.Union(
  [
    Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
    Type.String({ pattern: "^([0-9]{1,78}|0x[0-9a-fA-F]{1,64})$", maxLength: DECIMAL_CHARACTERS_MAX }),
  ],
  { description: "an integer, or its decimal or 0x-hex text" },
);
const Nonce = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const Data = Type.String({
  maxLength: 2 + 2 * DATA_BYTES_MAX,
  pattern: "^(0x)?([0-9a-fA-F]{2})*$",
  description: "0x-hex",
});
export const Ref = Type.String({
  minLength: 1,
  maxLength: 200,
  pattern: "^[A-Za-z0-9._:@-]+$",
  description: "the caller's own name for it, unique among the caller's; a UUID is made when absent",
});
export const HdPathText = Type.String({ maxLength: 64, description: "m/44'/60'/account'/change/index" });
const Decimal = Type.String({ pattern: "^[0-9]{1,78}$" });

const REQUESTED_FEES = {
  gas_price: Type.Optional(Quantity),
  max_fee_per_gas: Type.Optional(Quantity),
  max_priority_fee_per_gas: Type.Optional(Quantity),
};
const Params = closed(
  { gas: Type.Optional(Quantity), ...REQUESTED_FEES, nonce: Type.Optional(Nonce) },
  { description: "members that are left out are chosen by the server; `gas_price` asks for a type 0 transaction" },
);

export const CreateTransactionBody = closed({
  network_id: Uuid,
  account_id: Type.Optional(Uuid),
  account_address: Type.Optional(Address),
  wallet_id: Type.Optional(Uuid),
  hd_derivation_path: Type.Optional(HdPathText),
  to: Type.Optional(nullable(Address)),
  value: Type.Optional(Quantity),
  data: Type.Optional(nullable(Data)),
  params: Type.Optional(nullable(Params)),
  ref: Type.Optional(Ref),
  description: Type.Optional(nullable(Description)),
  ...SAID_OWNER,
});
export const BroadcastTransactionBody = closed({
  network_id: Uuid,
  raw_transaction: Type.String({
    minLength: 4,
    maxLength: RAW_CHARACTERS_MAX,
    pattern: "^0x([0-9a-fA-F]{2})+$",
    description: "signed by the caller, of type 0, 1 or 2",
  }),
  ref: Type.Optional(Ref),
  description: Type.Optional(nullable(Description)),
  ...SAID_OWNER,
});
export const BumpTransactionBody = closed(REQUESTED_FEES);

const TRANSACTION_STATUSES = ["pending", "success", "failed"] as const;
const TRANSACTION_STATES = [
  "created",
  "signed",
  "sent",
  "mined",
  "confirmed",
  "failed",
  "replaced",
  "cancelled",
] as const;

const STATUS_WORDS = [...new Set([...TRANSACTION_STATUSES, ...TRANSACTION_STATES])].join("|");

export const TransactionListQuery = closed({
  status: Type.Optional(
    Type.String({
      maxLength: 100,
      pattern: `^(?:${STATUS_WORDS})(?:,(?:${STATUS_WORDS}))*$`,
      description: "comma separated: pending, success, failed, or states",
    }),
  ),
  to: Type.Optional(Address),
  from: Type.Optional(Address),
  network_id: Type.Optional(Uuid),
  account_id: Type.Optional(Uuid),
  contract_id: Type.Optional(Uuid),
  filter_contract_creations: Type.Optional(Type.Boolean({ description: "only those without `to`" })),
});
export const TransactionParams = closed({ id: Type.Union([Uuid, Ref], { description: "UUID, or ref" }) });

const LogSchema = closed({
  index: Type.Integer({ minimum: 0, description: "position among the logs of the block" }),
  address: Type.String({ description: "contract that wrote it" }),
  topics: Type.Array(Type.String(), { maxItems: 4 }),
  data: Type.String({ description: "0x-hex" }),
  contract_id: nullable(Type.String({ description: "the caller's contract at the address, whose ABI is used" })),
  event: nullable(
    closed(
      { name: Type.String(), args: Type.Unknown({ description: "by name where each has one, else a list" }) },
      { description: "null where no contract of the caller is known at the address, or its ABI has no such event" },
    ),
  ),
});
const Receipt = closed(
  {
    block_hash: Type.String(),
    block_number: Type.Integer({ minimum: 0 }),
    status: nullable(
      Type.Enum(["success", "reverted"], {
        description: "what the chain says; null for a cancelled transaction of an earlier version",
      }),
    ),
    gas_used: nullable(Decimal),
    effective_gas_price: nullable(Decimal),
    contract_address: nullable(Type.String()),
    logs: nullable(
      Type.Array(LogSchema, {
        description: `the first ${String(LOGS_MAX)} at most, with ${String(LOG_BYTES_MAX / 1024)} KiB of data at most; null where the node did not tell them, or an earlier version did not keep them`,
      }),
    ),
    logs_count: nullable(Type.Integer({ minimum: 0, description: "all that the receipt has" })),
    logs_truncated: Type.Boolean({ description: "true where `logs` has not all of them" }),
    revert: nullable(
      closed(
        {
          name: nullable(Type.String()),
          args: Type.Unknown({ description: "by name where each has one, else a list; null where not known" }),
          data: Type.String({ description: `0x-hex, the first ${String(RETURN_BYTES_MAX / 1024)} KiB` }),
        },
        {
          description:
            "why it reverted. Receipts have no reason: this is what the call answered when it was repeated on the block before",
        },
      ),
    ),
  },
  {
    description:
      "Receipt. Null until the transaction is in a block; it follows the chain after a reorganisation. Not in lists",
    examples: [
      {
        block_hash: "0x8f5bab218b6bb34476f51ca588e9f4553a3a7ce5e13a66c660a5283e97e9a85a",
        block_number: 1204,
        status: "success",
        gas_used: "51409",
        effective_gas_price: "1000000007",
        contract_address: null,
        logs: [
          {
            index: 0,
            address: "0x5FbDB2315678afecb367f032d93F642f64180aa3",
            topics: [
              "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef",
              "0x000000000000000000000000f39fd6e51aad88f6f4ce6ab8827279cfffb92266",
              "0x00000000000000000000000070997970c51812dc3a010c7d01b50e0d17dc79c8",
            ],
            data: "0x0000000000000000000000000000000000000000000000000000000000000005",
            contract_id: "7d5e7f0c-2a4b-4d0e-9a55-0a4d3f6f7a11",
            event: {
              name: "Transfer",
              args: {
                from: "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
                to: "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
                value: "5",
              },
            },
          },
        ],
        logs_count: 1,
        logs_truncated: false,
        revert: null,
      },
    ],
  },
);
const SimulatedReturn = closed(
  {
    method: Type.String({ description: "its signature" }),
    value: Type.Unknown({ description: "one value, or an object or list of several" }),
  },
  {
    description:
      "what the method returned when it was simulated on the latest block at submission. The call that was mined may have returned something else: chains do not keep what it returned. Null where the method returns nothing, or the simulation told nothing or more than 4 KiB. Not in lists",
    examples: [{ method: "transfer(address,uint256)", value: true }],
  },
);

export const Transaction = closed(
  {
    id: Uuid,
    created_at: Timestamp,
    network_id: Uuid,
    application_id: nullable(Uuid),
    organization_id: nullable(Uuid),
    user_id: nullable(Uuid),
    account_id: nullable(Uuid),
    wallet_id: nullable(Uuid),
    hd_derivation_path: nullable(Type.String()),
    signer: Type.String({ description: "address that signs" }),
    from: Type.String(),
    to: nullable(Type.String()),
    value: Type.Union([Type.Integer({ minimum: 0 }), Decimal], { description: "wei; text above 2^53" }),
    data: Type.Optional(Type.String({ description: "not in lists" })),
    ref: Type.String(),
    description: nullable(Type.String()),
    contract_id: nullable(Uuid),
    status: Type.Enum([...TRANSACTION_STATUSES], { description: "`success` once mined" }),
    state: Type.Enum([...TRANSACTION_STATES]),
    hash: nullable(Type.String()),
    attempts: Type.Array(
      closed({ hash: Type.String(), kind: Type.Enum(["first", "bump", "cancel"]), signed_at: Timestamp }),
      { description: "all signatures that were made for it, all with its nonce" },
    ),
    nonce: nullable(Nonce),
    gas: Decimal,
    gas_price: nullable(Decimal),
    max_fee_per_gas: nullable(Decimal),
    max_priority_fee_per_gas: nullable(Decimal),
    params: closed(
      {
        gas: Type.Optional(Decimal),
        gas_price: Type.Optional(Decimal),
        max_fee_per_gas: Type.Optional(Decimal),
        max_priority_fee_per_gas: Type.Optional(Decimal),
        nonce: Type.Optional(Nonce),
      },
      { description: "the requested values" },
    ),
    error: nullable(
      closed(
        { code: Type.String(), message: Type.String() },
        {
          description:
            "why it failed; while `status` is pending, why it is not taken at present. Fees that are too low (`fee_too_low`, `replacement_underpriced`, `fee_cap_exceeded`): it goes on by itself when they fall, or after a bump. A refusal of bytes that a node may have all the same (`transaction_refused`, `insufficient_funds`): they are sent again until they are mined or the transaction is cancelled",
        },
      ),
    ),
    block: nullable(Type.Integer({ minimum: 0 })),
    block_hash: nullable(Type.String()),
    block_timestamp: nullable(Timestamp),
    confirmations: nullable(
      Type.Integer({ minimum: 0, description: "blocks from its own to the head that was last seen" }),
    ),
    gas_used: nullable(Decimal),
    effective_gas_price: nullable(Decimal),
    contract_address: nullable(Type.String()),
    receipt: Type.Optional(nullable(Receipt)),
    simulated_return: Type.Optional(nullable(SimulatedReturn)),
    broadcast_at: nullable(Timestamp),
    finalized_at: nullable(Type.String({ description: "when it was seen in a block" })),
    confirmed_at: nullable(Timestamp),
    cancel_requested_at: nullable(Timestamp),
    queue_latency: nullable(Type.Integer({ description: "ms from creation to broadcast" })),
    network_latency: nullable(Type.Integer({ description: "ms from broadcast to a block" })),
    e2e_latency: nullable(Type.Integer({ description: "ms from creation to a block" })),
  },
  { description: "Transaction" },
);

export type TransactionJson = Static<typeof Transaction>;
export type ReceiptJson = Static<typeof Receipt>;
export type CreateTransactionInput = Static<typeof CreateTransactionBody>;
export type BroadcastTransactionInput = Static<typeof BroadcastTransactionBody>;
export type BumpTransactionInput = Static<typeof BumpTransactionBody>;
export type TransactionFilters = Static<typeof TransactionListQuery>;
