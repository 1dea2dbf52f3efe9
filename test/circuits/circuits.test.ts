import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createHash } from "node:crypto";
import { babyjubjub } from "@noble/curves/misc.js";
import { LeanIMT } from "@zk-kit/lean-imt";
import { beforeAll, describe, expect, it } from "vitest";
import { poseidonPair, poseidonTriple } from "../../src/crypto/hashes/poseidon.js";
import { findUnsatisfied } from "../../src/engine/circuit/satisfaction.js";
import { checkInputs } from "../../src/engine/circuit/inputs.js";
import { publicSignalsFrom, readCircuitInterface } from "../../src/engine/circuit/interface.js";
import type { CircuitInterface } from "../../src/engine/circuit/interface.js";
import { readR1cs } from "../../src/engine/circuit/r1cs.js";
import type { R1cs } from "../../src/engine/circuit/r1cs.js";
import { computeWitness } from "../../src/engine/circuit/witness.js";
import type { WitnessResult } from "../../src/engine/circuit/witness.js";
import { inclusionInputs } from "../../src/engine/merkle/circuit-inputs.js";
import { proveInclusion } from "../../src/engine/merkle/dense-proofs.js";
import { noteLeaf } from "../../src/engine/merkle/note-tree.js";
import { PACKAGE_ROOT } from "../../src/platform/files/package-root.js";
import { readBuiltIn } from "../support/compiled-circuits.js";
import { MemoryDenseTree } from "../support/trees.js";

type Inputs = Record<string, string | string[]>;

const FOLDER = join(PACKAGE_ROOT, "circuits");
const IDENTIFIERS = [
  "cubic",
  "mimc",
  "preimage_hash",
  "poseidon_preimage",
  "merkle_membership",
  "eddsa_signature",
  "range_proof",
  "sha256_preimage",
  "semaphore",
  "ownership",
];
const README = readFileSync(join(FOLDER, "README.md"), "utf8");

class BuiltIn {
  readonly r1cs: R1cs;
  readonly circuit: CircuitInterface;
  readonly program: WebAssembly.Module;

  constructor(r1cs: R1cs, circuit: CircuitInterface, program: WebAssembly.Module) {
    this.r1cs = r1cs;
    this.circuit = circuit;
    this.program = program;
  }

  static async load(identifier: string): Promise<BuiltIn> {
    const result = await readBuiltIn(identifier);
    const r1cs = readR1cs(result.r1cs);
    return new BuiltIn(r1cs, readCircuitInterface(r1cs, result.sym), new WebAssembly.Module(result.wasm));
  }

  run(inputs: Inputs): WitnessResult {
    const checked = checkInputs(this.circuit, inputs);
    if (!checked.ok) throw new Error(JSON.stringify(checked.details));
    return computeWitness(this.program, this.circuit, checked.values);
  }

  accepts(inputs: Inputs): boolean {
    const result = this.run(inputs);
    return result.ok && findUnsatisfied(this.r1cs, result.witness) === undefined;
  }
}

function inputsOf(identifier: string): { satisfying: Inputs; violating: Inputs } {
  return JSON.parse(readFileSync(join(FOLDER, identifier, "inputs.json"), "utf8")) as {
    satisfying: Inputs;
    violating: Inputs;
  };
}

function changed(inputs: Inputs, name: string, index: number, value: string): Inputs {
  const list = inputs[name] as string[];
  return { ...inputs, [name]: list.map((item, i) => (i === index ? value : item)) };
}

const builtIns = new Map<string, BuiltIn>();

beforeAll(async () => {
  for (const identifier of IDENTIFIERS) builtIns.set(identifier, await BuiltIn.load(identifier));
});

function builtIn(identifier: string): BuiltIn {
  return builtIns.get(identifier)!;
}

