/** Helpers of the tests of applications and organizations. */
import type { HttpHarness, IdentityApi, Person, TokenRequest } from "../http-support.js";

export interface TokenOf {
  readonly token: string;
  readonly api: IdentityApi;
  readonly permissions: number;
  readonly id: string;
  readonly refresh: string | undefined;
}

/** Creates an application and returns its id. */
export async function newApplication(person: Person): Promise<string> {
  return (await person.api.createApplication({ body: {} })).body.id;
}

/** Founds an organization and returns its id. */
export async function newOrganization(person: Person): Promise<string> {
  return (await person.api.createOrganization({ body: { name: "Works" } })).body.id;
}

/** Makes a token, such as one of an application or organization. */
export async function tokenFor(harness: HttpHarness, api: IdentityApi, body: TokenRequest): Promise<TokenOf> {
  const { body: token } = await api.createToken({ body });
  return {
    token: token.access_token,
    api: harness.as(token.access_token),
    permissions: token.permissions,
    id: token.id,
    refresh: token.refresh_token,
  };
}

/** Brings a user into an organization of `by` by its mailed invitation. */
export async function joinByInvitation(
  harness: HttpHarness,
  by: Person,
  person: Person,
  place: { readonly organization_id: string; readonly email: string; readonly permissions?: number },
): Promise<void> {
  await by.api.createInvitation({ body: place });
  const invitation_token = (await harness.mailedToken(place.email))!;
  await person.api.createOrganizationUser({ params: { id: place.organization_id }, body: { invitation_token } });
}

/** All of the store as text, without the event log, which keeps its history for an age of its own. */
export function recordsLeft(harness: HttpHarness): string {
  return JSON.stringify(harness.store.range([]).filter(({ key }) => !String(key[0]).startsWith("events")));
}
