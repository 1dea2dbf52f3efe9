/**
 * How other areas put contracts of their own making on a chain, call them and ask them: with the accounts, the nonce
 * queues and the records of their owner, so that such a contract is one among the owner's others.
 */
import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { checksumAddress } from "../../crypto/ethereum/address.js";
import type { CompiledContract, SolidityRequest } from "../../engine/solidity/compile-solidity.js";
import type { Principal, Subject } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { AppError } from "../../platform/errors.js";
import { newId } from "../../platform/ids.js";
import type { ProcessTaskLimits, ProcessTasks } from "../../platform/pool/process-task.js";
import { missingReference } from "../../platform/references.js";
import type { StoreCommit } from "../../platform/store/store.js";
import { mergeCommits } from "../../platform/store/tables.js";
import { requestMany } from "../rpc/rpc-batch.js";
import { RpcRefusal, type RpcCall } from "../rpc/rpc.js";
import { chainIdOf, type Networks } from "../networks/network-port.js";
import { executionFailure } from "../transactions/sending/refusals.js";
import type { TransactionService } from "../transactions/transaction-service.js";
import { artifactOfCompiled } from "./builds/artifact.js";
import { compileSolidityInProcess } from "./builds/solidity-task.js";
import { CONTRACTS_MAX, type ContractCreation, type CreatedContract } from "./contract-creation.js";
import { NO_ADDRESS, type ContractRepository } from "./contract-repository.js";
import type { StoredContract } from "./contract-records.js";
import type { CreateContract } from "./contract-schemas.js";
import type { Deployments } from "./deployments.js";
import { requireSigner, type SigningInput } from "./signing-input.js";

interface ContractPortDependencies {
  readonly repository: ContractRepository;
  readonly creation: ContractCreation;
  readonly deployments: Deployments;
  readonly networks: Networks;
  readonly submissions: Pick<TransactionService, "submit" | "get">;
  /** How many blocks make a transaction of the network final. Throws `not_found`. */
  readonly confirmationsOf: (owner: Subject, networkId: string) => number;
  /** Throws `not_found` for an account or a wallet that is not the owner's. */
  readonly requireOwnSigner: (owner: Subject, signer: SigningInput) => void;
  readonly tasks: ProcessTasks;
  /** Limits of one compile; the defaults unless given. */
  readonly limits?: ProcessTaskLimits;
  readonly clock: Clock;
}

/** A contract to deploy. Its constructor takes no arguments. */
export interface OwnDeployment {
  readonly networkId: string;
  readonly name: string;
  readonly source: SolidityRequest;
  readonly compiled: CompiledContract;
  readonly signing: SigningInput;
}

export interface OwnCall {
  readonly networkId: string;
  readonly contractId: string;
  /** 0x address. */
  readonly to: string;
  /** 0x-hex. */
  readonly data: string;
  readonly signing: SigningInput;
}

/** How far a transaction is. */
export interface FollowedTransaction {
  /** `open` until it is in a block; `included` is not final before its confirmations. */
  readonly state: "open" | "included" | "failed";
  /** Blocks from its own to the head that was last seen, its own included; 0 without one. */
  readonly confirmations: number;
  /** True once the network's own number of confirmations was reached. */
  readonly isFinal: boolean;
  /** Of a deployment, checksummed. */
  readonly contractAddress: string | null;
  readonly gasUsed: number | null;
  /** Why it failed, for people. */
  readonly reason: string | null;
}

/** A contract of the owner that is on its chain. */
export interface PlacedContract {
  readonly id: string;
  readonly networkId: string;
  /** Checksummed; null until it is deployed. */
  readonly address: string | null;
}

/** What a node answered to one call. */
export type NodeAnswer =
  | { readonly ok: true; readonly result: unknown }
  /** The node ran the call, and it did not succeed. */
  | { readonly ok: false; readonly message: string };

/** Statuses from here on say that the node failed, and not the call. */
const NODE_FAILED = 500;
/** Each takes some 200 KiB. */
const COMPILED_MAX = 16;

export class ContractPort {
  readonly #with: ContractPortDependencies;
  /** By the hash of the source: a prover's verifier is often deployed on several networks, one after the other. */
  readonly #compiled = new LRUCache<string, CompiledContract>({ max: COMPILED_MAX });

  constructor(dependencies: ContractPortDependencies) {
    this.#with = dependencies;
  }

  /**
   * Returns how many blocks make a transaction of the network final.
   * @throws AppError `not_found`, naming the member, for a network or a signer that the owner does not have
   */
  require(owner: Subject, { networkId, signing }: Pick<OwnDeployment, "networkId" | "signing">): number {
    const { confirmationsOf, requireOwnSigner } = this.#with;
    requireSigner(signing);
    const confirmations = found("network_id", "network", () => confirmationsOf(owner, networkId));
    const member = signing.wallet_id === undefined ? "account_id" : "wallet_id";
    found(member, member === "account_id" ? "account" : "wallet", () => requireOwnSigner(owner, signing));
    return confirmations;
  }

