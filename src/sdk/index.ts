/** What `import ... from "proofwright"` gives: the client of a server, its errors and types, and checks offline. */
export { Proofwright } from "./proofwright.js";
export type { ProofwrightOptions, SealKey } from "./proofwright.js";
export {
  ApiError,
  ConnectionError,
  JobError,
  ProvisioningError,
  StreamEndedError,
  TimeoutError,
  TransactionError,
} from "./errors.js";
export type { ApiErrorEntry } from "./errors.js";
export type { CallOptions, TokenSource } from "./transport.js";
export type { FullAnswer } from "./calls.js";
export type { Page, PageChoice, Pages } from "./pages.js";
export type { AnswerAt, BodyAt, Endpoint, FileBody, InputAt, JsonEndpoint } from "./endpoints.js";
export type { ServerEvent, StreamOptions } from "./events.js";
export type { JobBatch, JobOptions, JobWait } from "./resources/job-calls.js";
export type { ProveOptions, ProvisioningWait, TransactionWait } from "./resources/long-work.js";
export type * from "./types.js";
export { verifyProof } from "./verify-proof.js";
export type { ProofClaim } from "./verify-proof.js";
export { ReceiptError, verifyReceipt } from "../verify-receipt.js";
export type { ExpectedReceipt, ReceiptKeys } from "../verify-receipt.js";
export { verifyStoreProof } from "../verify-store-proof.js";
export type { ExpectedStoreProof, StoreProofCheck } from "../verify-store-proof.js";
export { TreeHeadError, verifyTreeHead } from "../verify-tree-head.js";
export type { ExpectedTreeHead, TreeHeadClaims, TreeHeadKeys } from "../verify-tree-head.js";
