/** Binds the routes of the prover registry to its service: names, shapes, and what bodies say of their owner. */
import type { Principal } from "../platform/auth/principal.js";
import { requireUnchanged } from "../platform/contract/client-names.js";
import { requireSaidOwner, type RequireTenant } from "../platform/auth/said-owner.js";
import type { BodyLimitsOf, HandlersFor } from "../platform/contract/route.js";
import type { Labelling } from "./labels/labelling.js";
import { createLimits, witnessLimits, type proverRoutes } from "./routes.js";
import type { Prover } from "./schemas.js";
import type { SpentKey } from "./stores/pending-append.js";
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
  { provers, labelling }: { readonly provers: ProverService; readonly labelling: Labelling },
): Readonly<
  Record<"createProver" | "prove" | "verify" | "uploadProverArtifact" | "uploadReferenceString", BodyLimitsOf>
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
  };
}

/** Returns the handlers of all routes of the prover registry. */
export function proverHandlers(dependencies: {
  readonly provers: ProverService;
  readonly labelling: Labelling;
  readonly sharing: HandlersFor<typeof sharingRoutes>;
  readonly stores: HandlersFor<typeof storeRoutes>;
  readonly referenceStrings: HandlersFor<typeof referenceStringRoutes>;
  readonly requireTenant: RequireTenant;
}): HandlersFor<typeof proverRoutes> {
  const { provers, labelling, requireTenant } = dependencies;
  return {
    ...dependencies.referenceStrings,
    ...dependencies.sharing,
    ...dependencies.stores,
    listProvers: ({ principal, query }) => ({ status: 200, ...provers.list(principal.subject, query) }),
    createProver: async ({ principal, body, preferWaitSec, signal }) => {
      requireSaidOwner(principal, body, requireTenant);
      const prover = await provers.create(principal.subject, body, { waitSec: preferWaitSec, signal });
      return { status: 202, body: prover, headers: { Location: `/api/v1/provers/${prover.id}` } };
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
    ...proofHandlers(provers, labelling),
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
): Pick<HandlersFor<typeof proverRoutes>, "prove" | "verify" | "listProofs" | "getProof" | "getNote"> {
  return {
    // The API's member `witness` holds the inputs; everywhere else a witness is the full assignment.
    prove: async ({ principal, params, query, body, signal }) => {
      const id = labelling.idOf(principal.subject, params.id);
      provers.requireSaid(principal, id, body ?? {});
      const spent = spentKeys();
      const made = await provers.prove(principal.subject, id, {
        inputs: body?.witness,
        ...(body?.witness_file === undefined ? {} : { witnessFile: Buffer.from(body.witness_file, "base64") }),
        ...(body?.meta === undefined ? {} : { meta: body.meta }),
        format: query.format,
        signal,
        spend: { nullifier: body?.nullifier, spends: body?.spends, mayCreate: true, onSpent: spent.take },
      });
      return {
        status: 201,
        body: { ...made, ...spent.answer() },
        headers: { Location: `/api/v1/provers/${id}/proofs/${made.id}` },
      };
    },
    verify: async ({ principal, params, body, signal }) => {
      const id = labelling.idOf(principal.subject, params.id);
      provers.requireSaid(principal, id, body ?? {});
      if (body?.batch !== undefined)
        return {
          status: 200,
          body: await provers.verifyBatch(principal.subject, id, { body, signal, permissions: principal.permissions }),
        };
      const { store = false, ...item } = body ?? {};
      const spent = spentKeys();
      const result = await provers.verify(principal, id, { item, store, signal, spend: { onSpent: spent.take } });
      return { status: 200, body: { result, ...spent.answer() } };
    },
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

/** Takes what a request has spent, for its answer. */
function spentKeys(): {
  readonly take: (spent: readonly SpentKey[]) => void;
  readonly answer: () => { readonly spent?: SpentKey[] };
} {
  let taken: SpentKey[] | undefined;
  return {
    take: (spent) => {
      taken = [...spent];
    },
    answer: () => (taken === undefined ? {} : { spent: taken }),
  };
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
    listProverArtifacts: ({ principal: { subject }, params }) => ({
      status: 200,
      body: provers.artifacts(subject, labelling.idOf(subject, params.id)),
    }),
    uploadProverArtifact: async ({ principal, params, body }) => {
      const file = await provers.upload(principal.subject, params.id, { name: params.name, body });
      return { status: file.complete ? 201 : 200, body: file };
    },
  };
}
