import { describe, expect, it } from "vitest";
import { AppError } from "../../../src/platform/errors.js";
import { Lane, type LaneOptions, type LaneTask } from "../../../src/platform/pool/lane.js";
import { seededRandom } from "../../support/seeded.js";

/** A task that runs until it is told to end. */
interface Held {
  readonly name: string;
  readonly outcome: Promise<unknown>;
  end: () => void;
}

class TestLane {
  readonly lane: Lane;
  readonly begun: string[] = [];

  constructor(options: Partial<LaneOptions> = {}) {
    this.lane = new Lane({ name: "prove", places: 1, queueLengthMax: 8, ...options });
  }

  hold(name: string, task: LaneTask = {}): Held {
    let end: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const outcome = this.lane
      .run({ owner: name.charAt(0), ...task }, async () => {
        this.begun.push(name);
        await ended;
        return name;
      })
      .catch((error: unknown) => error);
    return { name, outcome, end: () => end() };
  }
}

async function turn(): Promise<void> {
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
}

describe("a lane", () => {
  it("counts tasks with an abort signal as it counts the others", async () => {
    const { signal } = new AbortController();
    const test = new TestLane({ places: 2, queueLengthMax: 2 });
    const held = Array.from({ length: 12 }, (_, index) => test.hold(`a${String(index)}`, { signal }));
    await turn();
    expect([test.begun, test.lane.waiting]).toEqual([["a0", "a1"], 2]);
    for (const { outcome } of held.slice(4))
      expect(await outcome).toMatchObject({
        code: "overloaded",
        status: 503,
        retryAfterSec: 1,
        message: "prove: the queue is full, try again in 1 s",
      });
    for (const { end } of held) end();
    expect(await Promise.all(held.slice(0, 4).map(({ outcome }) => outcome))).toEqual(["a0", "a1", "a2", "a3"]);
    expect(test.lane.figures).toMatchObject({ waiting: 0, running: 0, started: 4, refused: 8 });
  });

  it("goes round by owner", async () => {
    const test = new TestLane();
    const held = ["a1", "a2", "a3", "b1", "b2", "c1"].map((name) => test.hold(name));
    for (const { end } of held) end();
    await Promise.all(held.map(({ outcome }) => outcome));
    expect(test.begun).toEqual(["a1", "a2", "b1", "c1", "a3", "b2"]);
  });

  it("lets another owner in when one fills the queue, and refuses that one's newest task", async () => {
    const test = new TestLane({ queueLengthMax: 2 });
    const [first, second, third] = [test.hold("a1"), test.hold("a2"), test.hold("a3")];
    const other = test.hold("b1");
    expect(await third.outcome).toMatchObject({ code: "overloaded" });
    for (const { end } of [first, second, other]) end();
    expect(await Promise.all([first, second, other].map(({ outcome }) => outcome))).toEqual(["a1", "a2", "b1"]);
  });

  it("frees the place of a caller that has gone", async () => {
    const test = new TestLane({ queueLengthMax: 1 });
    const running = test.hold("a1");
    const caller = new AbortController();
    const gone = test.hold("a2", { signal: caller.signal });
    caller.abort(new Error("client has gone"));
    expect(await gone.outcome).toMatchObject({ message: "client has gone" });
    const next = test.hold("a3", { signal: new AbortController().signal });
    expect(test.lane.waiting).toBe(1);
    running.end();
    next.end();
    expect([await running.outcome, await next.outcome, test.begun]).toEqual(["a1", "a3", ["a1", "a3"]]);
  });

  it("asks the youngest task of an owner with more than its share to give way", async () => {
    const test = new TestLane({ places: 3, giveWayMs: 0 });
    const gaveWay: string[] = [];
    const tasks: Held[] = [];
    for (const name of ["a1", "a2", "a3"])
      tasks.push(
        test.hold(name, {
          ...(name === "a3"
            ? {}
            : {
                giveWay: () => {
                  gaveWay.push(name);
                  tasks.find((task) => task.name === name)?.end();
                },
              }),
        }),
      );
    const other = test.hold("b1");
    other.end();
    expect([await other.outcome, gaveWay]).toEqual(["b1", ["a2"]]);
    for (const { end } of tasks) end();
  });

  it("refuses everything once it is stopped", async () => {
    const test = new TestLane();
    const [running, waiting] = [test.hold("a1"), test.hold("a2")];
    test.lane.stop(new AppError("shutting_down", { message: "the server is stopping" }));
    expect(await waiting.outcome).toMatchObject({ code: "shutting_down" });
    expect(await test.hold("a3").outcome).toMatchObject({ code: "shutting_down" });
    running.end();
    expect(await running.outcome).toBe("a1");
  });
});

it("loses no task and no place through any run of tasks, ends and aborts", async () => {
  const random = seededRandom();
  const places = 1 + random.below(3);
  const queueLengthMax = random.below(6);
  const test = new TestLane({ places, queueLengthMax });
  const open = new Map<Held, AbortController>();
  const outcomes: Promise<unknown>[] = [];
  for (let step = 0; step < 400; step += 1) {
    if (random.chance(0.5)) {
      const caller = new AbortController();
      const held = test.hold(`${random.pick(["a", "b", "c"])}${String(step)}`, { signal: caller.signal });
      open.set(held, caller);
      outcomes.push(held.outcome.finally(() => open.delete(held)));
    } else if (open.size > 0) {
      const [held, caller] = random.pick([...open]);
      if (random.chance(0.3)) caller.abort(new Error("client has gone"));
      else if (test.begun.includes(held.name)) held.end();
    }
    await turn();
    const { waiting, running } = test.lane.figures;
    const what = `seed ${String(random.seed)}, step ${String(step)}`;
    expect(running, what).toBeLessThanOrEqual(places);
    expect(waiting, what).toBeLessThanOrEqual(queueLengthMax);
    if (waiting > 0) expect(running, what).toBe(places);
  }
  while (open.size > 0) {
    for (const held of open.keys()) held.end();
    await turn();
  }
  await Promise.all(outcomes);
  expect(test.lane.figures, `seed ${String(random.seed)}`).toMatchObject({ waiting: 0, running: 0 });
});
