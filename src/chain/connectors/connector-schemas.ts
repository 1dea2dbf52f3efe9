/** Shapes of connectors on the wire. */
import Type, { type Static, type TNull, type TProperties, type TUnion } from "typebox";
import {
  Description,
  Name,
  NameFilter,
  SAID_OWNER,
  Timestamp,
  Uuid,
  closed,
  keptObject,
  nullable,
} from "../../platform/contract/schemas.js";
import { CONNECTOR_STATUSES } from "./connector-lifecycle.js";

/** Content of one entity. As base64 in JSON it fits the body limit of its routes. */
export const ENTITY_BYTES_MAX = 8 * 1024 * 1024;
/** Content in an entity's detail: the server's limit of answers is 8 MiB, and base64 takes a third more. */
export const ENTITY_CONTENT_BYTES_MAX = 4 * 1024 * 1024;
/** Text up to this length is answered as text too: JSON may double it, and `data_url` has it as well. */
export const ENTITY_TEXT_BYTES_MAX = 1024 * 1024;
export const METADATA_BYTES_MAX = 16 * 1024;
/** Files of one directory that is added in one request. */
const CHILDREN_MAX = 256;
const DATA_TEXT_MAX = Math.ceil(ENTITY_BYTES_MAX / 3) * 4 + 512;

/** The grammar of image references (distribution/reference); none of its parts can leave a path. */
const IMAGE_NAME = "[a-z0-9]+(?:[._-]+[a-z0-9]+)*";
const IMAGE = `^${IMAGE_NAME}(?::[0-9]{1,5})?(?:/${IMAGE_NAME})*(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@sha256:[0-9a-f]{64})?$`;

const Port = Type.Integer({ minimum: 1, maximum: 65_535 });
const Label = Type.String({ minLength: 1, maxLength: 300, pattern: "^[^\\u0000-\\u001f\\u007f]+$" });
const Url = Type.String({
  minLength: 1,
  maxLength: 1000,
  pattern: "^[A-Za-z][A-Za-z0-9+.-]*://[^\\s\\u0000-\\u001f]+$",
});
const UrlPath = Type.String({ maxLength: 300, pattern: "^(/[A-Za-z0-9._~:@!$&'()*+,;=-]+)*/?$" });
const Cidr = Type.String({ pattern: "^[0-9A-Fa-f:.]{2,45}/[0-9]{1,3}$" });
const Ports = nullable(Type.Array(Port, { maxItems: 64 }));

/** What may connect to a container, and what it may connect to. */
const Security = closed({
  egress: Type.Optional(
    nullable(Type.String({ maxLength: 300, description: "`*`: everything; empty or `none`: nothing outside" })),
  ),
  ingress: Type.Optional(
    nullable(
      Type.Record(Cidr, closed({ tcp: Type.Optional(Ports), udp: Type.Optional(Ports) }), {
        maxProperties: 32,
        additionalProperties: false,
        description: "CIDR -> ports that it may reach",
      }),
    ),
  ),
});
export type Security = Static<typeof Security>;

const Tls = Type.Union(
  [
    Type.Boolean(),
    closed({
      ca: Type.Optional(
        Type.String({ maxLength: 16_384, description: "PEM of the authorities to trust in place of the usual ones" }),
      ),
      server_name: Type.Optional(Type.String({ minLength: 1, maxLength: 253 })),
    }),
  ],
  { description: "TLS to the peer; its certificate is always checked" },
);

/** Stands for a value that is in the vault. */
export const SEALED_VALUE = "<sealed>";
const Env = Type.Record(Type.String({ pattern: "^[A-Za-z_][A-Za-z0-9_]{0,127}$" }), Type.String({ maxLength: 4096 }), {
  maxProperties: 64,
  additionalProperties: false,
  description: `stored in the vault, together with the credentials up to 4 KiB of JSON; a value is answered as \`${SEALED_VALUE}\`, which in a PUT leaves it as it is`,
});
export type Env = Static<typeof Env>;

const CONFIG_MEMBERS = {
  region: Label,
  target_id: Label,
  provider_id: Label,
  role: Label,
  engine_id: Label,
  container: Type.String({
    pattern: IMAGE,
    maxLength: 255,
    description: "image of the container, as name:tag or name@sha256:...",
  }),
  env: Env,
  host: Type.String({ minLength: 1, maxLength: 253, pattern: "^[A-Za-z0-9.:_-]+$" }),
  port: Port,
  api_port: Port,
  rpc_port: Port,
  gateway_port: Port,
  api_url: Url,
  rpc_url: Url,
  gateway_url: Url,
  database: Type.String({ minLength: 1, maxLength: 63, pattern: "^[^\\u0000-\\u001f/]+$" }),
  tls: Tls,
  probe_path: UrlPath,
  entities_path: UrlPath,
  security: Security,
};

