/** Binds the routes of the prover registry to its service: names, shapes, and what bodies say of their owner. */
import type { Principal } from "../platform/auth/principal.js";
import { requireUnchanged } from "../platform/contract/client-names.js";
import { requireSaidOwner, type RequireTenant } from "../platform/auth/said-owner.js";
import { keepingAnswer } from "../platform/contract/once.js";
import type { BodyLimitsOf, HandlersFor } from "../platform/contract/route.js";
import type { CeremoniesPart } from "./ceremonies/create-ceremonies.js";
import type { InputKeys } from "./closed-inputs/input-keys.js";
import type { Labelling } from "./labels/labelling.js";
import { createLimits, witnessLimits, type proverRoutes } from "./routes.js";
import type { Prover } from "./schemas.js";
import type { receiptRoutes } from "./receipts/receipt-routes.js";
import type { AttestationRequest, Receipts, RequestAttestation } from "./receipts/receipts.js";
import type { verifierRoutes } from "./on-chain/verifier-routes.js";
import { proofJobHandlers, proveReply, type ProofJobHandlersDependencies } from "./proof-jobs/proof-job-handlers.js";
import { spentKeys } from "./stores/spent-keys.js";
import type { storeRoutes } from "./stores/store-routes.js";
import type { sharingRoutes } from "./sharing/sharing-routes.js";
import type { referenceStringRoutes } from "./reference-strings/reference-string-routes.js";
import type { SourceLimits } from "./provisioning/sources.js";
import type { ProverService } from "./service.js";

/** Members that a prover has for good. */
const CONSTANT = [
  ...["id", "created_at", "vault_id", "name", "identifier", "provider", "proving_scheme", "curve"],
  ...["note_store_id", "nullifier_store_id", "trusted_setup", "strict", "nullifier"],
] as (keyof Prover)[];

/** Returns the limits of bodies with inputs, by the prover that the path names, and of those with source. */
export function proverBodyLimits(
  {
    source,
    uploadBytesMax,
    powersBytesMax,
  }: { readonly source: SourceLimits; readonly uploadBytesMax: number; readonly powersBytesMax: number },
  {
    provers,
    labelling,
    ceremonies,
  }: {
    readonly provers: ProverService;
    readonly labelling: Labelling;
    readonly ceremonies: Pick<CeremoniesPart, "bodyLimits">;
  },
): Readonly<
  Record<
    "createProver" | "prove" | "verify" | "uploadProverArtifact" | "uploadReferenceString" | "contributeToCeremony",
    BodyLimitsOf
  >
> {
  const sizes = ({ subject }: Principal, reference: unknown): readonly [number, number] =>
    provers.sizeOf(subject, labelling.idOf(subject, String(reference)));
  const limits: BodyLimitsOf = (principal, { id }) =>
    principal === undefined ? undefined : witnessLimits(sizes(principal, id)[0]);
  return {
    createProver: () => createLimits(source),
    prove: (principal, { id }) => (principal === undefined ? undefined : witnessLimits(...sizes(principal, id))),
    verify: limits,
    uploadProverArtifact: () => ({ bodyBytesMax: uploadBytesMax, jsonTokensMax: 0 }),
    uploadReferenceString: () => ({ bodyBytesMax: powersBytesMax, jsonTokensMax: 0 }),
    ...ceremonies.bodyLimits,
  };
}

/** Returns the handlers of all routes of the prover registry. */
export function proverHandlers(dependencies: {
  readonly provers: ProverService;
  readonly labelling: Labelling;
  readonly sharing: HandlersFor<typeof sharingRoutes>;
  readonly verifiers: HandlersFor<typeof verifierRoutes>;
  readonly stores: HandlersFor<typeof storeRoutes>;
  readonly referenceStrings: HandlersFor<typeof referenceStringRoutes>;
  readonly receiptRoutes: HandlersFor<typeof receiptRoutes>;
  readonly receipts: Receipts;
  readonly ceremonies: Pick<CeremoniesPart, "handlers">;
  readonly proving: Omit<ProofJobHandlersDependencies, "labelling">;
  readonly inputKeys: InputKeys;
  readonly requireTenant: RequireTenant;
}): HandlersFor<typeof proverRoutes> {
  const { provers, labelling, requireTenant } = dependencies;
  return {
    ...dependencies.referenceStrings,
    ...dependencies.receiptRoutes,
    ...dependencies.sharing,
    ...dependencies.ceremonies.handlers,
    ...dependencies.verifiers,
    ...dependencies.inputKeys.handlers(),
    ...dependencies.stores,
    ...proofJobHandlers({ ...dependencies.proving, labelling }),
    listProvers: ({ principal, query }) => ({ status: 200, ...provers.list(principal.subject, query) }),
    createProver: async ({ principal, body, preferWaitSec, signal, once }) => {
      requireSaidOwner(principal, body, requireTenant);
      const plans = provers.planVerifiers(principal, body);
      const keep = keepingAnswer(once, createdAnswer);
      const wait = { waitSec: preferWaitSec, signal };
      return createdAnswer(await provers.create(principal.subject, body, { ...wait, plans, keep }));
    },
    updateProver: async ({ principal: { subject }, params, body, sentBack }) => {
      requireUnchanged(sentBack, provers.get(subject, params.id), CONSTANT);
      await labelling.update(subject, params.id, body);
      return { status: 204 };
    },
    deleteProver: async ({ principal, params }) => {
      await provers.delete(principal.subject, params.id);
      return { status: 204 };
    },
    ...readingHandlers(provers, labelling),
    ...proofHandlers(provers, labelling, dependencies),
    ...artifactHandlers(provers, labelling),
  };
}

