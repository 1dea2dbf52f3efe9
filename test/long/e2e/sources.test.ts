/** What was built can be built again: a source comes in as an archive, goes out as one, and makes the same bytes. */
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startServer, type TestServer } from "../../support/server.js";
import { tarGz } from "../../support/tar.js";

const FILES = {
  "circuits/main.circom":
    'pragma circom 2.1.6;\ninclude "../lib/square.circom";\ninclude "circomlib/circuits/bitify.circom";\ntemplate M() { signal input a; signal output b; component s = Square(); s.x <== a; b <== s.y; component n = Num2Bits(4); n.in <== a; }\ncomponent main = M();\n',
  "lib/square.circom": "pragma circom 2.1.6;\ntemplate Square() { signal input x; signal output y; y <== x * x; }\n",
};
const QUERY = "?proving_scheme=groth16&curve=BN254&main=circuits/main.circom";
/** Files that follow from source and compiler alone. */
const BUILT = ["circuit.wasm", "circuit.r1cs", "circuit.sym", "interface.json", "source.json"];

let server: TestServer;

beforeAll(async () => {
  server = await startServer();
});
afterAll(async () => {
  await server.dispose();
});

interface Owner {
  readonly user: Awaited<ReturnType<TestServer["newUser"]>>;
  readonly id: string;
}

async function registered(packed: Uint8Array<ArrayBuffer>): Promise<Owner> {
  const user = await server.newUser();
  const answer = await fetch(`${server.url}/api/v1/provers${QUERY}`, {
    method: "POST",
    headers: { Authorization: `bearer ${user.token}`, "Content-Type": "application/gzip" },
    body: packed,
  });
  expect(answer.status).toBe(202);
  const prover = (await answer.json()) as { id: string };
  return { user, id: prover.id };
}

/** Waits until the circuit is compiled; its keys are of no interest here. */
async function builtFiles({ user: { api }, id }: Owner): Promise<Record<string, string | null>> {
  const list = async (): ReturnType<typeof api.listProverArtifacts> =>
    await api.listProverArtifacts({ params: { id } });
  await expect.poll(async () => (await list()).body.map(({ name }) => name)).toContain("circuit.r1cs");
  const { body } = await list();
  return Object.fromEntries(body.filter(({ name }) => BUILT.includes(name)).map(({ name, sha256 }) => [name, sha256]));
}

it("a circuit that is registered from the archive of another is the same, bit by bit", async () => {
  const first = await registered(
    new Uint8Array(
      tarGz(
        { name: "README.md", content: "x" },
        ...Object.entries(FILES).map(([name, content]) => ({ name, content })),
      ),
    ),
  );
  const { api } = first.user;
  const params = { id: first.id };
  const source = await api.getProverSource({ params });
  expect(JSON.parse(Buffer.from(source.bytes).toString("utf8"))).toEqual({
    files: FILES,
    main: "circuits/main.circom",
  });
  const archive = await api.getProverSourceArchive({ params });
  expect(gunzipSync(archive.bytes).subarray(0, 20).toString("utf8")).toBe("circuits/main.circom");

  const second = await registered(new Uint8Array(archive.bytes));
  const [one, other] = await Promise.all([builtFiles(first), builtFiles(second)]);
  expect(Object.keys(one).sort()).toEqual([...BUILT].sort());
  expect(other).toEqual(one);
  const record = (await api.getProver({ params })).body;
  const again = (await second.user.api.getProver({ params: { id: second.id } })).body;
  expect(record.compiler).toMatch(/^circom2 \d+\.\d+\.\d+ with circomlib \d+\.\d+\.\d+$/);
  expect(record.source_hash).toMatch(/^[0-9a-f]{64}$/);
  expect(record.identifier).toBe(`source-${record.source_hash!.slice(0, 16)}`);
  expect([again.compiler, again.source_hash, again.options]).toEqual([
    record.compiler,
    record.source_hash,
    record.options,
  ]);

  // Another owner's source is not there.
  await expect(second.user.api.getProverSource({ params })).rejects.toMatchObject({ status: 404 });
  await expect(second.user.api.getProverSourceArchive({ params })).rejects.toMatchObject({ status: 404 });
});
