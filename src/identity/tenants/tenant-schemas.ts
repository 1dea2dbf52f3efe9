/** Shapes of applications, organizations and their members on the wire. */
import Type, { type Static } from "typebox";
import { Description, Name, SAID_OWNER, Timestamp, Uuid, closed, nullable } from "../../platform/contract/schemas.js";

const Permissions = Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1, description: "bit-set of generic permissions" });
/** Members of any name and form; the limits of the body bound them. */
const FreeObject = Type.Record(Type.String({ maxLength: 256 }), Type.Unknown());
const LIST_ITEMS_MAX = 100;

export const Application = closed(
  {
    id: Uuid,
    created_at: Timestamp,
    name: Type.String(),
    description: nullable(Type.String()),
    type: nullable(Type.String()),
    network_id: nullable(Type.String({ description: "primary network; cannot be changed" })),
    user_id: nullable(Type.String({ description: "user who created it; kept as history, grants nothing" })),
    organization_id: nullable(
      Type.String({ description: "organization whose token created it; kept as history, grants nothing" }),
    ),
    config: FreeObject,
    hidden: Type.Boolean({ description: "true: lists show it only with `hidden=true`" }),
  },
  { description: "Application" },
);
export const ApplicationList = Type.Array(Application, { maxItems: LIST_ITEMS_MAX });

const APPLICATION_INPUT = {
  name: Type.Optional(Name),
  description: Type.Optional(nullable(Description)),
  type: Type.Optional(nullable(Type.String({ maxLength: 64 }))),
  network_id: Type.Optional(nullable(Uuid)),
  config: Type.Optional(FreeObject),
  hidden: Type.Optional(Type.Boolean()),
};
export const CreateApplicationBody = closed({
  ...APPLICATION_INPUT,
  user_id: SAID_OWNER.user_id,
  organization_id: SAID_OWNER.organization_id,
});
export const UpdateApplicationBody = closed(APPLICATION_INPUT, {
  description: "Members that are absent stay as they are. `network_id` cannot be changed.",
});
const NameFilter = Type.Optional(Type.String({ maxLength: 201, description: "returns only those with this name" }));
export const NameQuery = closed({ name: NameFilter });
export const ApplicationQuery = closed({
  name: NameFilter,
  network_id: Type.Optional(Uuid),
  type: Type.Optional(Type.String({ maxLength: 64 })),
  hidden: Type.Optional(Type.Boolean({ description: "true: only hidden applications; otherwise only the others" })),
});

export const Organization = closed(
  {
    id: Uuid,
    created_at: Timestamp,
    name: Type.String(),
    description: nullable(Type.String()),
    user_id: nullable(Type.String({ description: "user who founded it; kept as history, grants nothing" })),
    metadata: nullable(FreeObject),
  },
  { description: "Organization" },
);
export const OrganizationList = Type.Array(Organization, { maxItems: LIST_ITEMS_MAX });
export const CreateOrganizationBody = closed({
  name: Name,
  description: Type.Optional(nullable(Description)),
  metadata: Type.Optional(nullable(FreeObject)),
  user_id: SAID_OWNER.user_id,
  invitation_token: Type.Optional(
    Type.String({
      maxLength: 200,
      description: "token of an invitation to found an organization that joins an application",
    }),
  ),
});
export const UpdateOrganizationBody = closed({
  name: Type.Optional(Name),
  description: Type.Optional(nullable(Description)),
  metadata: Type.Optional(nullable(FreeObject)),
});

export const MemberUser = closed(
  {
    id: Uuid,
    created_at: Timestamp,
    name: Type.String(),
    first_name: Type.String(),
    last_name: Type.String(),
    email: Type.Optional(
      Type.String({ description: "present for members of an organization and for an application's virtual users" }),
    ),
    permissions: Type.Integer({ description: "what the user may do on the application or organization" }),
    privacy_policy_agreed_at: nullable(Timestamp),
    terms_of_service_agreed_at: nullable(Timestamp),
  },
  { description: "User as a member" },
);
export const MemberUserList = Type.Array(MemberUser, { maxItems: LIST_ITEMS_MAX });

export const AddUserBody = closed({ user_id: Uuid, permissions: Type.Optional(Permissions) });
export const JoinBody = closed({
  user_id: Type.Optional(Uuid),
  permissions: Type.Optional(Permissions),
  invitation_token: Type.Optional(
    Type.String({
      maxLength: 200,
      description: "token of an invitation to this organization, by which the calling user joins",
    }),
  ),
});
export const AddOrganizationBody = closed({ organization_id: Uuid, permissions: Type.Optional(Permissions) });
export const UpdateMemberBody = closed({ permissions: Type.Optional(Permissions) });
export const UserMemberParams = closed({ id: Uuid, user_id: Uuid });
export const OrganizationMemberParams = closed({ id: Uuid, organization_id: Uuid });

export type ApplicationJson = Static<typeof Application>;
export type CreateApplicationInput = Static<typeof CreateApplicationBody>;
export type OrganizationJson = Static<typeof Organization>;
export type UpdateApplicationInput = Static<typeof UpdateApplicationBody>;
export type CreateOrganizationInput = Static<typeof CreateOrganizationBody>;
export type UpdateOrganizationInput = Static<typeof UpdateOrganizationBody>;
export type JoinInput = Static<typeof JoinBody>;
export type MemberJson = Static<typeof MemberUser>;
