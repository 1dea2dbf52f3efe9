/** Shapes of contracts and token contracts on the wire. */
import Type, { type Static } from "typebox";
import { Name, NameFilter, SAID_OWNER, Timestamp, Uuid, closed, nullable } from "../../platform/contract/schemas.js";
import { EVM_VERSIONS } from "../../engine/solidity/evm-versions.js";
import { Address, Hash as BlockHash, HdPathText, Quantity, Ref } from "../transactions/transaction-schemas.js";

/** All files of one source. OpenZeppelin's governor with all its imports has 250 KiB. */
export const SOURCE_BYTES_MAX = 1024 * 1024;
const SOURCE_FILES_MAX = 256;
/** Creation code: as much as a transaction carries. Main networks accept 48 KiB (EIP-3860). */
export const BYTECODE_BYTES_MAX = 128 * 1024;
/** As an import statement names it: `token/ERC20.sol`, `@openzeppelin/contracts/token/ERC20/ERC20.sol`. */
export const SOURCE_PATH_PATTERN = "^@?(?:[A-Za-z0-9_][A-Za-z0-9_.-]*/)*[A-Za-z0-9_][A-Za-z0-9_.-]*\\.sol$";
const ARGUMENTS_MAX = 64;
const BLOCK_TAGS = ["latest", "safe", "finalized", "pending", "earliest"] as const;

const CONTRACT_STATUSES = ["registered", "compiling", "compiled", "deploying", "deployed", "failed"] as const;
export type ContractStatus = (typeof CONTRACT_STATUSES)[number];
/** Types that `filter_tokens` leaves out. */
export const TOKEN_TYPES = ["erc20", "erc721", "erc1155"] as const;
export type TokenType = (typeof TOKEN_TYPES)[number];

const Label = Type.String({ minLength: 1, maxLength: 200, pattern: "^[^\\u0000-\\u001f\\u007f]+$" });
const ContractType = Type.String({
  minLength: 1,
  maxLength: 64,
  pattern: "^[a-z0-9_.-]+$",
  description: "erc20, erc721 and erc1155 are detected; any other word has the meaning that the caller gives it",
});
const SourcePath = Type.String({ pattern: SOURCE_PATH_PATTERN, maxLength: 200 });
const SourceText = Type.String({ minLength: 1, maxLength: SOURCE_BYTES_MAX });
const Abi = Type.Array(Type.Unknown(), { maxItems: 2_000, description: "the contract's ABI (JSON)" });
const Arguments = Type.Array(Type.Unknown(), {
  maxItems: ARGUMENTS_MAX,
  description: "integers as safe integers or decimal or 0x-hex texts, bytes as 0x-hex, tuples as lists or objects",
});
const BytecodeText = Type.String({ maxLength: 2 + 2 * BYTECODE_BYTES_MAX });
const LinkReferences = Type.Record(
  Type.String(),
  Type.Record(
    Type.String(),
    Type.Array(Type.Object({ start: Type.Integer({ minimum: 0 }), length: Type.Integer({ minimum: 0 }) })),
  ),
);

export const ContractFinding = Type.Object(
  {
    message: Type.String(),
    code: Type.String(),
    file: Type.Optional(Type.String()),
    line: Type.Optional(Type.Integer({ minimum: 1 })),
    column: Type.Optional(Type.Integer({ minimum: 1 })),
  },
  { description: "a diagnostic" },
);
export type ContractFinding = Static<typeof ContractFinding>;

/** Build tools write more members into their artifacts; those not named here are not stored. */
const CompiledArtifact = Type.Object(
  {
    contractName: Type.Optional(Label),
    name: Type.Optional(Label),
    abi: Type.Optional(Abi),
    bytecode: Type.Optional(
      nullable(
        Type.Union(
          [
            BytecodeText,
            Type.Object(
              { object: BytecodeText, linkReferences: Type.Optional(LinkReferences) },
              { additionalProperties: true },
            ),
          ],
          { description: "creation code, hex" },
        ),
      ),
    ),
    source: Type.Optional(
      nullable(Type.Union([Type.String({ maxLength: SOURCE_BYTES_MAX }), Type.Record(Type.String(), Type.String())])),
    ),
    opcodes: Type.Optional(nullable(Type.String({ maxLength: SOURCE_BYTES_MAX }))),
    deps: Type.Optional(nullable(Type.Object({}, { additionalProperties: true }))),
    linkReferences: Type.Optional(LinkReferences),
  },
  { additionalProperties: true, description: "a compiler's output: `abi` and, to deploy, `bytecode`" },
);