function readingHandlers(
  provers: ProverService,
  labelling: Labelling,
): Pick<HandlersFor<typeof proverRoutes>, "getProver" | "getProverStatus" | "getProverAnalysis"> {
  return {
    getProver: ({ principal: { subject }, params }) => ({
      status: 200,
      body: provers.get(subject, labelling.idOf(subject, params.id)),
    }),
    getProverStatus: ({ principal: { subject }, params }) => ({
      status: 200,
      body: provers.progress(subject, labelling.idOf(subject, params.id)),
    }),
    getProverAnalysis: async ({ principal: { subject }, params }) => ({
      status: 200,
      body: await provers.analysis(subject, labelling.idOf(subject, params.id)),
    }),
  };
}

function proofHandlers(
  provers: ProverService,
  labelling: Labelling,
  { receipts, ...others }: Pick<Parameters<typeof proverHandlers>[0], "receipts" | "proving">,
): Pick<HandlersFor<typeof proverRoutes>, "prove" | "proveFile" | "verify" | "listProofs" | "getProof" | "getNote"> {
  const proving = { ...others.proving, labelling };
  return {
    prove: async (request) => await proveReply(proving, request),
    proveFile: async ({ principal: { subject }, params, query: { format }, body, signal }) => {
      const id = labelling.idOf(subject, params.id);
      const made = await provers.proveFile(subject, id, { body, format, signal });
      return { status: 201, body: made, headers: { Location: `/api/v1/provers/${id}/proofs/${made.id}` } };
    },
    ...verifyHandler(provers, labelling, receipts),
    listProofs: ({ principal: { subject }, params, query }) => ({
      status: 200,
      ...provers.listProofs(subject, labelling.idOf(subject, params.id), query),
    }),
    getProof: ({ principal: { subject }, params }) => ({
      status: 200,
      body: provers.getProof(subject, labelling.idOf(subject, params.id), params.proof_id),
    }),
    getNote: async ({ principal: { subject }, params }) => ({
      status: 200,
      body: await provers.note(subject, labelling.idOf(subject, params.id), Number(params.index)),
    }),
  };
}

function verifyHandler(
  provers: ProverService,
  labelling: Labelling,
  receipts: Receipts,
): Pick<HandlersFor<typeof proverRoutes>, "verify"> {
  return {
    verify: async ({ principal, params, body, signal, requestId }) => {
      const id = labelling.idOf(principal.subject, params.id);
      provers.requireSaid(principal, id, body ?? {});
      const { receipt, assurance, ...claimed } = body ?? {};
      const wanted = { receipt: receipt === true, assurance };
      const attest = attestation(receipts, wanted, { principal, requestId, reference: params.id, signal });
      const attested = attest === undefined ? {} : { attest };
      if (claimed.batch !== undefined)
        return {
          status: 200,
          body: await provers.verifyBatch(principal.subject, id, {
            ...{ body: claimed, signal, permissions: principal.permissions, ...attested },
          }),
        };
      const { store = false, on_chain, network_id, ...item } = claimed;
      const spent = spentKeys();
      const request = { item, store, signal, spend: { onSpent: spent.take }, ...attested };
      const answer =
        on_chain === true || network_id !== undefined
          ? await provers.verifyOnChain(principal, id, { ...request, networkId: network_id })
          : { result: await provers.verify(principal, id, request) };
      return { status: 200, body: { ...answer, ...spent.answer(), ...attest?.answer() } };
    },
  };
}

/** Returns what attests a request; undefined where it asks for nothing of that kind. */
function attestation(
  receipts: Receipts,
  wanted: { readonly receipt?: boolean; readonly assurance?: AttestationRequest["assurance"] },
  {
    principal,
    ...request
  }: Pick<AttestationRequest, "requestId" | "reference" | "signal"> & { readonly principal: Principal },
): RequestAttestation | undefined {
  const { receipt: wantsReceipt = false, assurance } = wanted;
  if (!wantsReceipt && assurance !== "triple") return undefined;
  return receipts.begin({ ...request, caller: principal.subject, wantsReceipt, assurance });
}

function artifactHandlers(
  provers: ProverService,
  labelling: Labelling,
): Pick<
  HandlersFor<typeof proverRoutes>,
  "getProverArtifact" | "getProverSource" | "getProverSourceArchive" | "listProverArtifacts" | "uploadProverArtifact"
> {
  return {
    getProverSource: async ({ principal: { subject }, params }) => ({
      status: 200,
      file: await provers.source(subject, labelling.idOf(subject, params.id)),
    }),
    getProverSourceArchive: async ({ principal: { subject }, params }) => ({
      status: 200,
      bytes: await provers.sourceArchive(subject, labelling.idOf(subject, params.id)),
    }),
    getProverArtifact: async ({ principal: { subject }, params, signal }) => ({
      status: 200,
      file: await provers.artifact(subject, labelling.idOf(subject, params.id), params.name, signal),
    }),
    listProverArtifacts: async ({ principal: { subject }, params }) => ({
      status: 200,
      body: await provers.artifacts(subject, labelling.idOf(subject, params.id)),
    }),
    uploadProverArtifact: async ({ principal, params, body }) => {
      const file = await provers.upload(principal.subject, params.id, { name: params.name, body });
      return { status: file.complete ? 201 : 200, body: file };
    },
  };
}

function createdAnswer(prover: Prover) {
  return { status: 202, body: prover, headers: { Location: `/api/v1/provers/${prover.id}` } } as const;
}
