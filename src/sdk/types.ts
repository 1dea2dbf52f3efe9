/** The records and bodies of the API by name. */
import type { Static } from "typebox";
import type { apiSchemas } from "../api-schemas.js";

/** All of them by name: `ApiTypes["Prover"]`. */
export type ApiTypes = { readonly [Name in keyof typeof apiSchemas]: Static<(typeof apiSchemas)[Name]> };

export type Account = ApiTypes["Account"];
export type Application = ApiTypes["Application"];
export type Connector = ApiTypes["Connector"];
export type Contract = ApiTypes["Contract"];
export type CreateProver = ApiTypes["CreateProver"];
export type Job = ApiTypes["Job"];
export type JobDetail = ApiTypes["JobDetail"];
export type Key = ApiTypes["Key"];
export type Network = ApiTypes["Network"];
export type Organization = ApiTypes["Organization"];
export type ProofRecord = ApiTypes["ProofRecord"];
export type ProveResult = ApiTypes["ProveResult"];
export type Prover = ApiTypes["Prover"];
export type ProverProgress = ApiTypes["ProverProgress"];
export type Transaction = ApiTypes["Transaction"];
export type User = ApiTypes["User"];
export type Vault = ApiTypes["Vault"];
export type VerifyResult = ApiTypes["VerifyResult"];