function nullableMembers<T extends TProperties>(members: T): { [M in keyof T]: TUnion<[T[M], TNull]> } {
  return Object.fromEntries(Object.entries(members).map(([name, schema]) => [name, nullable(schema)])) as {
    [M in keyof T]: TUnion<[T[M], TNull]>;
  };
}

const Credentials = Type.Record(
  Type.String({ pattern: "^[A-Za-z_][A-Za-z0-9_]{0,63}$" }),
  Type.String({ maxLength: 4096 }),
  {
    maxProperties: 16,
    additionalProperties: false,
    description:
      "stored in the vault and never answered: token; username and password; api_key; access key id and secret access key",
  },
);
export type Credentials = Static<typeof Credentials>;

const KEPT = { description: "members that are not named here are kept and given back; they have no effect" };
export const ConnectorConfig = keptObject(Type.Partial(Type.Object(CONFIG_MEMBERS)).properties, KEPT);
export type ConnectorConfig = Static<typeof ConnectorConfig>;

const Finding = Type.Object({ message: Type.String(), code: Type.String() });
export type ConnectorFinding = Static<typeof Finding>;

const Status = Type.Enum([...CONNECTOR_STATUSES]);

export const Connector = Type.Object(
  {
    id: Uuid,
    created_at: Timestamp,
    updated_at: Timestamp,
    application_id: Uuid,
    network_id: Uuid,
    name: Type.String(),
    type: Type.String(),
    status: Status,
    description: nullable(Type.String()),
    config: ConnectorConfig,
    accessed_at: nullable(Timestamp),
    is_virtual: Type.Optional(Type.Literal(true)),
    errors: Type.Array(Finding, {
      description: "why the status is `failed`, `unavailable` or still `deprovisioning`; empty otherwise",
    }),
  },
  { description: "a connector" },
);
export type Connector = Static<typeof Connector>;

/** Any JSON object; the service checks its size. */
const Metadata = Type.Object(
  {},
  { additionalProperties: true, description: "any members about the entity, up to 16 KiB of JSON" },
);

const EntityChild = Type.Object({
  id: Type.String(),
  name: Type.String(),
  hash: nullable(Type.String()),
  size: nullable(Type.Integer()),
  type: nullable(Type.String()),
});

export const Entity = Type.Object(
  {
    id: Type.String(),
    created_at: nullable(Timestamp),
    modified_at: nullable(Timestamp),
    name: nullable(Type.String()),
    filename: nullable(Type.String()),
    type: nullable(Type.String()),
    hash: nullable(Type.String()),
    href: nullable(Type.String()),
    size: nullable(Type.Integer()),
    source: nullable(Type.String()),
    parent: nullable(Type.String()),
    metadata: nullable(Metadata),
    data_url: Type.Optional(nullable(Type.String({ description: "content up to 4 MiB; in detail answers only" }))),
    raw: Type.Optional(
      nullable(Type.String({ description: "content, when it is UTF-8 text of up to 1 MiB; in detail answers only" })),
    ),
    children: Type.Optional(Type.Array(EntityChild)),
  },
  { description: "an entity in a connector's peer" },
);
export type Entity = Static<typeof Entity>;

const Probe = Type.Object({
  reachable: nullable(Type.Boolean({ description: "null when the peer could not be asked, as the vault is sealed" })),
  checked_at: Timestamp,
  latency_ms: nullable(Type.Number()),
  peer: nullable(Type.String({ description: "what the peer says it is" })),
  error: nullable(Finding),
});
export type Probe = Static<typeof Probe>;

export const ConnectorDetail = Type.Object(
  {
    ...Connector.properties,
    details: Type.Optional(
      Type.Object({
        data: nullable(Type.Array(Entity)),
        page: Type.Integer(),
        rpp: Type.Integer(),
        probe: nullable(Probe),
      }),
    ),
  },
  { description: "a connector and the present state of its peer" },
);
export type ConnectorDetail = Static<typeof ConnectorDetail>;

export const CreateConnector = closed({
  name: Name,
  network_id: Uuid,
  type: Type.String({ minLength: 1, maxLength: 64, description: "in any case" }),
  config: keptObject(
    { ...Type.Partial(Type.Object(CONFIG_MEMBERS)).properties, credentials: Type.Optional(Credentials) },
    KEPT,
  ),
  description: Type.Optional(nullable(Description)),
  is_virtual: Type.Optional(Type.Boolean()),
  ...SAID_OWNER,
});
export type CreateConnector = Static<typeof CreateConnector>;

