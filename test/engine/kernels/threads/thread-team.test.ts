/**
 * Threads that share work through words of memory: order of steps, joining, leaving, and every way in which a member
 * can be lost.
 */
import { describe, expect, it } from "vitest";
import {
  ThreadTeam,
  TeamFailedError,
  TEAM_STEPS_MAX,
  createTeam,
  dismissHelpers,
  endTeam,
  failTeam,
} from "../../../../src/engine/kernels/threads/thread-team.js";
import type { TeamStep } from "../../../../src/engine/kernels/threads/thread-team.js";

function recorded(): { steps: TeamStep[]; done: string[] } {
  const done: string[] = [];
  const step = (name: string, after: readonly number[], count: number): TeamStep => ({
    name,
    after,
    count: () => count,
    run: (task) => {
      done.push(`${name}${String(task)}`);
    },
  });
  // Listed by urgency: "last" stands before what it waits for.
  return {
    done,
    steps: [step("first", [], 2), step("last", [0, 3], 1), step("never", [0], 0), step("beside", [2], 3)],
  };
}

describe("a team of one", () => {
  it("does every task once, in the order that the steps ask for, the urgent first", () => {
    const { steps, done } = recorded();
    const team = new ThreadTeam(createTeam());
    expect(team.open(0)).toBe(true);
    team.lead(steps);
    expect(done).toEqual(["first0", "first1", "beside0", "beside1", "beside2", "last0"]);
    expect(team.disband()).toBe(true);
  });

  it("asks a step for its size only when the steps before it are done", () => {
    let isDone = false;
    const team = new ThreadTeam(createTeam());
    team.open(0);
    team.lead([
      {
        name: "prepare",
        after: [],
        count: () => 1,
        run: () => {
          isDone = true;
        },
      },
      {
        name: "parts",
        after: [0],
        count: () => {
          expect(isDone).toBe(true);
          return 2;
        },
        run: () => undefined,
      },
    ]);
    expect(isDone).toBe(true);
  });

  it("passes on what a task throws, and is of no use afterwards", () => {
    const memory = createTeam();
    const team = new ThreadTeam(memory);
    team.open(0);
    const trap = (): void => {
      throw new RangeError("trap");
    };
    expect(() => {
      team.lead([{ name: "bad", after: [], count: () => 2, run: trap }]);
    }).toThrow("trap");
    expect(() => {
      team.lead([{ name: "bad", after: [], count: () => 2, run: trap }]);
    }).toThrow(TeamFailedError);
    expect(team.disband()).toBe(true);
    expect(new ThreadTeam(memory).open(0)).toBe(false);
  });

  it("refuses more steps than there is room for", () => {
    const team = new ThreadTeam(createTeam());
    team.open(0);
    const steps = Array.from({ length: TEAM_STEPS_MAX + 1 }, (_, i): TeamStep => ({
      name: String(i),
      after: [],
      count: () => 1,
      run: () => undefined,
    }));
    expect(() => {
      team.lead(steps);
    }).toThrow(RangeError);
  });
});

describe("a helper", () => {
  it("gets the leader's place, takes tasks that the leader has not, and is waited for", () => {
    const memory = createTeam();
    const [leader, helper] = [new ThreadTeam(memory), new ThreadTeam(memory)];
    const { steps, done } = recorded();
    leader.open(3);
    expect(helper.join()).toEqual({ place: 3 });
    helper.help(steps);
    expect(done).toHaveLength(6);
    leader.lead(steps);
    expect(done).toHaveLength(6);
    helper.leave();
    expect(leader.disband()).toBe(true);
  });

  it.each([
    ["ended", endTeam],
    ["lost", failTeam],
    ["dismissed", dismissHelpers],
  ])("finds nothing to join once the team is %s", (_name, close) => {
    const memory = createTeam();
    new ThreadTeam(memory).open(0);
    close(memory);
    expect(new ThreadTeam(memory).join()).toBeUndefined();
  });

  it("does no task after it was dismissed, and the leader does them all", () => {
    const memory = createTeam();
    const [leader, helper] = [new ThreadTeam(memory), new ThreadTeam(memory)];
    const { steps, done } = recorded();
    leader.open(0);
    helper.join();
    dismissHelpers(memory);
    helper.help(steps);
    expect(done).toEqual([]);
    helper.leave();
    leader.lead(steps);
    expect(done).toHaveLength(6);
  });

  it("makes the leader throw when its task throws, and the leader's memory is free once it has left", () => {
    const memory = createTeam();
    const [leader, helper] = [new ThreadTeam(memory), new ThreadTeam(memory)];
    leader.open(0);
    helper.join();
    expect(() => {
      helper.help([
        {
          name: "bad",
          after: [],
          count: () => 1,
          run: () => {
            throw new RangeError("trap");
          },
        },
      ]);
    }).toThrow("trap");
    helper.leave();
    expect(() => {
      leader.lead(recorded().steps);
    }).toThrow(TeamFailedError);
    expect(leader.disband()).toBe(true);
  });

  it("that is lost inside makes the leader throw and give its memory up, before and after the end of the work", () => {
    for (const isOver of [false, true]) {
      const memory = createTeam();
      const leader = new ThreadTeam(memory);
      leader.open(0);
      new ThreadTeam(memory).join();
      if (isOver) endTeam(memory);
      failTeam(memory);
      expect(() => {
        leader.lead(recorded().steps);
      }).toThrow(TeamFailedError);
      expect(leader.disband()).toBe(false);
    }
  });

  it("that is lost outside costs nothing but the proof's company", () => {
    const memory = createTeam();
    const leader = new ThreadTeam(memory);
    leader.open(0);
    leader.lead(recorded().steps);
    failTeam(memory);
    expect(leader.disband()).toBe(true);
  });
});
