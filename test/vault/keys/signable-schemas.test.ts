// What OpenAPI says can be signed: each example is of the published form, is signed as it stands, and is verified by
// viem or noble.
import { createHash } from "node:crypto";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import {
  keccak256,
  parseTransaction,
  recoverAddress,
  recoverMessageAddress,
  recoverTransactionAddress,
  recoverTypedDataAddress,
  type Hex,
  type TransactionSerialized,
  type TypedDataDefinition,
} from "viem";
import { recoverAuthorizationAddress } from "viem/utils";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { apiRoutes } from "../../../src/api.js";
import { openApiDocument } from "../../../src/platform/contract/openapi.js";
import { startVaultServer, type VaultServer } from "../http-support.js";

interface Example {
  readonly message: string & Record<string, unknown>;
  readonly options?: { readonly format?: string; readonly digest?: string; readonly encoding?: string };
  readonly batch?: readonly Example[];
}
interface Signed {
  readonly signature: string;
  readonly raw_transaction: TransactionSerialized;
  readonly transaction_hash: Hex;
  readonly jws: string;
}

const document = openApiDocument({ title: "x", version: "1" }, Object.values(apiRoutes)) as unknown as {
  readonly paths: Record<
    string,
    Record<string, { requestBody: { content: Record<string, { schema: object; examples: Record<string, unknown> }> } }>
  >;
  readonly components: object;
};
const SIGN = "/api/v1/vaults/{id}/keys/{key_id}/sign";
const { schema, examples } = document.paths[SIGN]!["post"]!.requestBody.content["application/json"]!;
const ajv = new Ajv2020({ strict: false, validateFormats: false });
const isPublished = ajv.compile({ ...schema, components: document.components });
const TRANSACTION_TYPES: Readonly<Record<string, string>> = {
  legacy_transaction: "legacy",
  access_list_transaction: "eip2930",
  fee_market_transaction: "eip1559",
  set_code_transaction: "eip7702",
};

let server: VaultServer;
let key: Record<string, string>;
let at: string;
beforeAll(async () => {
  server = await startVaultServer();
  ({ path: at, key } = await server.newKey("secp256k1"));
});
afterAll(async () => {
  await server.close();
});

async function signerOf({ message, options }: Example, signed: Signed): Promise<string> {
  const signature: Hex = `0x${signed.signature}`;
  switch (options?.format) {
    case "personal_sign":
      return await recoverMessageAddress({ message, signature });
    case "eip712":
      return await recoverTypedDataAddress({ ...(message as unknown as TypedDataDefinition), signature });
    case "authorization": {
      const {
        chain_id: chainId,
        address,
        nonce,
      } = message as unknown as { chain_id: number; address: Hex; nonce: number };
      return await recoverAuthorizationAddress({ authorization: { chainId, address, nonce }, signature });
    }
    case "transaction":
      expect(keccak256(signed.raw_transaction)).toBe(signed.transaction_hash);
      return await recoverTransactionAddress({ serializedTransaction: signed.raw_transaction });
    default: {
      const hash = options?.digest === "keccak256" ? keccak256(message as unknown as Hex) : `0x${message}`;
      return await recoverAddress({ hash: hash as Hex, signature });
    }
  }
}

describe("examples of what can be signed", () => {
  it("are there for each form", () => {
    const formats = Object.values(examples).map(
      (example) => (example as { value: Example }).value.options?.format ?? "raw",
    );
    expect([...new Set(formats)].sort()).toEqual(
      ["raw", "personal_sign", "eip712", "transaction", "authorization", "jws"].sort(),
    );
    expect(Object.keys(examples)).toEqual(expect.arrayContaining(Object.keys(TRANSACTION_TYPES)));
  });

  it.each(Object.entries(examples))("%s is of the published form and signed as it stands", async (name, example) => {
    const { value } = example as { value: Example };
    expect(isPublished(value), JSON.stringify(isPublished.errors)).toBe(true);
    const answer = await server.call("POST", `${at}/sign`, value);
    expect(answer.status, JSON.stringify(answer.body)).toBe(201);
    if (value.options?.format === "jws") {
      const [header, payload, signature] = (answer.body["jws"] as string).split(".");
      const digest = createHash("sha256").update(`${header!}.${payload!}`).digest();
      const publicKey = Buffer.from(key["public_key"]!.slice(2), "hex");
      expect(secp256k1.verify(Buffer.from(signature!, "base64url"), digest, publicKey, { prehash: false })).toBe(true);
      expect(Buffer.from(payload!, "base64url").toString()).toBe(value.message);
      return;
    }
    const items = value.batch ?? [value];
    const signatures = (answer.body.batch ?? [answer.body]) as unknown as Signed[];
    for (const [index, item] of items.entries())
      expect(await signerOf(item, signatures[index]!), name).toBe(key["address"]);
    const type = TRANSACTION_TYPES[name];
    if (type !== undefined) {
      const parsed = parseTransaction(signatures[0]!.raw_transaction);
      expect(parsed).toMatchObject({
        type,
        chainId: 1,
        nonce: 9,
        to: value.message["to"] === undefined ? undefined : (expect.any(String) as string),
        value: 10n ** 18n,
      });
    }
  });

  it("are told apart from what cannot be signed", () => {
    const transaction = (example: string): object =>
      (examples[example] as { value: { message: object } }).value.message;
    for (const message of [
      { ...transaction("legacy_transaction"), chain_id: -1 },
      { ...transaction("legacy_transaction"), to: "0x00" },
      { chain_id: 1 },
      { types: {}, domain: {} },
      5,
      null,
    ])
      expect(isPublished({ message }), JSON.stringify(message)).toBe(false);
  });
});
