/**
 * Deploys contracts: builds the init code, submits it in one commit with the contract's record, and writes the outcome
 * into the record in the same commit as the settlement of its transaction.
 */
import type { Hex } from "../hex.js";
import type { Subject } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { AppError } from "../../platform/errors.js";
import type { StoreCommit, StoreRecord } from "../../platform/store/store.js";
import { mergeCommits, retryOnConflict } from "../../platform/store/tables.js";
import { checksumAddress } from "../../crypto/ethereum/address.js";
import type { Networks } from "../networks/network-port.js";
import type { Rpc } from "../rpc/rpc.js";
import type { Settlement, Submissions, Submitted } from "../transactions/submission-port.js";
import { constructorOf, type ContractAbi } from "./abi/abi.js";
import { encodeArguments } from "./abi/abi-values.js";
import type { ContractAbis } from "./abi/contract-abis.js";
import { tokenMetadata, typeByCalls } from "./builds/detection.js";
import { callFailure } from "./reverts.js";
import { isToken, NO_ADDRESS, type ContractRepository } from "./contract-repository.js";
import type { StoredContract, TokenFacts } from "./contract-records.js";
import { costsOf, requireSigner, type SigningInput } from "./signing-input.js";

interface DeploymentDependencies {
  readonly repository: ContractRepository;
  readonly abis: ContractAbis;
  readonly networks: Networks;
  readonly submissions: Submissions;
  readonly clock: Clock;
}

interface DeploymentRequest {
  readonly owner: Subject;
  readonly networkId: string;
  readonly contractId: string;
  readonly abi: ContractAbi;
  readonly bytecode: Hex;
  /** Constructor arguments. */
  readonly argv: readonly unknown[];
  /** The member of the request that has them, for errors. */
  readonly argvPath: string;
  readonly signing: SigningInput;
  /** Builds what is committed together with the transaction. */
  readonly alongside: (submitted: Submitted) => StoreCommit;
}

/** The deployment of a contract that has a record. */
export interface KnownDeployment {
  /** Arguments of the constructor. */
  readonly argv: readonly unknown[];
  readonly signing: SigningInput;
  /** Builds what else is committed together with the transaction. */
  readonly alongside?: (submitted: Submitted) => StoreCommit;
}

const NO_FACTS: TokenFacts = { name: null, symbol: null, decimals: null, sale_contract_id: null, sale_address: null };

export class Deployments {
  readonly #dependencies: DeploymentDependencies;

  constructor(dependencies: DeploymentDependencies) {
    this.#dependencies = dependencies;
    dependencies.submissions.onSettled((settlement) => this.#settle(settlement));
  }

  /**
   * Submits the transaction that deploys a contract.
   * @throws AppError `argument_invalid`, `signer_not_found`, `execution_reverted` with its reason decoded, and what
   * submitting throws
   */
  async submit({
    owner,
    networkId,
    contractId,
    abi,
    bytecode,
    argv,
    argvPath,
    signing,
    alongside,
  }: DeploymentRequest): Promise<Submitted> {
    const signer = requireSigner(signing);
    const { inputs } = constructorOf(abi);
    const data = `${bytecode}${encodeArguments(inputs, argv, argvPath).slice(2)}`;
    try {
      return await this.#dependencies.submissions.submit(
        owner,
        { networkId, signer, data, contractId, ...costsOf(signing) },
        alongside,
      );
    } catch (error) {
      throw callFailure(error, abi);
    }
  }

