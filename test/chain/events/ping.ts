/**
 * A contract that answers any call by `emit Ping(first word of the call data)`, as bytes, so that no test waits for a
 * compiler.
 */

export const PING_ABI = [
  { type: "event", name: "Ping", anonymous: false, inputs: [{ name: "value", type: "uint256", indexed: false }] },
];
/** keccak256("Ping(uint256)"). */
const TOPIC = "48257dc961b6f792c2b78a080dacfed693b660960a702de21cee364e20270e2f";
/** PUSH1 0, CALLDATALOAD, PUSH1 0, MSTORE, PUSH32 topic, PUSH1 32, PUSH1 0, LOG1, STOP. */
const RUNTIME = `6000356000527f${TOPIC}60206000a100`;
export const PING_CREATION = `0x60${(RUNTIME.length / 2).toString(16)}600c60003960${(RUNTIME.length / 2).toString(16)}6000f3${RUNTIME}`;

/** Call data that makes it emit a number. */
export function pingCall(value: number): string {
  return `0x${value.toString(16).padStart(64, "0")}`;
}
