/** T20: the time that a failed login takes does not tell whether the e-mail has an account; nor does the answer. */
import { describe, expect, it } from "vitest";
import { PASSWORD_HASH_COST } from "../../src/crypto/hashes/password.js";
import { logIn, openHarness, signUp, type Harness } from "../identity/support.js";

const ROUNDS = 1000;
/** The usual threshold of leakage tests (ISO/IEC 17825): a difference this clear is no chance. */
const T_MAX = 4.5;

interface Sample {
  readonly known: number[];
  readonly unknown: number[];
}

async function harnessWithAccounts(): Promise<Harness> {
  const harness = await openHarness({
    hashCost: PASSWORD_HASH_COST,
    throttle: { accountFailuresMax: 1e9, addressFailuresMax: 1e9 },
  });
  for (let i = 0; i < 10; i++) await signUp(harness, `known${i}@example.com`);
  return harness;
}

async function failedLoginMs(harness: Harness, email: string): Promise<number> {
  const begin = performance.now();
  await logIn(harness, email, "wrong guess").catch(() => undefined);
  return performance.now() - begin;
}

/** Welch's t over the samples without their slowest twentieth, which is the machine's and not the code's. */
function welch({ known, unknown }: Sample): number {
  const [a, b] = [trimmed(known), trimmed(unknown)];
  return (mean(a) - mean(b)) / Math.sqrt(variance(a) / a.length + variance(b) / b.length);
}

function trimmed(values: readonly number[]): number[] {
  return [...values].sort((x, y) => x - y).slice(0, Math.floor(values.length * 0.95));
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function variance(values: readonly number[]): number {
  const middle = mean(values);
  return values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1);
}

describe("the time of a failed login", () => {
  it(`is the same for known and unknown e-mails: Welch |t| < ${T_MAX} over 2 x ${ROUNDS}`, async () => {
    const harness = await harnessWithAccounts();
    const sample: Sample = { known: [], unknown: [] };
    for (let i = 0; i < 20; i++) await failedLoginMs(harness, `warm${i}@example.com`);
    for (let i = 0; i < ROUNDS; i++) {
      // Interleaved, in changing order, so that drift of the machine falls on both alike.
      const known = async () => sample.known.push(await failedLoginMs(harness, `known${i % 10}@example.com`));
      const unknown = async () => sample.unknown.push(await failedLoginMs(harness, `nobody${i % 10}@example.com`));
      for (const attempt of i % 2 === 0 ? [known, unknown] : [unknown, known]) await attempt();
    }
    const t = welch(sample);
    console.log(
      `known ${mean(trimmed(sample.known)).toFixed(3)} ms, unknown ${mean(trimmed(sample.unknown)).toFixed(3)} ms, t = ${t.toFixed(2)}`,
    );
    expect(Math.abs(t)).toBeLessThan(T_MAX);
  });
});
