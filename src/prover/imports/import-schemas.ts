/** Shapes of a circuit and keys from outside on the wire. */
import Type, { type Static } from "typebox";
import { Digest, closed } from "../../platform/contract/schemas.js";

export const ImportFile = closed(
  { sha256: Type.Optional(Digest) },
  {
    description:
      "a file that will be uploaded; with `sha256` no other content is taken, and one that the caller's provers have already needs no upload",
  },
);
/** The files of a circuit that was compiled elsewhere, by their names in `/provers/:id/artifacts/:name`. */
export const ImportRequest = closed(
  {
    "circuit.r1cs": Type.Optional(ImportFile),
    "circuit.wasm": Type.Optional(ImportFile),
    "circuit.sym": Type.Optional(ImportFile),
    "proving_key.zkey": Type.Optional(ImportFile),
    "verification_key.json": Type.Optional(ImportFile),
    reference_string: Type.Optional(
      closed(
        { sha256: Digest },
        {
          description:
            "the checked powers-of-tau file of this server from which `proving_key.zkey` must follow. Without it, one that the key follows from is looked for",
        },
      ),
    ),
  },
  {
    description:
      "a circuit compiled elsewhere, in place of `source`: the files that will be uploaded, `circuit.r1cs` and `circuit.wasm` at least. Without `circuit.sym` the signals have no names; without `proving_key.zkey` the server makes the keys. `verification_key.json` alone makes a prover that verifies only",
  },
);
export type ImportRequest = Static<typeof ImportRequest>;
