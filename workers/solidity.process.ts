/** Process that compiles untrusted Solidity; src/chain/contracts/builds/solidity-task.ts starts it with its limits. */
import { runProcessEntry } from "../src/engine/process/process-entry.js";
import { compileSolidity, type SolidityRequest, type SolidityResult } from "../src/engine/solidity/compile-solidity.js";

await runProcessEntry((request: SolidityRequest): Promise<SolidityResult> => Promise.resolve(compileSolidity(request)));