/** Who signs and what the transaction may cost. Members of `params` of a creation and of an execution. */
const SIGNING = {
  account_id: Type.Optional(Uuid),
  account_address: Type.Optional(Address),
  account: Type.Optional(Type.Union([Uuid, Address], { description: "an account by id or address" })),
  wallet_id: Type.Optional(Uuid),
  hd_derivation_path: Type.Optional(HdPathText),
  value: Type.Optional(Quantity),
  gas: Type.Optional(Quantity),
  gas_price: Type.Optional(Quantity),
  max_fee_per_gas: Type.Optional(Quantity),
  max_priority_fee_per_gas: Type.Optional(Quantity),
  nonce: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
  ref: Type.Optional(Ref),
};

export const ContractParamsInput = closed(
  {
    compiled_artifact: Type.Optional(nullable(CompiledArtifact)),
    abi: Type.Optional(nullable(Abi)),
    raw_source: Type.Optional(
      nullable(
        Type.Union(
          [
            SourceText,
            Type.Record(SourcePath, Type.Union([SourceText, closed({ content: SourceText })]), {
              minProperties: 1,
              maxProperties: SOURCE_FILES_MAX,
            }),
          ],
          { description: "Solidity source: one text, or an object of path -> text with every imported file" },
        ),
      ),
    ),
    main: Type.Optional(nullable(SourcePath)),
    contract_name: Type.Optional(
      nullable(
        Type.String({
          maxLength: 300,
          pattern: "^(?:[A-Za-z0-9_@./-]+:)?[A-Za-z_$][A-Za-z0-9_$]*$",
          description: "`Name` or `path:Name`; needed where the source has several contracts",
        }),
      ),
    ),
    name: Type.Optional(nullable(Label)),
    settings: Type.Optional(
      nullable(
        closed({
          evm_version: Type.Optional(Type.Enum([...EVM_VERSIONS], { description: "`cancun` unless given" })),
          optimizer_runs: Type.Optional(
            nullable(
              Type.Integer({
                minimum: 1,
                maximum: 4_294_967_295,
                description: "200 unless given; null leaves the optimizer off",
              }),
            ),
          ),
          via_ir: Type.Optional(Type.Boolean()),
        }),
      ),
    ),
    libraries: Type.Optional(
      nullable(
        Type.Record(Type.String({ minLength: 1, maxLength: 300 }), Address, {
          maxProperties: 64,
          description: "`Name` or `path:Name` -> address of a deployed library",
        }),
      ),
    ),
    argv: Type.Optional(nullable(Arguments)),
    ...SIGNING,
  },
  { description: "what the contract is made from, and which account pays for its deployment" },
);
export type ContractParamsInput = Static<typeof ContractParamsInput>;

const AddressInput = Type.Union([Address, Type.Literal("0x"), Type.Literal("")], {
  description: "empty or `0x`: not deployed yet",
});

export const CreateContract = closed(
  {
    ...SAID_OWNER,
    network_id: Uuid,
    contract_id: Type.Optional(nullable(Uuid)),
    name: Type.Optional(nullable(Name)),
    address: Type.Optional(nullable(AddressInput)),
    type: Type.Optional(nullable(ContractType)),
    params: Type.Optional(nullable(ContractParamsInput)),
  },
  { description: "a contract to register or to deploy" },
);
export type CreateContract = Static<typeof CreateContract>;

export const UpdateContract = closed(
  {
    name: Type.Optional(Name),
    type: Type.Optional(nullable(ContractType)),
    params: Type.Optional(
      nullable(
        Type.Object(
          { abi: Type.Optional(Abi) },
          {
            additionalProperties: true,
            description: "`abi` can change; other members may be sent back as they are",
          },
        ),
      ),
    ),
  },
  { description: "members to change" },
);
export type UpdateContract = Static<typeof UpdateContract>;

export const ContractFilters = closed({
  name: Type.Optional(NameFilter),
  application_id: Type.Optional(Uuid),
  network_id: Type.Optional(Uuid),
  type: Type.Optional(Type.String({ maxLength: 64 })),
  filter_tokens: Type.Optional(
    Type.Boolean({ description: "leaves token contracts out; by default true, and false where `type` is given" }),
  ),
  sort: Type.Optional(Type.Literal("recent", { description: "last used first" })),
});
export type ContractFilters = Static<typeof ContractFilters>;

export const ContractIdParams = closed({ id: Type.Union([Uuid, Address], { description: "UUID, or address" }) });

