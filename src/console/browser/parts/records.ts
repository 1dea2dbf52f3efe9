/** The parts of the API's records that the console shows. */

export interface Complaint {
  readonly message: string;
  readonly code: string;
  readonly file?: string;
  readonly line?: number;
  readonly column?: number;
  readonly notes?: readonly string[];
}

export interface Prover {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly vault_id: string;
  readonly name: string;
  readonly description: string | null;
  readonly identifier: string;
  readonly provider: string;
  readonly proving_scheme: string;
  readonly curve: string;
  readonly status: string;
  readonly trusted_setup: string;
  readonly note_store_id: string;
  readonly errors: readonly Complaint[];
  readonly warnings: readonly Complaint[];
  readonly compiler: string | null;
  readonly source_hash: string | null;
  readonly tags: readonly string[];
  readonly analysis: { readonly state: string; readonly verdict: string | null } | null;
}

export interface ProverStatus {
  readonly status: string;
  readonly finished: boolean;
  readonly progress: number;
  /** Milliseconds that are probably left. */
  readonly remaining_ms: number | null;
  readonly step: string;
  readonly errors: readonly Complaint[];
}

export interface Timings {
  readonly witness_ms: number;
  readonly prove_ms: number;
  readonly check_ms: number;
}

export interface ProofRecord {
  readonly id: string;
  readonly created_at: string;
  readonly prover_id: string;
  readonly hash: string;
  readonly public_signals: readonly string[];
  readonly bytes: number;
  readonly origin: string;
  readonly note_index: number;
  readonly timings: Timings | null;
}

export interface MadeProof extends ProofRecord {
  readonly proof: string;
}

export interface Artifact {
  readonly name: string;
  readonly sha256: string | null;
  readonly bytes: number | null;
  readonly complete: boolean;
}

export interface Vault {
  readonly id: string;
  readonly created_at: string;
  readonly name: string;
  readonly description: string;
  readonly deletes_at?: string;
}

export interface Key {
  readonly id: string;
  readonly created_at: string;
  readonly vault_id: string;
  readonly type: string;
  readonly usage: string;
  readonly spec: string;
  readonly name: string;
  readonly description: string;
  readonly public_key?: string;
  readonly address?: string;
  readonly disabled_at?: string;
  readonly deletes_at?: string;
  readonly server_only?: true;
}

export interface Secret {
  readonly id: string;
  readonly created_at: string;
  readonly name: string;
  readonly type: string;
  readonly description: string;
}

export interface SealStatus {
  readonly sealed: boolean;
  readonly provider: string;
  readonly initialised: boolean;
}

export interface Network {
  readonly id: string;
  readonly created_at: string;
  readonly name: string;
  readonly chain_id: string;
  readonly is_production: boolean;
  readonly config: Readonly<Record<string, unknown>>;
  readonly stats: { readonly block: number | null; readonly state: string; readonly latency_ms: number | null } | null;
}

export interface NetworkStats {
  readonly state: string;
  readonly block: number | null;
  readonly peer_count: number | null;
  readonly latency_ms: number | null;
  readonly block_time_ms: number | null;
  readonly gas_price: string | null;
  readonly last_block_at: string | null;
  readonly last_error: { readonly message: string } | null;
  readonly nodes: readonly {
    readonly host: string;
    readonly state: string;
    readonly latency_ms: number | null;
    readonly requests: number;
    readonly failures: number;
  }[];
}

export interface Account {
  readonly id: string;
  readonly created_at: string;
  readonly network_id: string;
  readonly address: string;
  readonly balance?: string | null;
}

/** The parts of a Solidity ABI from which forms are made. */
export interface AbiItem {
  readonly type: string;
  readonly name?: string;
  readonly stateMutability?: string;
  readonly inputs?: readonly { readonly name: string; readonly type: string }[];
  readonly outputs?: readonly { readonly name: string; readonly type: string }[];
}

export interface Contract {
  readonly id: string;
  readonly created_at: string;
  readonly network_id: string;
  readonly transaction_id: string | null;
  readonly name: string;
  readonly address: string;
  readonly status: string;
  readonly errors: readonly Complaint[];
  readonly params?: {
    readonly abi?: readonly AbiItem[];
    readonly compiled_artifact?: { readonly abi?: readonly AbiItem[] };
  } | null;
}

export interface Transaction {
  readonly id: string;
  readonly created_at: string;
  readonly network_id: string;
  readonly from: string;
  readonly to: string | null;
  readonly value: number | string;
  readonly state: string;
  readonly status: string;
  readonly hash: string | null;
  readonly nonce: number | null;
  readonly error: { readonly message: string } | null;
  readonly block: number | null;
  readonly confirmations: number | null;
  readonly gas_used: string | null;
  readonly e2e_latency: number | null;
}

export interface User {
  readonly id: string;
  readonly created_at: string;
  readonly name: string;
  readonly email?: string;
  readonly permissions: number;
}

export interface Tenant {
  readonly id: string;
  readonly created_at: string;
  readonly name: string;
  readonly description: string | null;
}

export interface Token {
  readonly id: string;
  readonly created_at: string;
  readonly kind: "session" | "personal";
  readonly name: string | null;
  readonly permissions: number;
  readonly expires_at: string;
  readonly last_used_at: string | null;
}

export interface AuditEvent {
  readonly number: number;
  readonly at: string;
  readonly action: string;
  readonly outcome: "ok" | "refused";
  readonly code?: string;
  readonly subject?: string;
  readonly target?: Readonly<Record<string, string>>;
  readonly address?: string;
}
