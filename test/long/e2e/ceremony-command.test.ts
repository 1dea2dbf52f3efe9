/** `proofwright ceremony contribute` and `verify` against a server: contributors with each kind of key, and the result. */
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { runCeremonyCommand } from "../../../src/commands/ceremony/ceremony-command.js";
import { readCeremonyAddress } from "../../../src/commands/ceremony/ceremony-server.js";
import { BEACON_BODY, CeremonyGround } from "../../prover/ceremonies/support.js";
import { newFolder, removeFolder } from "../../support/temporary-folder.js";

const ID = "7a4c1f2e-0000-4000-8000-00000000000a";

describe("proofwright ceremony", () => {
  let ground: CeremonyGround;
  let folder: string;

  beforeAll(async () => {
    ground = await CeremonyGround.open();
    folder = newFolder("ceremony-command");
  });
  afterAll(async () => {
    await ground.close();
    removeFolder(folder);
  });

  /** Runs the command, and returns what it wrote. */
  const run = async (...args: readonly string[]): Promise<{ readonly status: number; readonly output: string }> => {
    let output = "";
    const write = vi.spyOn(process.stdout, "write").mockImplementation((text) => {
      output += String(text);
      return true;
    });
    const silent = vi.spyOn(process.stderr, "write").mockImplementation(() => true);
    try {
      return { status: await runCeremonyCommand(args), output };
    } finally {
      write.mockRestore();
      silent.mockRestore();
    }
  };
  const contribute = async (id: string, name: string, ...more: readonly string[]) =>
    await run(
      ...["contribute", `${ground.url}/api/v1/ceremonies/${id}`, `--name=${name}`],
      ...[`--session-file=${join(folder, `${name}.token`)}`, ...more],
    );

  it("contributes, signs by each kind of key, and verifies what came of it", async () => {
    const id = await ground.begin({ minimum: 3 });
    const [seed, wallet, ssh, entropy] = ["seed", "wallet", "ssh", "entropy"].map((name) => join(folder, name));
    writeFileSync(seed!, "11".repeat(32));
    writeFileSync(wallet!, `0x${"22".repeat(32)}\n`);
    writeFileSync(entropy!, "dice: 4 2 6 1");
    execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", ssh!]);
    const statementFile = join(folder, "statement");
    const first = await contribute(id, "Ada", `--ed25519-key-file=${seed!}`, `--entropy-file=${entropy!}`);
    const second = await contribute(id, "Grace", `--ethereum-key-file=${wallet!}`, `--statement-file=${statementFile}`);
    const third = await contribute(id, "Emmy", `--ssh-key=${ssh!}`, "--github=emmy");
    expect([first.status, second.status, third.status]).toEqual([0, 0, 0]);
    expect(first.output).toContain(`ceremony: ${id}\n`);
    expect(first.output).not.toContain("11".repeat(32));
    expect(readFileSync(statementFile, "utf8")).toBe(second.output);
    // Neither keys nor tokens are left behind.
    expect(readdirSync(folder).sort()).toEqual(["entropy", "seed", "ssh", "ssh.pub", "statement", "wallet"]);
    const seen = await ground.see(id);
    expect(seen.contributions.map(({ name, statement }) => [name, statement?.kind])).toEqual([
      ["Ada", "ed25519"],
      ["Grace", "ethereum"],
      ["Emmy", "ssh"],
    ]);
    await ground.own("POST", `${id}/ceremony/beacon`, BEACON_BODY);
    await ground.until(id, "ended");

    const url = `${ground.url}/api/v1/ceremonies/${id}`;
    const ptau = join(folder, "powers.ptau");
    writeFileSync(ptau, ground.powers);
    const whole = await run("verify", url, `--ptau=${ptau}`);
    expect(whole, whole.output).toMatchObject({ status: 0 });
    expect(whole.output).toMatch(/^yes +chain /m);
    expect(whole.output).toContain("3 of 3 contributors have signed");
    expect((await run("verify", url)).status).toBe(3);

    const files = join(folder, "files");
    mkdirSync(files);
    for (const name of ["ceremony-transcript.json", "proving_key.zkey", "initial_key.zkey", "circuit.r1cs"])
      writeFileSync(join(files, name), await ground.file(id, `files/${name}`));
    copyFileSync(ptau, join(files, "powers.ptau"));
    expect((await run("verify", files)).status).toBe(0);
    const other = await run("verify", files, `--zkey=${join(files, "initial_key.zkey")}`);
    expect(other.status).toBe(1);
    expect(other.output).toMatch(/^NO +chain /m);
    const transcript = join(files, "ceremony-transcript.json");
    writeFileSync(transcript, readFileSync(transcript, "utf8").replace('"Grace"', '"Grac\\u001b[2J"'));
    const forged = await run("verify", files);
    expect(forged.status).toBe(1);
    expect(forged.output).not.toContain("\u001b");
  });

  it("keeps its place when it is stopped while it waits, and goes on", async () => {
    const id = await ground.begin({ open: false });
    const { body } = await ground.own<{ token: string }>("POST", `${id}/ceremony/invitations`, { name: "Ada" });
    const invitation = join(folder, "invitation");
    writeFileSync(invitation, `${body.token}\n`);
    const session = join(folder, "waiting.token");
    const joined = await ground.call<{ token: string }>("POST", `/ceremonies/${id}/join`, {
      body: { name: "Ada", invitation: body.token },
    });
    writeFileSync(session, joined.body.token, { mode: 0o600 });
    const url = `${ground.url}/api/v1/ceremonies/${id}`;
    // The invitation is used up: only the kept token leads on.
    await expect(contribute(id, "Eve", `--invitation-file=${invitation}`)).rejects.toThrow("refused");
    expect((await run("contribute", url, `--session-file=${session}`)).status).toBe(0);
    expect(existsSync(session)).toBe(false);
  });

  it("refuses wrong arguments and addresses", async () => {
    expect(readCeremonyAddress(`https://a.example/x/api/v1/ceremonies/${ID}`)).toEqual({
      base: "https://a.example/x",
      id: ID,
    });
    expect(readCeremonyAddress(`https://a.example/ceremony#id=${ID.toUpperCase()}`)).toEqual({
      base: "https://a.example",
      id: ID,
    });
    for (const url of ["", "https://a.example/", `ftp://a.example/${ID}`, `https://me:secret@a.example/${ID}`])
      expect(() => readCeremonyAddress(url)).toThrow("address of a ceremony");
    for (const args of [[], ["join"], ["contribute"], ["contribute", "a", "b"], ["verify", "a", "b"]])
      await expect(run(...args)).rejects.toThrow(/ceremony/);
    await expect(run("verify", join(folder, "nowhere"))).rejects.toThrow("there is no folder");
    await expect(run("verify")).rejects.toThrow("transcript is missing");
    await expect(
      run("contribute", `${ground.url}/api/v1/ceremonies/${ID}`, "--ssh-key=a", "--ethereum-key-file=b"),
    ).rejects.toThrow("one key");
  });
});