/** What is stored of source, artifact and compile. */
const StoredParams = Type.Object(
  {},
  {
    additionalProperties: true,
    description:
      "absent from lists; in a detail `abi`, `bytecode`, `deps`, `fingerprint` (SHA-256 of the linked creation code), `name`, `opcodes`, `source` and the compiler's settings and warnings",
  },
);

const CONTRACT_MEMBERS = {
  id: Uuid,
  created_at: Timestamp,
  updated_at: Timestamp,
  application_id: nullable(Uuid),
  organization_id: nullable(Uuid),
  user_id: nullable(Uuid),
  network_id: Uuid,
  contract_id: nullable(Uuid),
  transaction_id: nullable(Uuid),
  name: Type.String(),
  address: Type.String({ description: "`0x` until it is deployed" }),
  type: nullable(Type.String()),
  status: Type.Enum([...CONTRACT_STATUSES]),
  errors: Type.Array(ContractFinding, { description: "why the compile or the deployment failed; empty otherwise" }),
  accessed_at: nullable(Timestamp),
  pubsub_prefix: Type.String({
    pattern: "^[0-9a-f]{64}$",
    description: "SHA-256 of `<owner id>.<address>`; changes once the address is known",
  }),
};
export const Contract = Type.Object(
  { ...CONTRACT_MEMBERS, params: Type.Optional(nullable(StoredParams)) },
  { description: "a contract" },
);
export type Contract = Static<typeof Contract>;

export const ExecuteContract = closed(
  {
    method: Type.Optional(
      nullable(
        Type.String({
          maxLength: 2_000,
          description:
            "name, or full signature such as `transfer(address,uint256)`; an empty one deploys a contract that is not deployed yet",
        }),
      ),
    ),
    params: Type.Optional(nullable(Arguments)),
    ...SIGNING,
    from: Type.Optional(
      Type.Union([Address], { description: "the sender that a view method sees; any address, as nothing is signed" }),
    ),
    block: Type.Optional(
      Type.Union(
        [Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }), Type.Enum([...BLOCK_TAGS]), BlockHash],
        { description: "the block at whose end a view method is called: number, tag or hash; `latest` unless given" },
      ),
    ),
    subsidize: Type.Optional(nullable(Type.Boolean())),
  },
  { description: "a call" },
);
export type ExecuteContract = Static<typeof ExecuteContract>;

export const ReadResult = Type.Object({
  confidence: Type.Null({ description: "never set" }),
  ref: Type.String(),
  response: Type.Unknown({
    description:
      "the value; several values as an object by name, or as a list. Integers of more than 48 bits are decimal texts, bytes 0x-hex",
  }),
});
export const WriteResult = Type.Object({
  confidence: Type.Null({ description: "never set" }),
  ref: Type.String({ description: "names the transaction in GET /transactions/:id" }),
});

export const TokenContract = Type.Object(
  {
    id: Uuid,
    created_at: Timestamp,
    application_id: nullable(Uuid),
    organization_id: nullable(Uuid),
    user_id: nullable(Uuid),
    network_id: Uuid,
    contract_id: Uuid,
    sale_contract_id: nullable(Uuid),
    type: Type.String(),
    name: nullable(Type.String()),
    symbol: nullable(Type.String()),
    decimals: nullable(Type.Integer({ minimum: 0, maximum: 255 })),
    address: Type.String(),
    sale_address: nullable(Type.String()),
    accessed_at: nullable(Timestamp),
  },
  { description: "a token; its id is that of its contract" },
);
export type TokenContract = Static<typeof TokenContract>;

export const CreateTokenContract = closed(
  {
    ...SAID_OWNER,
    network_id: Type.Optional(nullable(Uuid)),
    contract_id: Type.Optional(nullable(Uuid)),
    address: Type.Optional(nullable(Address)),
    type: Type.Optional(nullable(Type.Enum([...TOKEN_TYPES]))),
    name: Type.Optional(nullable(Name)),
    symbol: Type.Optional(nullable(Label)),
    decimals: Type.Optional(nullable(Type.Integer({ minimum: 0, maximum: 255 }))),
    sale_contract_id: Type.Optional(nullable(Uuid)),
    sale_address: Type.Optional(nullable(Address)),
  },
  {
    description:
      "`contract_id` of a known contract, or `network_id` and `address`; what is left out is asked of the contract itself",
  },
);
export type CreateTokenContract = Static<typeof CreateTokenContract>;
export const TokenFilters = closed({
  name: Type.Optional(NameFilter),
  network_id: Type.Optional(Uuid),
  sort: Type.Optional(Type.Literal("recent")),
});
export type TokenFilters = Static<typeof TokenFilters>;
export const TokenIdParams = closed({ id: Uuid });
