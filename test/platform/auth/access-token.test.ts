/**
 * T17: forged, re-spelled and misused access tokens. SOURCE of the attack classes: RFC 8725 section 2, OWASP ASVS 5.0
 * chapter 9.
 */
import { createHmac, createPrivateKey, generateKeyPairSync, randomUUID, sign as signRaw } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { AccessTokenVerifier, accessClaims, type TokenStateLookup } from "../../../src/platform/auth/access-token.js";
import type { Principal, Subject } from "../../../src/platform/auth/principal.js";
import { createRefreshToken } from "../../../src/platform/auth/refresh-token.js";
import {
  PUBLISH_BEFORE_USE_MS,
  openSigningKeys,
  publicKeyPem,
  type SigningKeys,
} from "../../../src/platform/auth/signing-keys.js";
import { HeldClock, quietLog, temporaryFolder } from "./support.js";
import { secretFile } from "../../../src/platform/files/secret-file.js";

const ISSUER = "https://issuer.test";
const SUBJECT: Subject = { kind: "user", id: randomUUID() };
const SESSION = randomUUID();

let clock: HeldClock;
let keys: SigningKeys;
let keyPath: string;
let epoch: number | undefined;
let sessions: Set<string>;
let verifier: AccessTokenVerifier;
const fetchSpy = vi.fn();

let revision = 0;
/** Changes with every look, as if something were written all the time. */
const state: TokenStateLookup = {
  revision: () => (revision += 1),
  epochOf: (subject) => (subject.kind === SUBJECT.kind && subject.id === SUBJECT.id ? epoch : undefined),
  isSessionLive: (subject, sessionId) => subject.id === SUBJECT.id && sessions.has(sessionId),
};

type Claims = Record<string, unknown>;

function soundClaims(): Claims {
  const nowSec = Math.floor(clock.nowMs() / 1000);
  return accessClaims({
    issuer: ISSUER,
    subject: SUBJECT,
    permissions: 415,
    epoch: 3,
    tokenId: randomUUID(),
    sessionId: SESSION,
    nowSec,
  });
}

function encode(value: unknown): string {
  return Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");
}

function soundHeader(): Claims {
  return { alg: "EdDSA", kid: keys.publicKeys()[0]!.kid, typ: "at+jwt" };
}

/** Signs any header and payload with the server's own current key: the strongest forger there is. */
function signedWithOurKey(header: unknown, payload: unknown): string {
  const { current } = JSON.parse(readFileSync(keyPath, "utf8")) as { current: { d: string; x: string } };
  const key = createPrivateKey({ key: { kty: "OKP", crv: "Ed25519", d: current.d, x: current.x }, format: "jwk" });
  const input = `${encode(header)}.${encode(payload)}`;
  return `${input}.${signRaw(null, Buffer.from(input), key).toString("base64url")}`;
}

async function soundToken(): Promise<string> {
  return keys.sign(soundClaims());
}

/**
 * A verifier that tells whether it verifies a token anew: its key is then looked up for the signature, and once more as
 * at every use.
 */
function watched(cachedTokensMax?: number): { target: AccessTokenVerifier; verifies: (token: string) => boolean } {
  let looks = 0;
  const counted = {
    findByHeader: (header: string) => {
      looks += 1;
      return keys.findByHeader(header);
    },
  };
  const target = new AccessTokenVerifier(
    { issuer: ISSUER, ...(cachedTokensMax === undefined ? {} : { cachedTokensMax }) },
    { clock, keys: counted, state },
  );
  return {
    target,
    verifies: (token) => {
      looks = 0;
      target.authenticate(token);
      return looks === 2;
    },
  };
}

