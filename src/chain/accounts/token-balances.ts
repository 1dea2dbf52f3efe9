/** Balances of ERC-20 tokens, asked of the network's node. */
import type { Subject } from "../../platform/auth/principal.js";
import { notFound } from "../../platform/errors.js";
import { RpcRefusal } from "../rpc/rpc.js";
import { readHexQuantity } from "../transactions/node-values.js";
import { executionFailure } from "../transactions/sending/refusals.js";
import type { TransactionNetworks } from "../transactions/transaction-ports.js";
import type { Accounts } from "./accounts.js";

/** The token contracts of the contracts area, as far as balances need them. */
export interface TokenAddresses {
  /** Returns the 0x address of a token contract by its id. Throws `not_found`. */
  addressOf(owner: Subject, tokenId: string): string;
}

export interface TokenBalancesDependencies {
  readonly accounts: Pick<Accounts, "find">;
  readonly networks: TransactionNetworks;
  readonly tokens: TokenAddresses;
}

/** Selector of balanceOf(address). */
const BALANCE_OF = "0x70a08231";
const ADDRESS = /^0x[0-9a-f]{40}$/i;

export class TokenBalances {
  readonly #dependencies: TokenBalancesDependencies;

  constructor(dependencies: TokenBalancesDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Returns the balance of an account in a token's smallest units, decimal, under the token's id as it was given.
   * @param tokenId id of a token contract, or its 0x address
   * @throws not_found for an unknown account or token, and what the node fails with
   */
  async get(owner: Subject, accountId: string, tokenId: string, signal?: AbortSignal): Promise<Record<string, string>> {
    const { accounts, networks, tokens } = this.#dependencies;
    const account = accounts.find(owner, accountId);
    const to = ADDRESS.test(tokenId) ? tokenId : tokens.addressOf(owner, tokenId);
    const { rpc } = networks.find(owner, account.network_id);
    const data = `${BALANCE_OF}${account.address.slice(2).toLowerCase().padStart(64, "0")}`;
    const answer = await rpc
      .request("eth_call", [{ to, data }, "latest"], signal === undefined ? {} : { signal })
      .catch((error: unknown) => {
        throw error instanceof RpcRefusal ? executionFailure(error) : error;
      });
    // An address without code returns nothing, and is no token.
    if (answer === "0x") throw notFound("token");
    return { [tokenId]: String(readHexQuantity(answer, "balance")) };
  }
}
