/** Shapes of invitations and password resets on the wire. The names follow existing clients. */
import Type, { type Static } from "typebox";
import { Name, SAID_OWNER, Timestamp, Uuid, closed, nullable } from "../../platform/contract/schemas.js";

const Permissions = Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1, description: "bit-set of generic permissions" });
const EmailText = Type.String({ minLength: 1, maxLength: 320 });
const PersonNameText = Type.String({ minLength: 1, maxLength: 100, pattern: "^[^\\u0000-\\u001f\\u007f]+$" });

/** A name that the sender chose would stand in mail to strangers. */
const Ignored = Type.Optional(
  nullable(
    Type.String({ maxLength: 201, description: "the inviting user's; accepted for existing clients, changes nothing" }),
  ),
);

export const Invitation = closed(
  {
    id: Uuid,
    created_at: Timestamp,
    email: Type.String(),
    name: Type.String({ description: "first and last name, as far as the sender gave them" }),
    first_name: nullable(Type.String()),
    last_name: nullable(Type.String()),
    permissions: Type.Integer({ description: "permissions that the invited user will hold there" }),
    application_id: nullable(Type.String()),
    organization_id: nullable(Type.String()),
    expires_at: Timestamp,
  },
  { description: "A pending invitation, without its token" },
);
export const InvitationList = Type.Array(Invitation, { maxItems: 100 });

export const CreateInvitationBody = closed({
  email: EmailText,
  first_name: Type.Optional(PersonNameText),
  last_name: Type.Optional(PersonNameText),
  application_id: Type.Optional(Uuid),
  organization_id: Type.Optional(Uuid),
  organization_name: Type.Optional(Name),
  permissions: Type.Optional(Permissions),
  user_id: SAID_OWNER.user_id,
  name: Ignored,
  invitor_name: Ignored,
  params: Type.Optional(
    closed({
      is_organization_invite: Type.Optional(
        Type.Boolean({
          description: "true: the invited user founds an organization, which joins the application",
        }),
      ),
      is_organization_user_invite: Type.Optional(
        Type.Boolean({ description: "accepted for existing clients; `organization_id` alone decides" }),
      ),
    }),
  ),
});

export const RequestResetBody = closed({ email: EmailText, application_id: Type.Optional(Uuid) });
export const ResetBody = closed({
  password: Type.String({
    minLength: 1,
    maxLength: 512,
    description: "8 to 128 characters after Unicode normalization (NFKC); no common password",
  }),
});
export const ResetParams = closed({
  token: Type.String({ minLength: 1, maxLength: 200, pattern: "^[A-Za-z0-9_-]+$" }),
});

export type InvitationJson = Static<typeof Invitation>;
export type CreateInvitationInput = Static<typeof CreateInvitationBody>;