function outcome(token: string, target: AccessTokenVerifier = verifier, area?: "prover" | "vault"): Principal | string {
  try {
    return target.authenticate(token, area);
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
}

beforeAll(() => {
  vi.stubGlobal("fetch", fetchSpy);
});
afterAll(() => {
  vi.unstubAllGlobals();
});

beforeEach(async () => {
  clock = new HeldClock();
  keyPath = join(temporaryFolder(), "keys.json");
  keys = await openSigningKeys({ file: secretFile(keyPath) }, { clock, log: quietLog });
  epoch = 3;
  sessions = new Set([SESSION]);
  verifier = new AccessTokenVerifier({ issuer: ISSUER }, { clock, keys, state });
});

afterEach(() => {
  expect(fetchSpy).not.toHaveBeenCalled();
});

describe("a valid access token", () => {
  it("is accepted and stands for its subject", async () => {
    const principal = verifier.authenticate(await soundToken());
    expect(principal).toMatchObject({ subject: SUBJECT, permissions: 415, sessionId: SESSION });
  });

  it("is accepted when the forger's tools sign it, so that they do not cause the refusals below", async () => {
    expect(outcome(signedWithOurKey(soundHeader(), soundClaims()))).toMatchObject({ subject: SUBJECT });
  });

  it.each(["application", "organization"] as const)("may name an %s", async (kind) => {
    const subject: Subject = { kind, id: randomUUID() };
    const other = new AccessTokenVerifier(
      { issuer: ISSUER },
      { clock, keys, state: { revision: () => 1, epochOf: () => 1, isSessionLive: () => true } },
    );
    const nowSec = Math.floor(clock.nowMs() / 1000);
    const token = await keys.sign({
      ...accessClaims({
        issuer: ISSUER,
        subject,
        permissions: 510,
        epoch: 1,
        tokenId: randomUUID(),
        sessionId: SESSION,
        nowSec,
      }),
      act: SUBJECT.id,
    });
    expect(outcome(token, other)).toMatchObject({ subject, actingUserId: SUBJECT.id });
  });

  it("is cached once it was verified, and verified anew after a minute", async () => {
    const token = await soundToken();
    const { target, verifies } = watched();
    const first = target.authenticate(token);
    expect(verifies(token)).toBe(false);
    expect(target.authenticate(token)).toEqual(first);
    clock.advanceSec(60);
    expect(verifies(token)).toBe(true);
  });

  it("is accepted up to its end and the tolerance of 30 s, not beyond", async () => {
    const token = await soundToken();
    clock.advanceSec(900 + 29);
    expect(outcome(token)).toMatchObject({ subject: SUBJECT });
    clock.advanceSec(1);
    expect(outcome(token)).toBe("unauthorized");
  });

  it("outlives a rotation of the signing keys, but not their replacement", async () => {
    clock.ms += PUBLISH_BEFORE_USE_MS;
    const token = await soundToken();
    await keys.rotate();
    expect(outcome(token)).toMatchObject({ subject: SUBJECT });
    await keys.replaceAll();
    expect(outcome(token)).toBe("unauthorized");
  });
});

describe("a cached token", () => {
  async function remembered(): Promise<string> {
    const token = await soundToken();
    verifier.authenticate(token);
    return token;
  }

  it.each([
    ["its session ends", () => sessions.clear()],
    [
      "its subject's epoch moves on",
      () => {
        epoch = 4;
      },
    ],
    [
      "its subject goes or is disabled",
      () => {
        epoch = undefined;
      },
    ],
    [
      "it expires",
      () => {
        clock.advanceSec(931);
      },
    ],
  ])("is refused as soon as %s", async (_name, change) => {
    const token = await remembered();
    change();
    expect(outcome(token)).toBe("unauthorized");
  });

  it("is refused within a second after a change by another process", async () => {
    const untold = new AccessTokenVerifier({ issuer: ISSUER }, { clock, keys, state: { ...state, revision: () => 7 } });
    const token = await soundToken();
    untold.authenticate(token);
    sessions.clear();
    clock.ms += 999;
    expect(outcome(token, untold)).toMatchObject({ subject: SUBJECT });
    clock.ms += 1;
    expect(outcome(token, untold)).toBe("unauthorized");
  });

  it("does not crowd out others beyond the limit", async () => {
    const { target, verifies } = watched(2);
    const tokens = [await soundToken(), await soundToken(), await soundToken()];
    for (const token of tokens) target.authenticate(token);
    expect([...tokens].reverse().map(verifies)).toEqual([false, false, true]);
  });
});

/** Each forgery as a maker, because keys and clock are fresh for every test. */
const FORGERIES: readonly (readonly [string, () => string | Promise<string>])[] = [
  // Algorithms
  ...["none", "None", "nOnE", "NONE", ""].flatMap((alg) => [
    [
      `alg ${JSON.stringify(alg)} without signature`,
      () => `${encode({ ...soundHeader(), alg })}.${encode(soundClaims())}.`,
    ] as const,
    [
      `alg ${JSON.stringify(alg)} with a signature`,
      () => signedWithOurKey({ ...soundHeader(), alg }, soundClaims()),
    ] as const,
  ]),
  ...["HS256", "HS384", "HS512"].map(
    (alg) =>
      [
        `${alg} keyed with the public key in PEM`,
        () => hmacToken(alg, () => publicKeyPem(keys.publicKeys()[0]!)),
      ] as const,
  ),
  [
    "HS256 keyed with the public key's bytes",
    () => hmacToken("HS256", () => Buffer.from((keys.publicKeys()[0] as { x: string }).x, "base64url")),
  ],
  ["HS256 keyed with nothing", () => hmacToken("HS256", () => "")],
  ["RS256 by a key of the forger", () => foreignToken("RS256")],
  ["ES256 by a key of the forger", () => foreignToken("ES256")],
  ["alg eddsa in small letters", () => signedWithOurKey({ ...soundHeader(), alg: "eddsa" }, soundClaims())],
  ["alg Ed25519", () => signedWithOurKey({ ...soundHeader(), alg: "Ed25519" }, soundClaims())],
  ["alg missing", () => signedWithOurKey({ kid: soundHeader()["kid"], typ: "at+jwt" }, soundClaims())],
  // Header members
  ...(
    [
      ["jku", "http://127.0.0.1:9/keys"],
      ["jwk", { kty: "OKP" }],
      ["x5u", "http://127.0.0.1:9/c"],
      ["x5c", ["MII"]],
      ["x5t", "AA"],
      ["crit", ["exp"]],
      ["b64", false],
      ["zip", "DEF"],
      ["cty", "JWT"],
      ["p2c", 1e9],
      ["epk", {}],
    ] as const
  ).map(
    ([name, value]) =>
      [`header with ${name}`, () => signedWithOurKey({ ...soundHeader(), [name]: value }, soundClaims())] as const,
  ),
  ...[
    "../../keys.json",
    "/dev/null",
    "' OR 1=1 --",
    "http://127.0.0.1:9/",
    "",
    "__proto__",
    "constructor",
    "A".repeat(1000),
  ].map(
    (kid) =>
      [
        `kid ${JSON.stringify(kid.slice(0, 24))}`,
        () => signedWithOurKey({ ...soundHeader(), kid }, soundClaims()),
      ] as const,
  ),
  ["kid missing", () => signedWithOurKey({ alg: "EdDSA", typ: "at+jwt" }, soundClaims())],
  ["kid of the next key", () => signedWithOurKey({ ...soundHeader(), kid: keys.publicKeys()[1]!.kid }, soundClaims())],
  [
    "kid twice",
    () =>
      signedWithOurKey(`{"alg":"EdDSA","kid":"x","kid":"${keys.publicKeys()[0]!.kid}","typ":"at+jwt"}`, soundClaims()),
  ],
  ...["JWT", "AT+JWT", "application/at+jwt", "rt+jwt", ""].map(
    (typ) => [`typ ${JSON.stringify(typ)}`, () => signedWithOurKey({ ...soundHeader(), typ }, soundClaims())] as const,
  ),
  ["typ missing", () => signedWithOurKey({ alg: "EdDSA", kid: soundHeader()["kid"] }, soundClaims())],
  ["header with white space", () => signedWithOurKey(JSON.stringify(soundHeader(), undefined, 1), soundClaims())],
  ["header that is an array", () => signedWithOurKey([soundHeader()], soundClaims())],
  // Claims
  ...(
    [
      ["iss", "https://issuer.test/"],
      ["iss", "https://ISSUER.test"],
      ["iss", [ISSUER]],
      ["iss", ""],
      ["aud", "privacy"],
      ["aud", []],
      ["aud", ["other"]],
      ["aud", ["privacy", "other"]],
      ["aud", ["privacy"]],
      ["aud", { 0: "privacy" }],
      ["aud", ["privacy", "vault", "chain", "ident", "privacy"]],
      ["sub", "user:*"],
      ["sub", SUBJECT.id],
      ["sub", `token:${SUBJECT.id}`],
      ["sub", `invite:${SUBJECT.id}`],
      ["sub", `user:${SUBJECT.id}:x`],
      ["sub", `user:${SUBJECT.id.toUpperCase()}`],
      ["sub", `USER:${SUBJECT.id}`],
      ["sub", `application:${SUBJECT.id}`],
      ["sub", `organization:${SUBJECT.id}`],
      ["sub", `user:${randomUUID()}`],
      ["sub", ""],
      ["sub", null],
      ["sub", `user: ${SUBJECT.id}`],
      ["jti", ""],
      ["jti", "x"],
      ["jti", 1],
      ["sid", randomUUID()],
      ["sid", ""],
      ["sid", null],
      ["perm", -1],
      ["perm", 2 ** 32 + 2],
      ["perm", 2 ** 31],
      ["perm", 1.5],
      ["perm", "415"],
      ["perm", null],
      ["perm", [415]],
      ["ep", 2],
      ["ep", -1],
      ["ep", "3"],
      ["ep", 3.5],
      ["ep", null],
      ["exp", "9999999999"],
      ["exp", 0],
      ["exp", -1],
      ["exp", null],
      ["exp", 9_999_999_999],
      ["exp", 9e300],
      ["iat", "0"],
      ["iat", 0],
      ["iat", null],
      ["nbf", "0"],
      ["nbf", null],
      ["act", "someone"],
      ["act", null],
      ["client_id", "someone"],
      ["client_id", null],
      ["admin", true],
      ["scope", "*"],
      ["permissions", 2 ** 29],
      ["user_id", randomUUID()],
    ] as const
  ).map(
    ([name, value]) =>
      [
        `claim ${name} = ${JSON.stringify(value)}`,
        () => signedWithOurKey(soundHeader(), { ...soundClaims(), [name]: value }),
      ] as const,
  ),
  ...["iss", "aud", "sub", "iat", "nbf", "exp", "jti", "sid", "perm", "ep"].map(
    (name) =>
      [
        `claim ${name} missing`,
        () => {
          const { [name]: _removed, ...rest } = soundClaims();
          return signedWithOurKey(soundHeader(), rest);
        },
      ] as const,
  ),
  [
    "exp written 1e400",
    () => signedWithOurKey(soundHeader(), JSON.stringify(soundClaims()).replace(/"exp":\d+/, '"exp":1e400')),
  ],
  ["exp with a fraction", () => shifted({ exp: 0.5 })],
  ["expired", () => shifted({ iat: -2000, nbf: -2000, exp: -2000 })],
  ["issued in the future", () => shifted({ iat: 31, nbf: 0, exp: 0 })],
  ["not valid yet", () => shifted({ nbf: 31 })],
  ["living longer than its kind may", () => shifted({ exp: 1 })],
  ["payload that is an array", () => signedWithOurKey(soundHeader(), [soundClaims()])],
  ["payload that is no JSON", () => signedWithOurKey(soundHeader(), "perm=415")],
  ["payload null", () => signedWithOurKey(soundHeader(), "null")],
  [
    "claims that come with the prototype",
    () => signedWithOurKey(soundHeader(), `{"__proto__":${JSON.stringify(soundClaims())}}`),
  ],
  // Signature
  [
    "signature of another payload",
    async () => {
      const [header, , signature] = (await soundToken()).split(".");
      return `${header!}.${encode({ ...soundClaims(), perm: 2 ** 29 })}.${signature!}`;
    },
  ],
  ["signature of zeros", async () => (await soundToken()).replace(/[^.]+$/, "A".repeat(86))],
  ["signature by another Ed25519 key", () => foreignToken("EdDSA")],
  ["signature missing", async () => (await soundToken()).replace(/[^.]+$/, "")],
  ["S of the signature with the group order added (malleability)", async () => malleated(await soundToken())],
  // Spellings
  ["padding at the end", async () => `${await soundToken()}==`],
  ["padding in the header", async () => (await soundToken()).replace(".", "=.")],
  ["white space before", async () => ` ${await soundToken()}`],
  ["white space after", async () => `${await soundToken()} `],
  ["line feed after", async () => `${await soundToken()}\n`],
  ["line feed within", async () => (await soundToken()).replace(".", "\n.")],
  ["a fourth part", async () => `${await soundToken()}.`],
  ["five parts (JWE)", async () => `${await soundToken()}.AA.AA`],
  ["two parts", async () => (await soundToken()).split(".").slice(0, 2).join(".")],
  ["standard base64", async () => (await soundToken()).replaceAll("-", "+").replaceAll("_", "/") + "+"],
  ["unused bits set in the last character of the signature", async () => respelt(await soundToken())],
  [
    "JWS in JSON",
    async () => {
      const [protectedHeader, payload, signature] = (await soundToken()).split(".");
      return JSON.stringify({ protected: protectedHeader, payload, signature });
    },
  ],
  ["8 KB", () => signedWithOurKey(soundHeader(), { ...soundClaims(), jti: "x".repeat(8192) })],
  ["nothing", () => ""],
  ["dots", () => ".."],
  ["the word undefined", () => "undefined"],
  ["a refresh token", () => createRefreshToken().text],
  [
    "a token of another server",
    async () => {
      const other = await openSigningKeys(
        { file: secretFile(join(temporaryFolder(), "keys.json")) },
        { clock, log: quietLog },
      );
      return other.sign(soundClaims());
    },
  ],
];

function hmacToken(alg: string, secret: () => string | Buffer): string {
  const input = `${encode({ ...soundHeader(), alg })}.${encode(soundClaims())}`;
  return `${input}.${createHmac(alg.replace("HS", "sha"), secret()).update(input).digest("base64url")}`;
}

function foreignToken(alg: "RS256" | "ES256" | "EdDSA"): string {
  const input = `${encode({ ...soundHeader(), alg })}.${encode(soundClaims())}`;
  const bytes = Buffer.from(input);
  switch (alg) {
    case "RS256":
      return `${input}.${signRaw("sha256", bytes, generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey).toString("base64url")}`;
    case "ES256":
      return `${input}.${signRaw("sha256", bytes, { key: generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey, dsaEncoding: "ieee-p1363" }).toString("base64url")}`;
    case "EdDSA":
      return `${input}.${signRaw(null, bytes, generateKeyPairSync("ed25519").privateKey).toString("base64url")}`;
  }
}

/** A token of sound claims with some numbers moved. */
function shifted(by: Record<string, number>): string {
  const claims = soundClaims();
  const moved = Object.fromEntries(
    Object.entries(by).map(([name, seconds]) => [name, (claims[name] as number) + seconds]),
  );
  return signedWithOurKey(soundHeader(), { ...claims, ...moved });
}

function respelt(token: string): string {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  return token.slice(0, -1) + alphabet[alphabet.indexOf(token.at(-1)!) ^ 1]!;
}

/** RFC 8032 section 8.4: S + L verifies under a lax verifier. */
function malleated(token: string): string {
  const order = 2n ** 252n + 27742317777372353535851937790883648493n;
  const dot = token.lastIndexOf(".");
  const signature = Buffer.from(token.slice(dot + 1), "base64url");
  const s = BigInt(`0x${Buffer.from(signature.subarray(32)).reverse().toString("hex")}`) + order;
  const bytes = Buffer.from(s.toString(16).padStart(64, "0"), "hex").reverse();
  return `${token.slice(0, dot)}.${Buffer.concat([signature.subarray(0, 32), bytes]).toString("base64url")}`;
}

describe("forged and misused tokens", () => {
  it("are more than sixty", () => {
    expect(FORGERIES.length).toBeGreaterThan(60);
  });

  it.each(FORGERIES)("refuses a token with %s", async (_name, make) => {
    const token = await make();
    expect(outcome(token)).toBe("unauthorized");
    // Nor does a first refusal leave anything behind that lets it through.
    expect(outcome(token)).toBe("unauthorized");
  });

  it("get the same message, whatever was wrong", async () => {
    const messages = new Set<string>();
    for (const [, make] of FORGERIES) {
      const token = await make();
      await (async () => verifier.authenticate(token))().catch((error: unknown) => messages.add(String(error)));
    }
    expect([...messages]).toEqual(["AppError: unauthorized"]);
  });
});

describe("audiences", () => {
  async function tokenFor(aud: string[]): Promise<string> {
    return signedWithOurKey(soundHeader(), { ...soundClaims(), aud });
  }

  it("let a token into the areas it names, and into no other", async () => {
    const token = await tokenFor(["vault"]);
    expect(outcome(token, verifier, "vault")).toMatchObject({ subject: SUBJECT });
    expect(outcome(token, verifier, "prover")).toBe("unauthorized");
    expect(outcome(token)).toBe("unauthorized");
  });
});
