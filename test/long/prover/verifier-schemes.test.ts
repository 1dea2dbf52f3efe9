/** The verifiers of PLONK and FFLONK, whose contracts take long to compile. */
import { afterAll, beforeAll } from "vitest";
import type { Verifier } from "../../../src/prover/on-chain/verifier-schemas.js";
import type { Prover } from "../../../src/prover/schemas.js";
import { describeVerifier } from "../../prover/on-chain/scheme-suite.js";
import { openChainedRegistry, type ChainedRegistry } from "../../prover/on-chain/support.js";
import { provision } from "../../prover/support.js";

let registry: ChainedRegistry;
let payer: string;

beforeAll(async () => {
  registry = await openChainedRegistry();
  payer = (await registry.account()).id;
});
afterAll(async () => {
  await registry.close();
});

for (const scheme of ["plonk", "fflonk"] as const) {
  let prover: Promise<Prover> | undefined;
  let verifier: Promise<Verifier> | undefined;
  describeVerifier(scheme, () => {
    prover ??= provision(registry.provers, registry.owner, { proving_scheme: scheme, name: `my ${scheme}` });
    verifier ??= prover.then(async ({ id }) => await registry.deploy(id, { account_id: payer }));
    return { registry, payer, prover, verifier };
  });
}
