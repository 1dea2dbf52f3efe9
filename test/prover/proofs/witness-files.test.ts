/** Whole witnesses as files in a body: proved as inputs are, bounded by the circuit, the owner and the server. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { wtnsFile } from "../../../src/engine/analysis/wtns.js";
import { computeWitness } from "../../../src/engine/circuit/witness.js";
import { checkInputs } from "../../../src/engine/circuit/inputs.js";
import { scalarFieldOf, type CircuitInterface } from "../../../src/engine/circuit/interface.js";
import type { StreamedBody } from "../../../src/platform/contract/streamed-body.js";
import { AppError } from "../../../src/platform/errors.js";
import { WitnessFiles } from "../../../src/prover/proofs/witness-files.js";
import type { ProveResult } from "../../../src/prover/schemas.js";
import { subject } from "../../vault/support.js";
import { failureOf, never, openTestRegistry, principalOf, provision, type TestRegistry } from "../support.js";

const owner = subject();
const FIELD = scalarFieldOf("BN254");

let test: TestRegistry;
let id: string;
let file: Uint8Array;

beforeAll(async () => {
  test = await openTestRegistry();
  ({ id } = await provision(test.provers, owner));
  file = await witness({ X: "3", Y: "35" });
});
afterAll(async () => {
  await test.close();
});

async function artifact(name: string): Promise<Uint8Array> {
  const { sha256 } = await test.provers.artifact(owner, id, name, never);
  return await test.artifacts.read(sha256);
}

/** The file that snarkjs would make of inputs. */
async function witness(inputs: object): Promise<Uint8Array> {
  const circuit = JSON.parse(Buffer.from(await artifact("interface.json")).toString()) as CircuitInterface;
  const program = await WebAssembly.compile(Uint8Array.from(await artifact("circuit.wasm")));
  const checked = checkInputs(circuit, inputs);
  if (!checked.ok) throw new Error(checked.details[0]?.message);
  const computed = computeWitness(program, circuit, checked.values);
  if (!computed.ok) throw new Error(computed.message);
  return wtnsFile(computed.witness, FIELD);
}

/** A body in pieces. */
function bodyOf(bytes: Uint8Array, given: Partial<StreamedBody> = {}): StreamedBody {
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < bytes.length; at += 50) {
      await Promise.resolve();
      yield bytes.subarray(at, at + 50);
    }
  }
  return { bytes: bytes.length, part: undefined, sha256: undefined, chunks: chunks(), ...given };
}

const prove = async (body: StreamedBody, caller = owner): Promise<ProveResult> =>
  await test.provers.proveFile(caller, id, { body, format: undefined, signal: never });

describe("a witness in a body", () => {
  it("is proved as its inputs are", async () => {
    const made = await prove(bodyOf(file));
    expect(made.public_signals).toEqual(["35"]);
    expect(await test.provers.verify(principalOf(owner), id, { item: made, store: false, signal: never })).toBe(true);
  });

  it("is refused by what is wrong with it, before it is read where that can be told", async () => {
    const unread = (bytes: number, given: Partial<StreamedBody> = {}): StreamedBody => ({
      ...bodyOf(new Uint8Array()),
      ...{ bytes, ...given },
      chunks: {
        [Symbol.asyncIterator]: () => {
          throw new Error("the body was read");
        },
      },
    });
    expect((await failureOf(async () => await prove(unread(0)))).code).toBe("witness_missing");
    expect((await failureOf(async () => await prove(unread(file.length + 10_000)))).code).toBe("body_too_large");
    const part = { start: 0, total: 2 * file.length };
    expect((await failureOf(async () => await prove(unread(file.length, { part })))).code).toBe("invalid_request");
    expect((await failureOf(async () => await prove(unread(file.length), subject()))).code).toBe("not_found");
    expect((await failureOf(async () => await prove(bodyOf(file.slice(1))))).code).toBe("witness_invalid");
    const wrong = Uint8Array.from(file);
    wrong[wrong.length - 32] = (wrong[wrong.length - 32] ?? 0) ^ 1;
    expect((await failureOf(async () => await prove(bodyOf(wrong)))).code).toBe("constraints_unsatisfied");
  });
});

describe("the memory of witnesses", () => {
  const [ada, eve] = [subject(), subject()];

  /** Holds a file until the returned function is called. */
  function held(files: WitnessFiles, who: typeof ada, bytes: number): { end: () => void; done: Promise<unknown> } {
    let end = (): void => undefined;
    const until = new Promise<void>((resolve) => (end = resolve));
    const done = files.hold(who, { body: bodyOf(new Uint8Array(bytes)), bytesMax: 1000 }, async () => {
      await until;
    });
    return { end, done };
  }

  it("is bounded for each owner and for all, and free again after whatever happens", async () => {
    const files = new WitnessFiles({ bytesMax: 300, bytesPerOwnerMax: 200 });
    const hold = async (who: typeof ada, bytes: number, given: Partial<StreamedBody> = {}): Promise<number> =>
      await files.hold(
        who,
        { body: bodyOf(new Uint8Array(bytes), given), bytesMax: 1000 },
        async (held) => held.length,
      );
    const first = held(files, ada, 150);
    expect((await failureOf(async () => await hold(ada, 60))).code).toBe("overloaded");
    const second = held(files, eve, 100);
    expect((await failureOf(async () => await hold(subject(), 60))).code).toBe("overloaded");
    expect((await failureOf(async () => await hold(ada, 201))).code).toBe("body_too_large");
    first.end();
    await first.done;
    const broken = async function* (): AsyncGenerator<Uint8Array> {
      yield await Promise.resolve(new Uint8Array(10));
      throw new AppError("malformed_request", { message: "the body ended early" });
    };
    expect((await failureOf(async () => await hold(ada, 200, { chunks: broken() }))).code).toBe("malformed_request");
    expect(await hold(ada, 200)).toBe(200);
    second.end();
    await second.done;
    expect(await hold(eve, 200)).toBe(200);
  });
});
