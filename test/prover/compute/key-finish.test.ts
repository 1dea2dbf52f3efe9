/** What is done for an open key after its first proof, on a pool that answers as the test says. */
import { describe, expect, it } from "vitest";
import type { OpenKey } from "../../../src/engine/protocol.js";
import { AppError } from "../../../src/platform/errors.js";
import { KeyFinish, type HoldKey } from "../../../src/prover/compute/keys/key-finish.js";
import type { KeyImages } from "../../../src/prover/compute/keys/key-images.js";
import { recordedLog } from "../../support/silent-log.js";

const ROOM = { workspaces: 1, tableBytesMax: 1 };
const PIN = { find: () => Promise.resolve(undefined), keep: () => Promise.resolve() };
const held: HoldKey = async (work) => {
  await work();
  return true;
};

/** A key with room for tables that three tasks write; a number is where one stops, an error is what the pool throws. */
function finishOf(answers: (number | null | Error)[]) {
  const done: (number | string)[] = [];
  const openKey = { id: "a", key: { tables: { state: 64 } } } as unknown as OpenKey;
  const log = recordedLog();
  const finish = new KeyFinish(
    { file: { system: "groth16/BN254", provingKey: { sha256: "0".repeat(64), pin: PIN } }, openKey, room: ROOM },
    {
      log,
      images: { keep: () => Promise.resolve(done.push("image")) } as unknown as KeyImages,
      pools: {
        run: ((_pool: string, _task: string, { from }: { readonly from: number }) => {
          done.push(from);
          const answer = answers.shift();
          if (answer instanceof Error) return Promise.reject(answer);
          return Promise.resolve({ ok: true, value: { next: answer } });
        }) as never,
      },
    },
  );
  return { finish, done, log };
}

describe("an open key that has proved", () => {
  it("gets its tables task by task, and then its image", async () => {
    const { finish, done } = finishOf([3, 7, null]);
    expect(await finish.run(held)).toBe(true);
    expect(done).toEqual([0, 3, 7, "image"]);
  });

  it("goes on where it stopped when the pool was full", async () => {
    const full = new AppError("overloaded", { message: "full", retryAfterSec: 1 });
    const { finish, done, log } = finishOf([3, full, null]);
    expect([await finish.run(held), await finish.run(held)]).toEqual([false, true]);
    expect([done, log.lines]).toEqual([[0, 3, 3, "image"], []]);
  });

  it("is left alone once it was dropped", async () => {
    const { finish, done } = finishOf([3, null]);
    let uses = 0;
    const dropped: HoldKey = async (work) => {
      uses += 1;
      if (uses === 1) await work();
      return uses === 1;
    };
    expect([await finish.run(dropped), done]).toEqual([true, [0]]);
  });

  it("proves without tables, and has no image, when they cannot be written; the log says so", async () => {
    const { finish, done, log } = finishOf([3, new Error("the worker failed")]);
    expect([await finish.run(held), done]).toEqual([true, [0, 3]]);
    expect(log.lines).toHaveLength(1);
  });
});
