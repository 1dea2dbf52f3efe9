/** The client's commands of vaults as processes against one real server. */
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DEVELOPMENT_PHRASE_FILE } from "../../../src/vault/seal/providers/development.js";
import { runClient, type Outcome } from "../../support/client-process.js";
import { startServer, type TestServer } from "../../support/server.js";
import { folderOfTest, newFolder, removeFolder } from "../../support/temporary-folder.js";

let server: TestServer;
let folder: string;
let token: string;
let vault: string;

beforeAll(async () => {
  server = await startServer();
  folder = newFolder("client-vaults");
  ({ token } = await server.newUser());
  vault = (await made(["vault", "create", "payments", "--description=of the shop"])).id;
});

afterAll(async () => {
  await server.dispose();
  removeFolder(folder);
});

async function run(args: readonly string[], input?: string): Promise<Outcome> {
  return await runClient(args, { XDG_CONFIG_HOME: folder, PW_TOKEN: token, PW_SERVER: server.url }, input);
}

async function made(args: readonly string[], input?: string): Promise<{ id: string }> {
  const outcome = await run([...args, "--json"], input);
  expect(outcome, args.join(" ")).toMatchObject({ status: 0, errors: "" });
  return JSON.parse(outcome.output) as { id: string };
}

describe("vault", () => {
  it("makes, shows and lists, and takes a planned deletion back", async () => {
    expect((await run(["vault", "list"])).output).toMatch(new RegExp(`^${vault}  payments +of the shop +-$`, "m"));
    const deleted = await run(["vault", "delete", vault, "--recovery-days=7", "--json"]);
    const { deletes_at: deletesAt } = JSON.parse(deleted.output) as { deletes_at: string };
    expect((await run(["vault", "list"])).output).toContain(`of the shop  ${deletesAt}\n`);
    expect(await run(["vault", "restore", vault])).toMatchObject({ status: 0 });
    expect(JSON.parse((await run(["vault", "show", vault, "--json"])).output)).not.toHaveProperty("deletes_at");
    expect(await run(["vault", "delete", vault, "--recovery-days=soon"])).toMatchObject({ status: 2, output: "" });
  });

  it("tells what the server refuses in one line, with the request's id", async () => {
    const outcome = await run(["vault", "show", "00000000-0000-4000-8000-000000000000"]);
    expect(outcome).toMatchObject({ status: 3, output: "" });
    expect(outcome.errors).toMatch(/^proofwright: .+ \(request [\w-]+\)\.\n$/);
  });
});

describe("names", () => {
  it("stand for ids; an unknown one and an ambiguous one are refused with what helps", async () => {
    const first = await made(["vault", "create", "twin"]);
    const second = await made(["vault", "create", "twin"]);
    expect(JSON.parse((await run(["vault", "show", "payments", "--json"])).output)).toMatchObject({ id: vault });
    const hexadecimal = await made(["vault", "create", "0xcafe"]);
    expect(JSON.parse((await run(["vault", "show", "0xcafe", "--json"])).output)).toMatchObject(hexadecimal);
    const ambiguous = await run(["vault", "show", "twin"]);
    expect(ambiguous).toMatchObject({ status: 3, output: "" });
    for (const { id } of [first, second]) expect(ambiguous.errors).toContain(id);
    const unknown = await run(["vault", "show", "payment"]);
    expect(unknown).toMatchObject({ status: 3, output: "" });
    expect(unknown.errors).toBe(
      'proofwright: there is no vault "payment"; `proofwright vault list` shows what there is.\n',
    );
    // A key is looked for in the vault that stands before it.
    const { id } = await made(["key", "create", "payments", "ledger", "--spec=Ed25519"]);
    expect(await made(["key", "show", "payments", "ledger"])).toMatchObject({ id, vault_id: vault });
    expect(await run(["key", "show", first.id, "ledger"])).toMatchObject({ status: 3, output: "" });
  });
});

describe("wrong use", () => {
  it.each([
    [["vault", "lst"], "proofwright: unknown command 'lst'\n(Did you mean list?)\nSee `proofwright vault --help`.\n"],
    [["vault", "show"], "proofwright: missing required argument 'vault'\nSee `proofwright vault show --help`.\n"],
    [["key", "create", "x", "y"], "proofwright: required option '--spec <spec>' not specified\n"],
    [["vault", "list", "--all"], "proofwright: unknown option '--all'\n"],
  ])("%j is told as all failures are, with where to read on", async (args, sentence) => {
    const outcome = await run(args);
    expect(outcome).toMatchObject({ status: 2, output: "" });
    expect(outcome.errors.startsWith(sentence)).toBe(true);
    expect(outcome.errors).toContain("--help`.\n");
  });
});

describe("key", () => {
  it("gets a new version, is planned to be deleted, and taken back; the vault shows its public keys", async () => {
    const { id } = await made(["key", "create", vault, "wrapping", "--spec=AES-256-GCM"]);
    expect(await made(["key", "rotate", vault, "wrapping"])).toMatchObject({ id, generation: 2 });
    const signing = await made(["key", "create", vault, "planned", "--spec=Ed25519"]);
    const refused = await run(["key", "rotate", vault, "planned"]);
    expect(refused).toMatchObject({ status: 3, output: "" });
    expect(refused.errors).toContain("only symmetric keys can be rotated");
    expect(await made(["key", "delete", vault, "planned", "--recovery-days=3"])).toHaveProperty("deletes_at");
    expect(await run(["sign", vault, "planned", "--message=x"])).toMatchObject({ status: 3, output: "" });
    expect(await made(["key", "restore", vault, "planned"])).not.toHaveProperty("deletes_at");
    expect(await run(["sign", vault, "planned", "--message=x"])).toMatchObject({ status: 0 });
    const { output } = await run(["vault", "jwks", vault]);
    expect((JSON.parse(output) as { keys: { kid: string }[] }).keys.map(({ kid }) => kid)).toContain(signing.id);
  });
});

