/** Calls of contracts: the node answers reads at once, and writes become transactions. */
import { PERMISSIONS, holdsAll } from "../../platform/auth/permissions.js";
import type { Principal } from "../../platform/auth/principal.js";
import { AppError, invalidMember } from "../../platform/errors.js";
import { newId } from "../../platform/ids.js";
import type { StoreCommit, StoreValue } from "../../platform/store/store.js";
import type { Networks } from "../networks/network-port.js";
import { RpcRefusal } from "../rpc/rpc.js";
import { signerOf } from "../accounts/signers.js";
import type { SubmissionRequest, Submissions, Submitted } from "../transactions/submission-port.js";
import { findMethod, type ContractAbi, type Method } from "./abi/abi.js";
import { decodeOutputs, encodeArguments } from "./abi/abi-values.js";
import type { ContractAccesses } from "./access-times.js";
import type { ContractAbis } from "./abi/contract-abis.js";
import type { ExecuteContract } from "./contract-schemas.js";
import type { Deployments } from "./deployments.js";
import { NO_ADDRESS, type ContractRepository } from "./contract-repository.js";
import type { StoredContract } from "./contract-records.js";
import { callFailure, hexOf } from "./reverts.js";
import { costsOf, requireSigner } from "./signing-input.js";

interface ExecutionDependencies {
  readonly repository: ContractRepository;
  readonly abis: ContractAbis;
  readonly accesses: ContractAccesses;
  readonly networks: Networks;
  readonly submissions: Submissions;
  readonly deployments: Deployments;
}

type Execution = { readonly kind: "read"; readonly ref: string; readonly response: StoreValue } | Write;
/** A transaction that was submitted. */
export interface Write {
  readonly kind: "write";
  readonly ref: string;
  readonly transactionId: string;
}

/** Returns what goes into the commit of a write's transaction. */
export type KeepWrite = (write: Write) => StoreCommit;

/** EIP-1474. */
const RESOURCE_NOT_FOUND = -32_001;
/** How nodes say that they have no such block: geth, erigon and reth, besu, nethermind, anvil. */
const BLOCK_UNKNOWN =
  /header (for hash )?not found|(unknown|invalid) block|block (\S+ )?(is )?(not found|could not be found)|BlockOutOfRange/i;
const SPEND = PERMISSIONS.create | PERMISSIONS.vault_use;

export class ContractExecutions {
  readonly #dependencies: ExecutionDependencies;

  constructor(dependencies: ExecutionDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Calls a method; an empty method deploys the contract. What `keep` returns is stored with the transaction, if it
   * makes one.
   * @throws AppError `method_unknown`, `method_ambiguous`, `argument_invalid`, `contract_not_deployed`,
   * `execution_reverted` and `out_of_gas` with their reasons, `contract_answer_invalid`, and what networks and
   * submissions throw
   */
  async execute(
    principal: Principal,
    idOrAddress: string,
    request: ExecuteContract,
    keep?: KeepWrite,
  ): Promise<Execution> {
    const { repository, abis, accesses } = this.#dependencies;
    const contract = repository.require(principal.subject, idOrAddress).value;
    // The server has no account that could pay for others.
    if (request.subsidize === true)
      throw new AppError("option_unsupported", {
        message: "this server does not pay for other accounts' gas; leave `subsidize` out",
      });
    signerOf(request);
    accesses.note(contract);
    const args = request.params ?? [];
    const methodName = (request.method ?? "").trim();
    if (methodName === "") {
      requireNoView(request, "a deployment");
      return await this.#deploy(principal, contract, { argv: args, signing: request, keep });
    }
    if (contract.address === NO_ADDRESS)
      throw new AppError("contract_not_deployed", {
        message: `the contract is not deployed; its status is ${contract.status}`,
      });
    const abi = abis.of(contract);
    const method = findMethod(abi, methodName, args.length);
    const data = `${method.selector}${encodeArguments(method.inputs, args, "params").slice(2)}`;
    const isRead = method.mutability === "view" || method.mutability === "pure";
    if (method.mutability !== "payable" && request.value !== undefined && BigInt(request.value) > 0n)
      throw notPayable(method);
    if (isRead)
      return {
        kind: "read",
        ref: request.ref ?? newId(),
        response: await this.#read({ contract, abi, method, data, request }),
      };
    requireNoView(request, method.signature);
    return await this.#write(principal, { contract, abi, method, data, request, keep });
  }

  async #read({
    contract,
    abi,
    method,
    data,
    request,
  }: {
    contract: StoredContract;
    abi: ContractAbi;
    method: Method;
    data: string;
    request: ExecuteContract;
  }): Promise<StoreValue> {
    const { networks } = this.#dependencies;
    const rpc = networks.rpc(networks.find(contract.owner, contract.network_id));
    const from = senderOf(request);
    const call = {
      to: contract.address,
      data,
      ...(from === undefined ? {} : { from }),
      ...(request.gas === undefined ? {} : { gas: `0x${BigInt(request.gas).toString(16)}` }),
    };
    let answer: unknown;
    try {
      answer = await rpc.request("eth_call", [call, blockOf(request.block)]);
    } catch (error) {
      requireBlock(error, request.block);
      throw callFailure(error, abi);
    }
    const hex = hexOf(answer);
    if (hex === undefined)
      throw new AppError("network_answer_invalid", { message: "the node's answer has no valid return data" });
    const response = decodeOutputs(method.outputs, hex);
    if (response === undefined) {
      const why =
        hex === "0x" ? "no data, as an address without code does" : "data that does not match the contract's ABI";
      throw new AppError("contract_answer_invalid", { message: `${method.signature} returned ${why}` });
    }
    return response;
  }

  async #write(
    principal: Principal,
    {
      contract,
      abi,
      method,
      data,
      request,
      keep,
    }: {
      contract: StoredContract;
      abi: ContractAbi;
      method: Method;
      data: string;
      request: ExecuteContract;
      keep: KeepWrite | undefined;
    },
  ): Promise<Execution> {
    requireSpending(principal);
    const signer = requireSigner(request);
    const submission: SubmissionRequest = {
      networkId: contract.network_id,
      signer,
      to: contract.address,
      data,
      contractId: contract.id,
      ...(method.outputs.length === 0 ? {} : { readReturn: returnReader(method) }),
      ...costsOf(request),
    };
    try {
      const alongside = (submitted: Submitted): StoreCommit => keep?.(writeOf(submitted)) ?? {};
      return writeOf(await this.#dependencies.submissions.submit(contract.owner, submission, alongside));
    } catch (error) {
      throw callFailure(error, abi);
    }
  }

  async #deploy(
    principal: Principal,
    contract: StoredContract,
    { argv, signing, keep }: { argv: readonly unknown[]; signing: ExecuteContract; keep: KeepWrite | undefined },
  ): Promise<Execution> {
    requireSpending(principal);
    const alongside = (submitted: Submitted): StoreCommit => keep?.(writeOf(submitted)) ?? {};
    const plan = { argv, signing, alongside };
    return writeOf(await this.#dependencies.deployments.deployKnown(contract.owner, contract.id, plan));
  }
}

