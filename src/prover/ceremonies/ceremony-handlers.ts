/** Binds the routes of ceremonies to their services. */
import type { BodyLimitsOf, HandlersFor } from "../../platform/contract/route.js";
import type { Ceremonies } from "./ceremonies.js";
import type { ceremonyRoutes } from "./ceremony-routes.js";
import type { Contributions } from "./contributions.js";
import type { Participants } from "./participants.js";

interface CeremonyServices {
  readonly ceremonies: Ceremonies;
  readonly participants: Participants;
  readonly contributions: Contributions;
}

/** Returns the handlers of all routes in ceremony-routes.ts. */
export function ceremonyHandlers(services: CeremonyServices): HandlersFor<typeof ceremonyRoutes> {
  return { ...ownerHandlers(services), ...contributorHandlers(services) };
}

/** Returns the limit of an upload, by the present key of the ceremony that the path names. */
export function contributionLimits({ contributions }: Pick<CeremonyServices, "contributions">): BodyLimitsOf {
  return (_principal, { id }) => {
    const bodyBytesMax = contributions.bodyBytesMax(String(id));
    return bodyBytesMax === undefined ? undefined : { bodyBytesMax, jsonTokensMax: 0 };
  };
}

type OwnerRoutes =
  | "getCeremony"
  | "updateCeremony"
  | "listCeremonyInvitations"
  | "createCeremonyInvitation"
  | "deleteCeremonyInvitation"
  | "removeCeremonyParticipant"
  | "endCeremony"
  | "cancelCeremony";

function ownerHandlers({
  ceremonies,
}: Pick<CeremonyServices, "ceremonies">): Pick<HandlersFor<typeof ceremonyRoutes>, OwnerRoutes> {
  return {
    getCeremony: ({ principal, params }) => ({ status: 200, body: ceremonies.get(principal.subject, params.id) }),
    updateCeremony: async ({ principal, params, body }) => ({
      status: 200,
      body: await ceremonies.update(principal.subject, params.id, body),
    }),
    listCeremonyInvitations: ({ principal, params }) => ({
      status: 200,
      body: ceremonies.invitations(principal.subject, params.id),
    }),
    createCeremonyInvitation: async ({ principal, params, body }) => ({
      status: 201,
      body: await ceremonies.invite(principal.subject, params.id, body.name),
    }),
    deleteCeremonyInvitation: async ({ principal, params }) => {
      await ceremonies.withdraw(principal.subject, params.id, params.invitation_id);
      return { status: 204 };
    },
    removeCeremonyParticipant: async ({ principal, params }) => {
      await ceremonies.remove(principal.subject, params.id, params.participant_id);
      return { status: 204 };
    },
    endCeremony: async ({ principal, params, body }) => ({
      status: 202,
      body: await ceremonies.end(principal.subject, params.id, body),
    }),
    cancelCeremony: async ({ principal, params }) => ({
      status: 200,
      body: await ceremonies.cancel(principal.subject, params.id),
    }),
  };
}

function contributorHandlers({
  participants,
  contributions,
}: Omit<CeremonyServices, "ceremonies">): Omit<HandlersFor<typeof ceremonyRoutes>, OwnerRoutes> {
  return {
    showCeremony: ({ params, bearer }) => ({ status: 200, body: participants.show(params.id, bearer) }),
    joinCeremony: async ({ params, body, address }) => ({
      status: 201,
      body: await participants.join(params.id, body, address),
    }),
    leaveCeremony: async ({ params, bearer }) => {
      await participants.leave(params.id, bearer);
      return { status: 204 };
    },
    leaseCeremony: async ({ params, bearer }) => ({ status: 200, body: await participants.lease(params.id, bearer) }),
    downloadCeremonyKey: async ({ params, bearer }) => ({
      status: 200,
      file: await participants.key(params.id, bearer),
    }),
    contributeToCeremony: async ({ params, bearer, body }) => {
      const taken = await contributions.take(params.id, bearer, body);
      return taken.complete ? { status: 201, body: taken.contribution } : { status: 200, body: taken.upload };
    },
    signContribution: async ({ params, bearer, body }) => ({
      status: 200,
      body: await contributions.sign(params.id, bearer, { index: Number(params.index), body }),
    }),
    getCeremonyFile: async ({ params, bearer }) => ({
      status: 200,
      file: await participants.file(params.id, params.name, bearer),
    }),
  };
}
