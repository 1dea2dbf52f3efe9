/**
 * Shapes of accounts and wallets in requests and answers. There is no member that could hold a private key or a phrase.
 */
import Type, { type Static } from "typebox";
import { closed, Name, nullable, SAID_OWNER, Timestamp, Uuid } from "../../platform/contract/schemas.js";
import { Address } from "../transactions/transaction-schemas.js";

const OWNER_MEMBERS = { application_id: nullable(Uuid), organization_id: nullable(Uuid), user_id: nullable(Uuid) };
const ADDRESS_INDEX_MAX = 2 ** 31 - 1;
export const WALLET_ADDRESSES = 2 ** 31;

export const Account = closed(
  {
    id: Uuid,
    created_at: Timestamp,
    network_id: Uuid,
    wallet_id: Type.Null({ description: "addresses of wallets are listed under the wallet" }),
    ...OWNER_MEMBERS,
    vault_id: Uuid,
    key_id: Uuid,
    type: Type.Literal("secp256k1"),
    hd_derivation_path: Type.Null(),
    public_key: Type.String({ description: "0x-hex, uncompressed" }),
    address: Type.String({ description: "checksummed" }),
    accessed_at: nullable(
      Type.String({ format: "date-time", description: "when it last signed, accurate to a minute" }),
    ),
  },
  { description: "Account" },
);
export const AccountDetail = closed(
  {
    ...Account.properties,
    balance: nullable(Type.String({ description: "wei, decimal; null while the network's node does not answer" })),
  },
  { description: "Account with its balance" },
);
export const CreateAccountBody = closed({ network_id: Uuid, name: Type.Optional(Name), ...SAID_OWNER });
export const AccountListQuery = closed({
  network_id: Type.Optional(Uuid),
  wallet_id: Type.Optional(Uuid),
  sort: Type.Optional(Type.Literal("recent", { description: "last used first; newest first otherwise" })),
});
export const AccountParams = closed({ id: Uuid });
export const BalanceParams = closed({
  id: Uuid,
  token_id: Type.Union([Uuid, Address], { description: "a token contract's id or address" }),
});
export const Balance = Type.Record(Type.String(), Type.String({ pattern: "^[0-9]{1,78}$" }), {
  description: "the token's id as given -> its smallest units, decimal",
});

export const Wallet = closed(
  {
    id: Uuid,
    created_at: Timestamp,
    ...OWNER_MEMBERS,
    vault_id: Uuid,
    key_id: Uuid,
    path: Type.String({ description: "of its first account" }),
    purpose: Type.Integer({ minimum: 0 }),
  },
  { description: "Wallet: a seed of 24 words that stays in the vault" },
);
export const CreateWalletBody = closed({
  purpose: Type.Optional(Type.Integer({ minimum: 0, maximum: ADDRESS_INDEX_MAX, description: "44 unless given" })),
  name: Type.Optional(Name),
  ...SAID_OWNER,
});
export const WalletParams = closed({ id: Uuid });
export const WalletAccountsQuery = closed({
  coin_type: Type.Optional(Type.Literal(60, { description: "60 (ether), the only one" })),
  chain_path: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: ADDRESS_INDEX_MAX,
      description: "the level below the account; 0 unless given",
    }),
  ),
  index: Type.Optional(
    Type.Integer({ minimum: 0, maximum: ADDRESS_INDEX_MAX, description: "the account; 0 unless given" }),
  ),
});
export const WalletAccount = closed(
  { address: Type.String(), hd_derivation_path: Type.String(), public_key: Type.String() },
  { description: "An address of a wallet" },
);

export type AccountJson = Static<typeof Account>;
export type AccountDetailJson = Static<typeof AccountDetail>;
export type CreateAccountInput = Static<typeof CreateAccountBody>;
export type AccountFilters = Static<typeof AccountListQuery>;
export type WalletJson = Static<typeof Wallet>;
export type CreateWalletInput = Static<typeof CreateWalletBody>;
export type WalletAccountsInput = Static<typeof WalletAccountsQuery>;
export type WalletAccountJson = Static<typeof WalletAccount>;
