/** A ceremony by snarkjs itself, for tests that need its files. */
import { primeSnarkjs } from "../../src/engine/backends/snarkjs.js";

interface MemoryFile {
  readonly type: "mem";
  data?: Uint8Array;
}

interface SnarkjsPowersOfTau {
  newAccumulator(curve: unknown, power: number, file: MemoryFile): Promise<unknown>;
  contribute(from: MemoryFile, to: MemoryFile, name: string, entropy: string): Promise<Uint8Array>;
  beacon(from: MemoryFile, to: MemoryFile, name: string, beaconHex: string, iterationsLog: number): Promise<Uint8Array>;
  preparePhase2(from: MemoryFile, to: MemoryFile): Promise<unknown>;
  verify(file: MemoryFile): Promise<boolean>;
}

export interface SnarkjsCeremony {
  readonly started: Uint8Array;
  /** After two contributions and a beacon. */
  readonly contributed: Uint8Array;
  readonly prepared: Uint8Array;
  /** Of the two contributions and the beacon, as the calls returned them. */
  readonly responseHashes: readonly Uint8Array[];
  verify(file: Uint8Array): Promise<boolean>;
}

/** Runs a ceremony of 2^power, single-threaded on the calling thread: about a second for 2^3. */
export async function snarkjsPowersOfTau(power: number): Promise<SnarkjsCeremony> {
  const { powersOfTau } = (await primeSnarkjs()) as unknown as { readonly powersOfTau: SnarkjsPowersOfTau };
  const curve = (globalThis as { curve_bn128?: unknown }).curve_bn128;
  const [started, first, second, beacon, prepared] = Array.from({ length: 5 }, (): MemoryFile => ({ type: "mem" })) as [
    MemoryFile,
    MemoryFile,
    MemoryFile,
    MemoryFile,
    MemoryFile,
  ];
  await powersOfTau.newAccumulator(curve, power, started);
  const responseHashes = [
    await powersOfTau.contribute(started, first, "first", "some text"),
    await powersOfTau.contribute(first, second, "second", "another text"),
    await powersOfTau.beacon(second, beacon, "the beacon", "0102030405060708090a0b0c0d0e0f", 10),
  ];
  await powersOfTau.preparePhase2(beacon, prepared);
  return {
    started: bytesOf(started),
    contributed: bytesOf(beacon),
    prepared: bytesOf(prepared),
    responseHashes,
    verify: async (data) => await powersOfTau.verify({ type: "mem", data }),
  };
}

function bytesOf({ data }: MemoryFile): Uint8Array {
  if (data === undefined) throw new Error("snarkjs has written no file");
  return data;
}
