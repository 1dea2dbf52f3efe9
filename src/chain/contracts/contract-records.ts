/** What the store keeps of a contract: its record, what it was made from, and the plan of its build. */
import type { SolidityRequest } from "../../engine/solidity/compile-solidity.js";
import type { Subject } from "../../platform/auth/principal.js";
import type { StoreValue } from "../../platform/store/store.js";
import type { ContractFinding, ContractStatus } from "./contract-schemas.js";
import type { SigningInput } from "./signing-input.js";

/** What is known of a token; members are null until the owner or the contract gives them. */
export interface TokenFacts {
  readonly name: string | null;
  readonly symbol: string | null;
  readonly decimals: number | null;
  readonly sale_contract_id: string | null;
  readonly sale_address: string | null;
}

export interface StoredContract {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly owner: Subject;
  readonly network_id: string;
  readonly contract_id: string | null;
  /** The transaction that deploys or deployed it. */
  readonly transaction_id: string | null;
  readonly name: string;
  /** Checksummed, or `0x`. */
  readonly address: string;
  readonly type: string | null;
  readonly status: ContractStatus;
  readonly errors: readonly ContractFinding[];
  readonly token: TokenFacts | null;
  /** True while its network's node could not be asked what it is. */
  readonly undescribed?: true;
  readonly accessed_at: string | null;
  /** Orders uses within one millisecond of `accessed_at`: a count of uses since the server started. */
  readonly access_order?: number;
}

/** What a contract was made from, as its detail answers it. The ABI is stored apart. */
export type StoredParams = {
  readonly name: string;
  /** Linked creation code, 0x-hex; null of a contract that was registered without. */
  readonly bytecode: string | null;
  /** SHA-256 of `bytecode`, hex. */
  readonly fingerprint: string | null;
  readonly deps: StoreValue;
  readonly opcodes: string | null;
  readonly source: StoreValue;
  readonly metadata?: string;
  readonly compiler?: string;
  readonly settings?: StoreValue;
  readonly warnings?: StoreValue;
};

/** How a contract is compiled and then deployed; kept until the build is settled. */
export interface BuildPlan {
  readonly source: SolidityRequest;
  readonly libraries: Readonly<Record<string, string>>;
  readonly argv: readonly unknown[];
  readonly signing: SigningInput;
}
