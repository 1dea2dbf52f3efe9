/** Shapes of the device flow on the wire (RFC 8628). Unknown members are ignored. */
import Type, { type Static } from "typebox";
import { closed } from "../../../platform/contract/schemas.js";
import { CLIENT_MEMBERS } from "../oauth-schemas.js";

const UserCode = Type.Optional(
  Type.String({ maxLength: 64, description: "the code that the device shows; case and hyphens are ignored" }),
);

export const DeviceAuthorizationForm = Type.Object(
  { ...CLIENT_MEMBERS, scope: Type.Optional(Type.String({ maxLength: 256 })) },
  { additionalProperties: true, description: "Device authorization request (RFC 8628 section 3.1)" },
);
export const DeviceAuthorizationAnswer = closed(
  {
    device_code: Type.String({ description: "for the token route; secret" }),
    user_code: Type.String({ description: "for the user to type" }),
    verification_uri: Type.String({ description: "the page that the user opens" }),
    verification_uri_complete: Type.String({ description: "the same with the code, for a link or a QR code" }),
    expires_in: Type.Integer({ minimum: 0, description: "seconds" }),
    interval: Type.Integer({ minimum: 0, description: "seconds between two questions at the token route" }),
  },
  { description: "Codes of a device (RFC 8628 section 3.2)" },
);
export const DeviceQuery = Type.Object({ user_code: UserCode }, { additionalProperties: true });
export const DeviceForm = Type.Object(
  {
    user_code: UserCode,
    email: Type.Optional(Type.String({ maxLength: 320 })),
    password: Type.Optional(Type.String({ maxLength: 512 })),
    decision: Type.Optional(Type.String({ maxLength: 16, description: "`allow` or `deny`" })),
  },
  { additionalProperties: true, description: "The form on which the user decides" },
);

export type DeviceAuthorizationInput = Static<typeof DeviceAuthorizationForm>;
export type DeviceAuthorizationJson = Static<typeof DeviceAuthorizationAnswer>;
export type DeviceFormInput = Static<typeof DeviceForm>;
