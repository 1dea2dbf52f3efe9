/** What the resident keys of all schemes have in common: the callers that share them need to know no more. */
import type { KernelKind } from "../kernel-module.js";

/** A key in memory that threads share; it may be posted to one. */
export interface SharedKey {
  readonly memory: WebAssembly.Memory;
  readonly kind: KernelKind;
  readonly domainPower: number;
  /** Address of one 32-bit flag per workspace, then per helper's place: 1 while a thread has it. */
  readonly workspaceFlags: number;
  readonly workspaces: readonly { readonly start: number; readonly end: number }[];
  /** Scratch for threads that only help, where the memory has no room for a workspace each. */
  readonly helperPlaces?: readonly { readonly start: number; readonly end: number }[];
  /** Bytes of the memory without the workspaces. */
  readonly keyBytes: number;
  /** Bytes that lie outside of the memory. */
  readonly sectionBytes?: number;
  /** Room for tables that proofs do without until they are written; the address of a 32-bit word that says so. */
  readonly tables?: { readonly state: number };
}