it("lists every folder of circuits/", () => {
  const folders = readdirSync(FOLDER, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
  expect(folders.sort()).toEqual([...IDENTIFIERS].sort());
});

describe.each(IDENTIFIERS)("circuit %s", (identifier) => {
  it("turns its satisfying inputs into a witness that satisfies every constraint", () => {
    const { satisfying } = inputsOf(identifier);
    const result = builtIn(identifier).run(satisfying);
    expect(result.ok).toBe(true);
    const { r1cs, circuit } = builtIn(identifier);
    expect(result.ok && findUnsatisfied(r1cs, result.witness)).toBeUndefined();
    // The public wires carry what the caller stated.
    const checked = checkInputs(circuit, satisfying, { publicOnly: true });
    const stated = checked.ok ? publicSignalsFrom(circuit, checked.values) : [];
    const carried = stated.map((_, i) =>
      result.ok
        ? BigInt(
            `0x${Buffer.from(result.witness.slice(32 * (i + 1), 32 * (i + 2)))
              .reverse()
              .toString("hex")}`,
          )
        : -1n,
    );
    expect(carried).toEqual(stated);
  });

  it("refuses its violating inputs, naming template and line", () => {
    expect(builtIn(identifier).run(inputsOf(identifier).violating)).toMatchObject({
      ok: false,
      code: "constraints_unsatisfied",
      details: [
        { path: expect.stringMatching(/^\w+:\d+$/) as unknown },
        ...(identifier === "eddsa_signature" ? [{}, {}] : identifier === "range_proof" ? [{}] : []),
      ],
    });
  });

  it("ties every input to a constraint", () => {
    const { r1cs } = builtIn(identifier);
    const inputs = r1cs.outputCount + r1cs.publicInputCount + r1cs.privateInputCount;
    const { a, b, c } = r1cs.constraints;
    const used = new Set([0, ...a.wires, ...b.wires, ...c.wires]);
    const loose = Array.from({ length: r1cs.wireCount }, (_, wire) => wire).filter(
      (wire) => !used.has(wire) && r1cs.wireLabels[wire]! <= inputs,
    );
    expect(loose).toEqual([]);
  });

  it("has its row in the README with the true number of constraints and public signals", () => {
    const { r1cs } = builtIn(identifier);
    const row = README.split("\n").find((line) => line.split("|")[1]?.trim() === `\`${identifier}\``) ?? "";
    const cells = row.split("|").map((cell) => cell.trim());
    expect(cells[3]).toBe(r1cs.constraintCount.toLocaleString("en"));
    for (const { name, visibility } of builtIn(identifier).circuit.signals)
      expect(cells[visibility === "private" ? 5 : 4], name).toContain(`\`${name}`);
  });
});

describe("cubic", () => {
  it("holds for X = 0 and for the root that needs reduction, and for nothing next to them", () => {
    expect(builtIn("cubic").accepts({ X: "0", Y: "5" })).toBe(true);
    const last = 21888242871839275222246405745257275088548364400416034343698204186575808495616n;
    expect(builtIn("cubic").accepts({ X: last.toString(), Y: "3" })).toBe(true);
    expect(builtIn("cubic").accepts({ X: last.toString(), Y: "4" })).toBe(false);
  });
});

describe("merkle_membership", () => {
  const { satisfying } = inputsOf("merkle_membership");

  it("refuses a sibling, a direction or a root of another path", () => {
    const flipped = (satisfying["PathIndices"] as string[])[7] === "0" ? "1" : "0";
    expect(builtIn("merkle_membership").accepts(changed(satisfying, "PathIndices", 7, flipped))).toBe(false);
    expect(builtIn("merkle_membership").accepts(changed(satisfying, "PathElements", 19, "1"))).toBe(false);
    expect(builtIn("merkle_membership").accepts({ ...satisfying, Root: "1" })).toBe(false);
  });

  it("refuses a direction that is neither 0 nor 1", () => {
    expect(builtIn("merkle_membership").run(changed(satisfying, "PathIndices", 0, "2"))).toMatchObject({
      ok: false,
      details: [{ path: "MerkleMembership:17" }],
    });
  });
});

describe("eddsa_signature", () => {
  const { satisfying } = inputsOf("eddsa_signature");
  /** Order of Baby Jubjub's subgroup (EIP-2494). */
  const SUBGROUP = 2736030358979909402780800718157159386076813972158567259200215660948447373041n;

  it("refuses S plus the subgroup's order, which is the same signature in another dress", () => {
    expect(
      builtIn("eddsa_signature").accepts({
        ...satisfying,
        S: (BigInt(satisfying["S"] as string) + SUBGROUP).toString(),
      }),
    ).toBe(false);
  });

  it("refuses another key, another R8 and another S", () => {
    for (const name of ["PublicKey", "R8"])
      expect(
        builtIn("eddsa_signature").accepts({ ...satisfying, [name]: [...(satisfying[name] as string[])].reverse() }),
        name,
      ).toBe(false);
    expect(builtIn("eddsa_signature").accepts({ ...satisfying, S: "1" })).toBe(false);
  });
});

describe("range_proof", () => {
  const { satisfying } = inputsOf("range_proof");

  it("takes both ends of the range and refuses one beyond each", () => {
    for (const [minimum, maximum, expected] of [
      ["30", "30", true],
      ["31", "120", false],
      ["0", "29", false],
      ["0", "18446744073709551615", true],
    ] as const) {
      expect(
        builtIn("range_proof").accepts({ ...satisfying, Minimum: minimum, Maximum: maximum }),
        `${minimum} to ${maximum}`,
      ).toBe(expected);
    }
  });

  it("refuses bounds of more than 64 bits and bounds that wrap around", () => {
    const last = (21888242871839275222246405745257275088548364400416034343698204186575808495617n - 1n).toString();
    expect(builtIn("range_proof").accepts({ ...satisfying, Maximum: "18446744073709551616" })).toBe(false);
    expect(builtIn("range_proof").accepts({ ...satisfying, Minimum: last })).toBe(false);
  });

  it("refuses a value or a blinding other than the committed one", () => {
    expect(builtIn("range_proof").accepts({ ...satisfying, Value: "31" })).toBe(false);
    expect(builtIn("range_proof").accepts({ ...satisfying, Blinding: "1" })).toBe(false);
  });
});

describe("semaphore", () => {
  const { satisfying } = inputsOf("semaphore");
  const accepts = (inputs: Inputs): boolean => builtIn("semaphore").accepts({ ...satisfying, ...inputs });
  /** Order of Baby Jubjub's subgroup (EIP-2494). */
  const SUBGROUP = 2736030358979909402780800718157159386076813972158567259200215660948447373041n;
  const commitmentOf = (secret: bigint): bigint => {
    const { x, y } = babyjubjub.Point.BASE.multiply(secret).toAffine();
    return poseidonPair(x, y);
  };

  it("takes the proofs of zk-kit's LeanIMT, for each member of groups of any size", () => {
    for (const size of [1, 2, 5, 9]) {
      const secrets = Array.from({ length: size }, (_, i) => 1000n + BigInt(i));
      const group = new LeanIMT<bigint>((a, b) => poseidonPair(a, b), secrets.map(commitmentOf));
      for (const index of new Set([0, size >> 1, size - 1])) {
        const { siblings, root, index: path } = group.generateProof(index);
        const inputs = {
          ...{ secret: String(secrets[index]), scope: "9", message: "0", merkleRoot: root.toString() },
          nullifier: poseidonPair(9n, secrets[index]!).toString(),
          ...{ merkleProofLength: String(siblings.length), merkleProofIndex: String(path) },
          merkleProofSiblings: Array.from({ length: 20 }, (_, i) => (siblings[i] ?? 0n).toString()),
        };
        const name = `member ${String(index)} of ${String(size)}`;
        expect(accepts(inputs), name).toBe(true);
        expect(accepts({ ...inputs, merkleProofLength: String(siblings.length + 1) }), name).toBe(false);
      }
    }
  });

  it("refuses another secret, root, nullifier, scope and length", () => {
    for (const name of ["secret", "merkleRoot", "nullifier", "scope"])
      expect(accepts({ [name]: "7" }), name).toBe(false);
    for (const length of ["0", "2", "20", "21"]) expect(accepts({ merkleProofLength: length }), length).toBe(false);
    expect(accepts(changed(satisfying, "merkleProofSiblings", 1, "1"))).toBe(false);
  });

  it("refuses the secret plus the subgroup's order, which would be a second nullifier of one identity", () => {
    const secret = BigInt(satisfying["secret"] as string);
    for (let times = 1n; times < 8n; times += 1n) {
      const other = secret + times * SUBGROUP;
      const nullifier = poseidonPair(BigInt(satisfying["scope"] as string), other).toString();
      expect(accepts({ secret: other.toString(), nullifier }), String(times)).toBe(false);
    }
  });

  it("takes any message, which only the proof is tied to", () => {
    for (const message of ["0", "12345678901234567890"]) expect(accepts({ message })).toBe(true);
  });
});

describe("ownership", () => {
  const { satisfying } = inputsOf("ownership");
  const accepts = (inputs: Inputs): boolean => builtIn("ownership").accepts({ ...satisfying, ...inputs });

  it("takes the notes of a note tree with the proofs that its store gives", () => {
    const tree = new MemoryDenseTree(32);
    const digests = ["a", "b", "c"].map((text) => createHash("sha256").update(text).digest("hex"));
    tree.append(digests.map((digest) => noteLeaf(digest)));
    for (const [index, digest] of digests.entries()) {
      const { Index, Siblings } = inclusionInputs(proveInclusion(tree, { index, size: 3 }));
      const note = [digest.slice(0, 32), digest.slice(32)].map((half) => BigInt(`0x${half}`)) as [bigint, bigint];
      const inputs = {
        ...{ Root: `0x${tree.state.root}`, Scope: "4", Message: "5", Note: note.map(String) },
        Nullifier: poseidonTriple([...note, 4n]).toString(),
        ...{ Index: Index as string, Siblings: Siblings as string[] },
      };
      expect(accepts(inputs), String(index)).toBe(true);
      expect(accepts({ ...inputs, Root: `0x${tree.roots[2]!}` }), String(index)).toBe(false);
    }
  });

  it("refuses another note, root, nullifier, scope and sibling", () => {
    for (const name of ["Root", "Nullifier", "Scope"]) expect(accepts({ [name]: "7" }), name).toBe(false);
    expect(accepts(changed(satisfying, "Note", 0, "7"))).toBe(false);
    expect(accepts(changed(satisfying, "Siblings", 31, "7"))).toBe(false);
    expect(accepts({ Note: [...(satisfying["Note"] as string[])].reverse() })).toBe(false);
  });

  it("refuses an index beyond the tree, which would be another name of the place", () => {
    expect(accepts({ Index: String(2 ** 32 + 1) })).toBe(false);
  });
});

describe("sha256_preimage", () => {
  it("agrees with SHA-256 (FIPS 180-4) on messages of 64 bytes", () => {
    for (const message of [
      Buffer.alloc(64),
      Buffer.alloc(64, 255),
      createHash("sha512").update("a message").digest(),
    ]) {
      const digest = createHash("sha256").update(message).digest("hex");
      const inputs = {
        Preimage: [...message].map(String),
        Hash: [`0x${digest.slice(0, 32)}`, `0x${digest.slice(32)}`],
      };
      expect(builtIn("sha256_preimage").accepts(inputs), digest).toBe(true);
    }
  });

  it("refuses a byte of 256", () => {
    const { satisfying } = inputsOf("sha256_preimage");
    expect(builtIn("sha256_preimage").accepts(changed(satisfying, "Preimage", 0, "256"))).toBe(false);
  });

  it("refuses the halves of the digest in the wrong order", () => {
    const { satisfying } = inputsOf("sha256_preimage");
    expect(
      builtIn("sha256_preimage").accepts({ ...satisfying, Hash: [...(satisfying["Hash"] as string[])].reverse() }),
    ).toBe(false);
  });
});