  /**
   * Deploys a contract that has a record and is not on its chain.
   * @throws AppError `contract_deployed`, `conflict` while it is compiled or deployed, `bytecode_invalid`
   */
  async deployKnown(
    owner: Subject,
    contractId: string,
    { argv, signing, alongside: kept }: KnownDeployment,
  ): Promise<Submitted> {
    const { repository, abis } = this.#dependencies;
    return await retryOnConflict(async () => {
      const current = repository.require(owner, contractId);
      const { status, address, network_id: networkId } = current.value;
      if (address !== NO_ADDRESS)
        throw new AppError("contract_deployed", { message: "the contract is deployed; name the method to call" });
      if (status === "compiling" || status === "deploying")
        throw new AppError("conflict", { message: `the contract is ${status} already` });
      const bytecode = repository.params(owner, contractId)?.bytecode ?? null;
      if (bytecode === null)
        throw new AppError("bytecode_invalid", { message: "the contract has no bytecode that could be deployed" });
      const alongside = (submitted: Submitted): StoreCommit =>
        mergeCommits(repository.update(current, this.underWay(current.value, submitted)), kept?.(submitted) ?? {});
      return await this.submit({
        owner,
        networkId,
        contractId,
        abi: abis.of(current.value),
        bytecode: bytecode as Hex,
        argv,
        argvPath: "params",
        signing,
        alongside,
      });
    });
  }

  /** Returns the record of a contract whose deployment was submitted. */
  underWay(contract: StoredContract, { id }: Submitted): StoredContract {
    return {
      ...contract,
      status: "deploying",
      transaction_id: id,
      errors: [],
      updated_at: isoTimestamp(this.#dependencies.clock.nowMs()),
    };
  }

  /**
   * Asks the network's node which kind of token the contract at an address is, unless its type is known, and what the
   * token says of itself. `undescribed` is set where no node answered.
   */
  async describe({
    owner,
    network_id: networkId,
    address,
    type,
  }: Pick<StoredContract, "owner" | "network_id" | "address" | "type">): Promise<
    Pick<StoredContract, "type" | "token" | "undescribed">
  > {
    let found = type;
    try {
      const rpc = this.#rpcOf(owner, networkId);
      if (rpc === undefined) return { type, token: isToken({ type }) ? NO_FACTS : null, undescribed: true };
      found = type ?? (await typeByCalls(rpc, address)) ?? null;
      return {
        type: found,
        token: isToken({ type: found }) ? { ...NO_FACTS, ...(await tokenMetadata(rpc, address)) } : null,
      };
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return { type: found, token: isToken({ type: found }) ? NO_FACTS : null, undescribed: true };
    }
  }

  #rpcOf(owner: Subject, networkId: string): Rpc | undefined {
    const { networks } = this.#dependencies;
    try {
      return networks.rpc(networks.find(owner, networkId));
    } catch (error) {
      // The network is disabled, deleted or without a URL; the contract can be described later.
      if (error instanceof AppError) return undefined;
      throw error;
    }
  }

  /** Called at least once for each settlement; the record shows whether its outcome is written already. */
  async #settle({
    owner,
    contractId,
    transactionId,
    outcome,
    contractAddress,
    reason,
  }: Settlement): Promise<StoreCommit> {
    const { repository } = this.#dependencies;
    const current = contractId === undefined ? undefined : repository.find(owner, contractId);
    if (current?.value.transaction_id !== transactionId) return {};
    if (outcome === "success" && contractAddress !== undefined) return await this.#deployed(current, contractAddress);
    const message = reason ?? "the deployment failed";
    if (current.value.status === "failed") return {};
    return repository.update(
      current,
      this.#changed(current.value, {
        status: "failed",
        address: NO_ADDRESS,
        errors: [{ message, code: "deployment_failed" }],
      }),
    );
  }

  async #deployed(current: StoreRecord<StoredContract>, contractAddress: string): Promise<StoreCommit> {
    const { repository } = this.#dependencies;
    const address = checksumAddress(Buffer.from(contractAddress.slice(2), "hex"));
    if (current.value.status === "deployed" && current.value.address === address) return {};
    const described = await this.describe({ ...current.value, address });
    // The record may have been used or renamed while the node was asked.
    const latest = repository.find(current.value.owner, current.value.id);
    if (latest?.value.transaction_id !== current.value.transaction_id) return {};
    return repository.update(
      latest,
      this.#changed(latest.value, { status: "deployed", address, errors: [], ...described }),
    );
  }

  #changed(contract: StoredContract, change: Partial<StoredContract>): StoredContract {
    return { ...contract, ...change, updated_at: isoTimestamp(this.#dependencies.clock.nowMs()) };
  }
}