  /** Returns the EIP-155 number of a network that the owner may use. Throws `not_found`. */
  chainIdOf(owner: Subject, networkId: string): number {
    return chainIdOf(this.#with.networks.find(owner, networkId));
  }

  /** Returns a contract of the owner by its id. Throws `not_found`. */
  contract(owner: Subject, id: string): PlacedContract {
    const { network_id: networkId, address } = this.#with.repository.require(owner, id).value;
    return { id, networkId, address: address === NO_ADDRESS ? null : address };
  }

  /**
   * Compiles source of this server's own in a process.
   * @throws AppError `source_invalid` with the compiler's words, `internal_error`; the signal's reason
   */
  async compile(source: SolidityRequest, signal: AbortSignal): Promise<CompiledContract> {
    const name = createHash("sha256").update(JSON.stringify(source)).digest("hex");
    const known = this.#compiled.get(name) ?? (await this.#compileAnew(source, signal));
    this.#compiled.set(name, known);
    return known;
  }

  async #compileAnew(source: SolidityRequest, signal: AbortSignal): Promise<CompiledContract> {
    const { tasks, limits } = this.#with;
    const options = { signal, ...(limits === undefined ? {} : { limits }) };
    const outcome = await compileSolidityInProcess(tasks, source, options);
    if (!outcome.settled) {
      signal.throwIfAborted();
      throw new AppError("internal_error", {
        message: "the compiler ended without an answer",
        cause: outcome.failure,
      });
    }
    const { result } = outcome;
    if (result.ok) return result;
    const details = result.diagnostics.map(({ message, code }) => ({ message, code }));
    throw new AppError("source_invalid", { message: details[0]?.message ?? "the source does not compile", details });
  }

  /**
   * Deploys a contract: its record, its transaction and what `alongside` returns are one commit.
   * @throws AppError `contract_limit_reached`, and what submitting throws; StoreConflict of a check of `alongside`
   */
  async deploy(
    owner: Subject,
    { networkId, name, source, compiled, signing }: OwnDeployment,
    alongside: (made: { readonly contractId: string; readonly transactionId: string }) => StoreCommit,
  ): Promise<void> {
    const { repository, deployments, clock } = this.#with;
    if (repository.count(owner) >= CONTRACTS_MAX)
      throw new AppError("contract_limit_reached", {
        message: `an owner has at most ${String(CONTRACTS_MAX)} contracts; delete some first`,
      });
    const now = isoTimestamp(clock.nowMs());
    const { abi, bytecode, params } = artifactOfCompiled(compiled, source, {});
    const draft: StoredContract = {
      ...{ id: newId(), created_at: now, updated_at: now, owner, network_id: networkId, contract_id: null },
      ...{ transaction_id: null, name, address: NO_ADDRESS, type: null, status: "registered" as const },
      ...{ errors: [], token: null, accessed_at: null },
    };
    await deployments.submit({
      ...{ owner, networkId, contractId: draft.id, abi, bytecode, argv: [], argvPath: "params.argv", signing },
      alongside: (submitted) =>
        mergeCommits(
          repository.insertion(deployments.underWay(draft, submitted)),
          repository.putAbi(draft, abi),
          repository.putParams(draft, { name, ...params }),
          alongside({ contractId: draft.id, transactionId: submitted.id }),
        ),
    });
  }

  /**
   * Sends a transaction to a contract; it and what `alongside` returns are one commit.
   * @throws AppError what submitting throws, `execution_reverted` among them
   */
  async send(
    owner: Subject,
    { networkId, contractId, to, data, signing }: OwnCall,
    alongside: (transactionId: string) => StoreCommit,
  ): Promise<void> {
    const signer = requireSigner(signing);
    const ref = signing.ref === undefined ? {} : { ref: signing.ref };
    await this.#with.submissions.submit(owner, { networkId, signer, to, data, contractId, ...ref }, ({ id }) =>
      alongside(id),
    );
  }

  /** Returns how far a transaction of the owner is. Throws `not_found`. */
  transaction(owner: Subject, id: string): FollowedTransaction {
    const { state, confirmations, contract_address, gas_used, error } = this.#with.submissions.get(owner, id);
    const isIncluded = state === "mined" || state === "confirmed";
    const hasFailed = state === "failed" || state === "replaced" || state === "cancelled";
    return {
      state: isIncluded ? "included" : hasFailed ? "failed" : "open",
      confirmations: confirmations ?? 0,
      isFinal: state === "confirmed",
      contractAddress:
        contract_address === null ? null : checksumAddress(Buffer.from(contract_address.slice(2), "hex")),
      gasUsed: gas_used === null ? null : Number(gas_used),
      reason: hasFailed ? (error?.message ?? `the transaction was ${state}`) : null,
    };
  }

  /**
   * Asks the network's nodes, with failover.
   * @throws AppError `network_unreachable`, `network_timeout`, `network_answer_invalid`, `network_chain_mismatch`,
   *   `network_disabled`, `network_has_no_node`, `not_found` where no node gives a sound answer
   */
  async ask(
    owner: Subject,
    networkId: string,
    { calls, signal }: { readonly calls: readonly RpcCall[]; readonly signal: AbortSignal },
  ): Promise<NodeAnswer[]> {
    const { networks } = this.#with;
    const outcomes = await requestMany(networks.rpc(networks.find(owner, networkId)), calls, { signal });
    return outcomes.map((outcome) => {
      if (outcome.ok) return outcome;
      const { error } = outcome;
      if (error instanceof RpcRefusal) return refusedCall(error);
      throw error;
    });
  }

  /** Compiles and deploys by a job of this area; see `ContractCreation.create`. */
  async create(
    principal: Principal,
    request: CreateContract,
    keep?: (made: CreatedContract) => StoreCommit,
  ): Promise<CreatedContract> {
    return await this.#with.creation.create(principal, request, keep);
  }
}

function found<T>(member: string, what: string, find: () => T): T {
  try {
    return find();
  } catch (error) {
    if (error instanceof AppError && error.code === "not_found") throw missingReference(member, what, error);
    throw error;
  }
}

/** What a refusal says of the call; throws where it says something of the node alone. */
function refusedCall(refusal: RpcRefusal): NodeAnswer {
  const failure = executionFailure(refusal);
  if (failure.status >= NODE_FAILED) throw failure;
  return { ok: false, message: failure.message };
}
