/** What holds of the verifier of a scheme on a real node, beside this server and for a stranger. */
import { createHash } from "node:crypto";
import { keccak256, type Hex } from "viem";
import { describe, expect, it } from "vitest";
import { BN254 } from "../../../src/engine/curves/bn254.js";
import type { Verifier } from "../../../src/prover/on-chain/verifier-schemas.js";
import type { ProveResult, Prover } from "../../../src/prover/schemas.js";
import { never, principalOf } from "../support.js";
import { expectStrangerServed } from "./stranger.js";
import type { ChainedRegistry } from "./support.js";

interface Deployed {
  readonly registry: ChainedRegistry;
  /** Id of the account that paid. */
  readonly payer: string;
  /** Of the built-in circuit, named after its scheme. */
  readonly prover: Promise<Prover>;
  readonly verifier: Promise<Verifier>;
}

const YES = `0x${"0".repeat(63)}1`;
const NO = `0x${"0".repeat(64)}`;

/** Describes the verifier of a scheme; `of` is asked once the tests run. */
export function describeVerifier(scheme: "groth16" | "plonk" | "fflonk", of: () => Deployed): void {
  const registry = (): ChainedRegistry => of().registry;
  const prove = async (id: string): Promise<ProveResult> =>
    await registry().provers.prove(registry().owner, id, {
      ...{ inputs: { X: "3", Y: "35" }, format: "solidity", signal: never },
    });
  const askBoth = async (id: string, item: object, networkId?: string) =>
    await registry().provers.verifyOnChain(principalOf(registry().owner), id, {
      ...{ item, store: false, signal: never, networkId },
    });
  const callNode = async (to: string, data: string): Promise<unknown> =>
    await registry().anvil.request("eth_call", { to, data }, "latest");
  const read = async (id: string, name: string): Promise<Uint8Array> => {
    const { sha256 } = await registry().provers.artifact(registry().owner, id, name);
    return await registry().artifacts.read(sha256);
  };

  describe(`the verifier of ${scheme}`, () => {
    it("is deployed, tried and recorded", async () => {
      const prover = await of().prover;
      const verifier = await of().verifier;
      expect(verifier.errors).toEqual([]);
      expect(verifier).toMatchObject({
        ...{
          status: "ready",
          prover_id: prover.id,
          network_id: registry().networkId,
          account_id: of().payer,
          confirmations: 1,
        },
        ...{ name: `My${scheme.charAt(0).toUpperCase()}${scheme.slice(1)}Verifier`, registry: null },
        known_answer: { origin: "sample", proof_id: null, public_signals: ["35"] },
      });
      const code = (await registry().anvil.request("eth_getCode", verifier.address, "latest")) as Hex;
      expect(verifier.code_hash).toBe(keccak256(code));
      const key = await read(prover.id, "verifying_key.json");
      expect(verifier.key_hash).toBe(createHash("sha256").update(key).digest("hex"));
      const { gas_used } = registry().transactions.service.get(registry().owner, verifier.transaction_id ?? "");
      expect(verifier.gas.deployment).toBe(Number(gas_used));
      expect(verifier.gas.verification).toBeGreaterThan(150_000);
      expect(verifier.gas.verification).toBeLessThan(500_000);
      expect(registry().contracts.repository.find(registry().owner, verifier.contract_id ?? "")?.value).toMatchObject({
        ...{ address: verifier.address, status: "deployed", name: verifier.name },
      });
    });

    it("has the gas with which a transaction verifies, and no less", async () => {
      const { address, known_answer: known, gas } = await of().verifier;
      const with_ = async (limit: number): Promise<unknown> =>
        await registry()
          .anvil.request("eth_call", { to: address, data: known?.calldata, gas: `0x${limit.toString(16)}` }, "latest")
          .catch(() => "refused");
      expect(await with_(gas.verification ?? 0)).toBe(YES);
      expect(await with_((gas.verification ?? 0) - 2_000)).not.toBe(YES);
    });

    it("accepts new proofs, and refuses each of their signals under another name", async () => {
      const { id } = await of().prover;
      const { address } = await of().verifier;
      const { solidity } = await prove(id);
      const calldata = solidity?.calldata ?? "";
      expect(await callNode(address ?? "", calldata)).toBe(YES);
      for (const signal of [35n + BN254.r, 36n, BN254.r, 2n ** 256n - 1n])
        expect(await callNode(address ?? "", calldata.slice(0, -64) + signal.toString(16).padStart(64, "0"))).toBe(NO);
    });

    it("agrees with this server on valid and on wrong proofs", async () => {
      const { id } = await of().prover;
      const verifier = await of().verifier;
      const { proof, public_signals } = await prove(id);
      const on_chain = { verifier_id: verifier.id, network_id: registry().networkId, address: verifier.address };
      expect(await askBoth(id, { proof, public_signals })).toEqual({
        result: true,
        on_chain: { ...on_chain, result: true },
      });
      expect(await askBoth(id, { proof, public_signals: ["36"] }, registry().networkId)).toEqual({
        result: false,
        on_chain: { ...on_chain, result: false },
      });
    });

    it("is the same when a stranger compiles and deploys the artifacts, and serves the example of a caller", async () => {
      await expectStrangerServed({ ...registry(), prover: await of().prover, verifier: await of().verifier });
    });
  });
}
