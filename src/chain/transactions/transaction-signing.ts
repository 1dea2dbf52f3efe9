/** Finds the signer of a transaction and makes its signed bytes. Keys stay in the vault. */
import type { Subject } from "../../platform/auth/principal.js";
import { AppError, notFound } from "../../platform/errors.js";
import type { Accounts } from "../accounts/accounts.js";
import type { ChainKeyVault } from "../accounts/key-vault.js";
import type { SignerChoice } from "./submission-port.js";
import type { Wallets } from "../accounts/wallets.js";
import { feesText, type Fees } from "./fees/fees.js";
import { ownerOf, type Attempt, type SignerRecord, type TransactionRecord } from "./transaction-record.js";

export interface ResolvedSigner {
  readonly accountId: string | null;
  readonly walletId: string | null;
  readonly signer: SignerRecord;
  /** Checksummed. */
  readonly from: string;
}

export interface AttemptOptions {
  readonly nonce: number;
  readonly fees: Fees;
  readonly kind: Attempt["kind"];
  /** ISO 8601. */
  readonly now: string;
}

/** An empty transfer costs 21000; layer 2 chains add the data's share of layer 1. Only what is used is paid. */
const CANCEL_GAS = "50000";

export class TransactionSigning {
  readonly #keys: ChainKeyVault;
  readonly #accounts: Accounts;
  readonly #wallets: Wallets;

  constructor(dependencies: { readonly keys: ChainKeyVault; readonly accounts: Accounts; readonly wallets: Wallets }) {
    this.#keys = dependencies.keys;
    this.#accounts = dependencies.accounts;
    this.#wallets = dependencies.wallets;
  }

  /** Returns false while the vault is sealed. */
  isReady(): boolean {
    return this.#keys.isUnsealed();
  }

  /**
   * Returns the key and the address of a signer.
   * @throws signer_not_found, derivation_path_invalid, vault_sealed
   */
  async resolve(owner: Subject, choice: SignerChoice): Promise<ResolvedSigner> {
    try {
      if ("walletId" in choice) {
        const { wallet, path, address } = await this.#wallets.addressAt(owner, choice.walletId, choice.path);
        return {
          accountId: null,
          walletId: wallet.id,
          signer: { vault_id: wallet.vault_id, key_id: wallet.key_id, path },
          from: address,
        };
      }
      const account =
        "accountId" in choice
          ? this.#accounts.find(owner, choice.accountId)
          : this.#accounts.findByAddress(owner, choice.accountAddress);
      if (account === undefined) throw notFound("account");
      return {
        accountId: account.id,
        walletId: null,
        signer: { vault_id: account.vault_id, key_id: account.key_id, path: null },
        from: account.address,
      };
    } catch (error) {
      if (error instanceof AppError && error.code === "not_found")
        throw new AppError("signer_not_found", { message: `${error.message}: no such signer`, cause: error });
      throw error;
    }
  }

  /**
   * Signs a transaction for a nonce; a cancellation is an empty transfer to the signer itself.
   * @throws signer_not_found, vault_sealed, overloaded, transaction_invalid
   */
  async sign(record: TransactionRecord, { nonce, fees, kind, now }: AttemptOptions): Promise<Attempt> {
    if (record.signer === null)
      throw new AppError("transaction_not_replaceable", {
        message: "the transaction was signed by its caller, and only the caller can sign another",
      });
    const text = feesText(fees);
    const content =
      kind === "cancel"
        ? { to: record.from, value: "0", gas: CANCEL_GAS }
        : { ...(record.to === null ? {} : { to: record.to }), value: record.value, data: record.data, gas: record.gas };
    const { raw, hash } = await this.#keys.sign(
      {
        owner: ownerOf(record),
        vaultId: record.signer.vault_id,
        keyId: record.signer.key_id,
        path: record.signer.path,
      },
      {
        type: text.gas_price === undefined ? 2 : 0,
        chain_id: record.chain_id,
        nonce,
        from: record.from,
        ...content,
        ...text,
      },
    );
    return { hash, kind, signed_at: now, ...text, raw };
  }
}