function writeOf({ id, ref }: Submitted): Write {
  return { kind: "write", ref, transactionId: id };
}

/** Throws `forbidden` unless the caller may sign with a key of the vault, as every transaction does. */
function requireSpending(principal: Principal): void {
  if (!holdsAll(principal.permissions, SPEND))
    throw new AppError("forbidden", { message: "a transaction needs the permissions create, vault_use" });
}

/** Reads the return data of a simulated call. */
function returnReader({ outputs, signature }: Method): NonNullable<SubmissionRequest["readReturn"]> {
  return (data) => {
    const hex = hexOf(data);
    const value = hex === undefined ? undefined : decodeOutputs(outputs, hex);
    return value === undefined ? undefined : { method: signature, value };
  };
}

/** Throws `option_unsupported` for members that only view methods have: a transaction has its own sender and block. */
function requireNoView(request: ExecuteContract, what: string): void {
  for (const member of ["from", "block"] as const)
    if (request[member] !== undefined)
      throw invalidMember(member, `${member}: is for view methods, and ${what} is a transaction`, "option_unsupported");
}

/** The sender that a view method sees. Throws `invalid_request` when a request names two. */
function senderOf(request: ExecuteContract): string | undefined {
  const signer = signerOf(request);
  if (signer === undefined) return request.from;
  if (request.from !== undefined)
    throw invalidMember("from", "from: give a sender or a signer, which a view method sees as its sender, not both");
  return "accountAddress" in signer ? signer.accountAddress : undefined;
}

/** Returns a block as eth_call takes it: a number in hex, a tag, or a hash (EIP-1898). */
function blockOf(block: ExecuteContract["block"] = "latest"): string | { readonly blockHash: string } {
  if (typeof block === "number") return `0x${block.toString(16)}`;
  return block.startsWith("0x") ? { blockHash: block } : block;
}

/** Throws `invalid_request` when a node refused a call because it has not got the block that the caller named. */
function requireBlock(error: unknown, block: ExecuteContract["block"]): void {
  const refusal = error instanceof AppError ? error.cause : error;
  const isNamed = typeof block === "number" || block?.startsWith("0x") === true;
  if (!isNamed || !(refusal instanceof RpcRefusal)) return;
  if (refusal.code === RESOURCE_NOT_FOUND || BLOCK_UNKNOWN.test(refusal.message))
    throw invalidMember("block", "block: the network's node has no such block");
}

function notPayable({ signature }: Method): AppError {
  return invalidMember("value", `${signature} takes no value`, "argument_invalid");
}