describe("key and sign", () => {
  it("sign a file or a text so that the signature is valid for that message alone", async () => {
    const { id } = await made(["key", "create", vault, "release", "--spec=Ed25519"]);
    const file = join(folderOfTest("message"), "message.bin");
    writeFileSync(file, new Uint8Array([0, 255, 10, 13]));
    for (const [message, other] of [
      ["--message=Grüße", "--message=Gruesse"],
      [`--file=${file}`, "--message=x"],
    ] as const) {
      const signed = await run(["sign", vault, id, message]);
      expect(signed).toMatchObject({ status: 0, errors: "" });
      expect(signed.output).toMatch(/^[0-9a-f]{128}\n$/);
      const check = ["key", "verify", vault, id, `--signature=${signed.output.trim()}`];
      expect(await run([...check, message])).toMatchObject({ status: 0, output: "The signature is valid.\n" });
      expect(await run([...check, other, "--json"])).toMatchObject({ status: 1, output: '{"verified":false}\n' });
    }
    expect((await run(["sign", vault, id])).errors).toContain("--message=TEXT or --file=FILE");
    const missing = await run(["sign", vault, id, `--file=${file}.gone`]);
    expect(missing).toMatchObject({ status: 2, output: "" });
    expect(missing.errors).toContain(`${file}.gone cannot be read`);
    expect(await run(["key", "disable", vault, id])).toMatchObject({ status: 0 });
    expect(await run(["sign", vault, id, "--message=x"])).toMatchObject({ status: 3 });
    expect(await run(["key", "enable", vault, id])).toMatchObject({ status: 0 });
    expect(await run(["sign", vault, id, "--message=x"])).toMatchObject({ status: 0 });
  });

  it("signs in the formats of Ethereum", async () => {
    const { id } = await made(["key", "create", vault, "account", "--spec=secp256k1"]);
    const personal = ["--message=hello", "--format=personal_sign"];
    const signed = await run(["sign", vault, id, ...personal]);
    const check = ["key", "verify", vault, id, `--signature=0x${signed.output.trim()}`];
    expect(await run([...check, ...personal])).toMatchObject({ status: 0 });
    const noObject = await run(["sign", vault, id, "--message=[", "--format=eip712"]);
    expect(noObject).toMatchObject({ status: 2, output: "" });
    expect(await run(["sign", vault, id, "--message=x", "--format=morse"])).toMatchObject({ status: 2 });
    expect((await run(["key", "list", vault])).output).toContain(id);
  });
});

describe("secret", () => {
  it("comes from a pipe or a file and goes into one, byte for byte, and is never shown beside", async () => {
    const value = "  first line\nzweite Zeile – ✓";
    const created = await run(["secret", "create", vault, "api", "--type=token"], `${value}\n`);
    expect(created).toMatchObject({ status: 0, errors: "" });
    expect(created.output).not.toContain("first line");
    const listed = JSON.parse((await run(["secret", "list", vault, "--json"])).output) as { id: string }[];
    expect(JSON.stringify(listed)).not.toContain("first line");
    const id = listed[0]!.id;
    expect(await run(["secret", "read", vault, id])).toEqual({ status: 0, output: value, errors: "" });

    const output = join(folderOfTest("secret"), "value");
    const written = await run(["secret", "read", vault, id, `--output=${output}`]);
    expect(written.output).not.toContain("first line");
    expect([readFileSync(output, "utf8"), statSync(output).mode & 0o777]).toEqual([value, 0o600]);
    expect(await run(["secret", "read", vault, id, `--output=${output}`])).toMatchObject({ status: 2, output: "" });

    const copy = await made(["secret", "create", vault, "copy", `--value-file=${output}`]);
    expect((await run(["secret", "read", vault, copy.id])).output).toBe(value);
    expect(await run(["secret", "create", vault, "none"], "\n")).toMatchObject({ status: 2, output: "" });
    expect(await made(["secret", "delete", vault, "copy"])).toHaveProperty("deletes_at");
    expect(await run(["secret", "read", vault, "copy"])).toMatchObject({ status: 3, output: "" });
    expect(await made(["secret", "restore", vault, "copy"])).not.toHaveProperty("deletes_at");
    expect((await run(["secret", "read", vault, "copy"])).output).toBe(value);
  });
});

describe("seal and unseal", () => {
  it("take the 24 words from a pipe or a file; a sealed vault signs nothing", async () => {
    expect(JSON.parse((await run(["seal", "status", "--json"])).output)).toMatchObject({ sealed: false });
    const { id } = await made(["key", "create", vault, "sealed", "--spec=Ed25519"]);
    const words = readFileSync(join(server.dataDir, DEVELOPMENT_PHRASE_FILE), "utf8");
    const wrong = await run(["seal", "now"], "abandon abandon");
    expect(wrong).toMatchObject({ output: "" });
    expect(wrong.status).not.toBe(0);
    expect(wrong.errors).not.toContain("abandon abandon");
    expect(await run(["seal", "now"], words)).toMatchObject({ status: 0, output: "The vaults are sealed.\n" });
    expect(await run(["sign", vault, id, "--message=x"])).toMatchObject({ status: 5, output: "" });
    const file = join(folderOfTest("words"), "words");
    writeFileSync(file, words);
    expect(await run(["unseal", `--key-file=${file}`])).toMatchObject({ status: 0, errors: "" });
    expect(await run(["sign", vault, id, "--message=x"])).toMatchObject({ status: 0 });
  });
});