/** Members of the configuration that are null are removed; absent ones stay. */
export const UpdateConnector = closed({
  name: Type.Optional(Name),
  description: Type.Optional(nullable(Description)),
  config: Type.Optional(
    keptObject(
      {
        ...Type.Partial(Type.Object(nullableMembers(CONFIG_MEMBERS))).properties,
        credentials: Type.Optional(nullable(Credentials)),
      },
      { ...KEPT, dropsRefused: true },
    ),
  ),
});
export type UpdateConnector = Static<typeof UpdateConnector>;

const Text = Type.String({ maxLength: 1000, pattern: "^[^\\u0000-\\u001f\\u007f]*$" });
/** One path segment below a directory. */
const FileName = Type.String({
  minLength: 1,
  maxLength: 255,
  pattern: "^(?!\\.{1,2}$)[^/\\\\\\u0000-\\u001f\\u007f]+$",
});
const CONTENT = {
  data_url: Type.Optional(nullable(Type.String({ maxLength: DATA_TEXT_MAX }))),
  raw: Type.Optional(nullable(Type.String({ maxLength: ENTITY_BYTES_MAX }))),
};

export const EntityInput = closed({
  ...CONTENT,
  name: Type.Optional(nullable(Text)),
  filename: Type.Optional(nullable(FileName)),
  type: Type.Optional(
    nullable(
      Type.String({ maxLength: 200, pattern: '^[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+(; ?[A-Za-z0-9=_."-]+)*$' }),
    ),
  ),
  hash: Type.Optional(
    nullable(Type.String({ maxLength: 128, description: "hash of content that the peer is to fetch and keep" })),
  ),
  metadata: Type.Optional(nullable(Metadata)),
  source: Type.Optional(nullable(Text)),
  parent: Type.Optional(nullable(Text)),
  children: Type.Optional(
    nullable(Type.Array(closed({ ...CONTENT, filename: FileName }), { minItems: 1, maxItems: CHILDREN_MAX })),
  ),
});
export type EntityInput = Static<typeof EntityInput>;

export const ContainerNode = Type.Object({
  id: Type.String(),
  created_at: nullable(Timestamp),
  application_id: Uuid,
  network_id: Uuid,
  role: Type.String(),
  status: Type.Enum(["created", "running", "stopped", "failed"]),
  host: Type.String(),
  ipv4: nullable(Type.String()),
  description: nullable(Type.String()),
  config: Type.Object({ image: Type.String(), provider_id: Type.String() }),
});
export type ContainerNode = Static<typeof ContainerNode>;

export const LoadBalancer = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    host: Type.String(),
    port: Port,
    container_port: Port,
    protocol: Type.Enum(["tcp", "udp"]),
    bind_address: Type.String(),
    status: Type.Enum(["active", "inactive"]),
  },
  { description: "a published endpoint of a container" },
);
export type LoadBalancer = Static<typeof LoadBalancer>;

export const ContainerLogs = Type.Object({
  logs: Type.Array(Type.Object({ timestamp: nullable(Timestamp), message: Type.String() })),
  prev_token: Type.Null({ description: "never set" }),
  next_token: Type.Null({ description: "never set" }),
});
export type ContainerLogs = Static<typeof ContainerLogs>;

export const ConnectorFilters = closed({
  name: Type.Optional(NameFilter),
  type: Type.Optional(Type.String({ maxLength: 64 })),
  network_id: Type.Optional(Uuid),
  status: Type.Optional(Type.String({ maxLength: 32 })),
});
export const DetailQuery = closed({
  objects: Type.Optional(
    Type.String({ maxLength: 4096, description: "ids of entities to return instead of all, separated by commas" }),
  ),
  enrichment: Type.Optional(Type.String({ maxLength: 64, description: "any value leaves `details` out" })),
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000, default: 1 })),
  rpp: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 25 })),
});
export const EntityQuery = closed({
  objects: Type.Optional(
    Type.String({ maxLength: 4096, description: "ids of entities to return instead of all, separated by commas" }),
  ),
});
export const LogsQuery = closed({
  rpp: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, default: 500, description: "lines, the newest ones" })),
});

export const ConnectorParams = closed({ id: Uuid });
/** An entity has the id that its peer gives it; one path segment. */
export const EntityParams = closed({
  id: Uuid,
  entity: Type.String({ minLength: 1, maxLength: 200, pattern: "^(?!\\.{1,2}$)[A-Za-z0-9._~:@+=-]+$" }),
});
/** A connector has one event subject, so that there is nothing to choose; existing clients send an empty object. */
export const SubscriptionBody = closed({});
