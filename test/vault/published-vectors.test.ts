// Published signatures against POST /verify: the API accepts and refuses them as the standards do.
import { createPublicKey } from "node:crypto";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startVaultServer, type VaultServer } from "./http-support.js";

let server: VaultServer;
beforeAll(async () => {
  server = await startVaultServer();
});
afterAll(async () => {
  await server.close();
});

async function verify(body: object): Promise<unknown> {
  const answer = await server.call("POST", "/api/v1/verify", body);
  return answer.body["verified"] ?? answer.body.errors?.[0]?.code;
}

describe("RFC 8032 section 7.1", () => {
  // SOURCE: RFC 8032 section 7.1, TEST 1, TEST 2, TEST 3.
  it.each([
    [
      "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
      "",
      "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ],
    [
      "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
      "72",
      "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ],
    [
      "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
      "af82",
      "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ],
  ])("verifies under the key %s", async (public_key, message, signature) => {
    expect(await verify({ spec: "Ed25519", public_key, message, signature })).toBe(true);
    expect(await verify({ spec: "Ed25519", public_key: `0x${public_key}`, message: `${message}00`, signature })).toBe(
      false,
    );
  });

  // SOURCE: Chalkias, Garillot, Nikolaenko, "Taming the many EdDSAs" (2020), test vector 0; the other low-order points
  // of the curve.
  it("refuses keys of low order, under which one signature holds for many messages, and keys that are no points", async () => {
    const message = "8c93255d71dcab10e8f379c26200f3c7bd5f09d9bc3068d3ef4edeb4853022b6";
    const signature = `c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a${"00".repeat(32)}`;
    const low = [
      "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
      `01${"00".repeat(31)}`,
      "00".repeat(32),
      `ec${"ff".repeat(30)}7f`,
    ];
    for (const public_key of [...low, "ff".repeat(32), `02${"00".repeat(31)}`])
      expect(await verify({ spec: "Ed25519", public_key, message, signature }), public_key).toBe("public_key_invalid");
  });
});

describe("RFC 6979", () => {
  // SOURCE: RFC 6979 appendix A.2.5, P-256 with SHA-256, message "sample".
  it("verifies on P-256, and not with r and s exchanged or DER around them", async () => {
    const public_key =
      "0460fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb67903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177a3c294d4462299";
    const [r, s] = [
      "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716",
      "f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8",
    ];
    const message = Buffer.from("sample").toString("hex");
    expect(await verify({ spec: "P-256", public_key, message, signature: r + s })).toBe(true);
    expect(await verify({ spec: "P-256", public_key, message, signature: s + r })).toBe(false);
    expect(await verify({ spec: "P-256", public_key, message, signature: `3046022100${r}022100${s}` })).toBe(false);
    expect(
      await verify({ spec: "P-256", public_key: public_key.replace("0460", "0461"), message, signature: r + s }),
    ).toBe("public_key_invalid");
    expect(await verify({ spec: "P-256", public_key: public_key.slice(2), message, signature: r + s })).toBe(
      "public_key_invalid",
    );
    // The hybrid forms of the same key, and its compressed one.
    for (const other of [`06${public_key.slice(2)}`, `07${public_key.slice(2)}`, `03${public_key.slice(2, 66)}`])
      expect(await verify({ spec: "P-256", public_key: other, message, signature: r + s })).toBe("public_key_invalid");
  });

  // SOURCE: the deterministic secp256k1 vectors of bitcoinjs and trezor-crypto, private key 1, "Satoshi Nakamoto",
  // SHA-256.
  it("verifies on secp256k1 in both forms of the key, and refuses the same with high S", async () => {
    const uncompressed =
      "0479be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8";
    const compressed = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798";
    const message = Buffer.from("Satoshi Nakamoto").toString("hex");
    const [r, s] = [
      "934b1ea10a4b3c1757e2b0c017d0b6143ce3c9a7e6a4a49860d7a6ab210ee3d8",
      "2442ce9d2b916064108014783e923ec36b49743e2ffa1c4496f01a512aafd9e5",
    ];
    const options = { digest: "sha256" };
    for (const public_key of [uncompressed, compressed])
      expect(await verify({ spec: "secp256k1", public_key, message, signature: r + s, options })).toBe(true);
    const high = (0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n - BigInt(`0x${s}`)).toString(16);
    expect(await verify({ spec: "secp256k1", public_key: compressed, message, signature: r + high, options })).toBe(
      false,
    );
    expect(await verify({ spec: "secp256k1", public_key: "00", message, signature: r + s, options })).toBe(
      "public_key_invalid",
    );
  });
});

describe("EIP-712", () => {
  // SOURCE: EIP-712, Example.js: the mail, signed with the private key keccak256("cow") of the account 0xCD2a...D826.
  it("verifies the published signature of the published mail", async () => {
    const Person = [
      { name: "name", type: "string" },
      { name: "wallet", type: "address" },
    ];
    const message = {
      types: {
        Person,
        Mail: [
          { name: "from", type: "Person" },
          { name: "to", type: "Person" },
          { name: "contents", type: "string" },
        ],
      },
      primaryType: "Mail",
      domain: {
        name: "Ether Mail",
        version: "1",
        chainId: 1,
        verifyingContract: "0xCcCCccccCCCCcCCCCCCcCcCccCcCCCcCcccccccC",
      },
      message: {
        from: { name: "Cow", wallet: "0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826" },
        to: { name: "Bob", wallet: "0xbBbBBBBbbBBBbbbBbbBbbbbBBbBbbbbBbBbbBBbB" },
        contents: "Hello, Bob!",
      },
    };
    const public_key =
      "040947751e3022ecf3016be03ec77ab0ce3c2662b4843898cb068d74f698ccc8ad75aa17564ae80a20bb044ee7a6d903e8e8df624b089c95d66a0570f051e5a05b";
    const signature =
      "4355c47d63924e8a72e509b65029052eb6c299d53a04e167c5775fd466751c9d07299936d304c153f6443dfa05f40ff007d72911b6f72307f996231605b91562";
    for (const end of ["", "01", "1c"])
      expect(
        await verify({
          spec: "secp256k1",
          public_key,
          message,
          signature: signature + end,
          options: { format: "eip712" },
        }),
      ).toBe(true);
    for (const end of ["00", "1b"])
      expect(
        await verify({
          spec: "secp256k1",
          public_key,
          message,
          signature: signature + end,
          options: { format: "eip712" },
        }),
      ).toBe(false);
    expect(
      await verify({
        spec: "secp256k1",
        public_key,
        message: { ...message, domain: { ...message.domain, chainId: 5 } },
        signature,
        options: { format: "eip712" },
      }),
    ).toBe(false);
  });
});

describe("JOSE", () => {
  const claims = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
  const n =
    "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ";
  // SOURCE: RFC 7515 appendix A.2 (RS256) and A.3 (ES256), RFC 8037 appendix A.4 (EdDSA).
  it.each([
    [
      "RSA-2048",
      "RS256",
      { kty: "RSA", e: "AQAB", n },
      `eyJhbGciOiJSUzI1NiJ9.${claims}.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw`,
    ],
    [
      "P-256",
      "ES256",
      {
        kty: "EC",
        crv: "P-256",
        x: "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
        y: "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
      },
      `eyJhbGciOiJFUzI1NiJ9.${claims}.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q`,
    ],
    [
      "Ed25519",
      "EdDSA",
      { kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" },
      "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg",
    ],
  ])(
    "verifies the published token of %s, and not with another payload, algorithm or part of it",
    async (spec, algorithm, jwk, token) => {
      const spki = createPublicKey({ format: "jwk", key: jwk }).export({ format: "der", type: "spki" });
      const public_key = spki.subarray(spec === "RSA-2048" ? 0 : spec === "P-256" ? -65 : -32).toString("hex");
      const check = async (signature: string, more: object = {}, options: object = {}): Promise<unknown> =>
        await verify({ spec, public_key, signature, options: { format: "jws", algorithm, ...options }, ...more });
      const [header, payload, signature] = token.split(".") as [string, string, string];
      const message = Buffer.from(payload, "base64url").toString("hex");
      expect([
        await check(token),
        await check(token, { message }),
        await check(token, { message: `${message}00` }),
      ]).toEqual([true, true, false]);
      expect(await check(`${header}.${Buffer.from("{}").toString("base64url")}.${signature}`)).toBe(false);
      expect(await check(`${header}..${signature}`, { message })).toBe(false);
      if (spec === "RSA-2048")
        for (const other of ["PS256", "RS384"]) expect(await check(token, {}, { algorithm: other })).toBe(false);
    },
  );
});

describe("EIP-191", () => {
  // SOURCE: web3.js documentation, eth.accounts.sign("Some data"); the account is
  // 0x2c7536E3605D9C16a7a3D7b1898e529396a65c23.
  it("verifies the published signature of a text, with the parity as wallets write it", async () => {
    const public_key = Buffer.from(
      secp256k1.getPublicKey(
        Buffer.from("4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318", "hex"),
        false,
      ),
    ).toString("hex");
    const signature =
      "b91467e570a6466aa9e9876cbcd013baba02900b8979d43fe208a4a4f339f5fd6007e74cd82e037b800186422fc2da167c747ef045e5d18a5f5d4300f8e1a029";
    const check = async (end: string, message = "Some data"): Promise<unknown> =>
      await verify({
        spec: "secp256k1",
        public_key,
        message,
        signature: signature + end,
        options: { format: "personal_sign", encoding: "utf8" },
      });
    expect(await Promise.all(["", "1c", "01", "1b", "00", "1d", "ff"].map(async (end) => await check(end)))).toEqual([
      true,
      true,
      true,
      false,
      false,
      false,
      false,
    ]);
    expect(await check("1c", "some data")).toBe(false);
  });
});

describe("circomlib", () => {
  // SOURCE: circomlibjs test/eddsa.js, "Sign (using Poseidon) a single 10 bytes from 0 to 9", with its packed
  // signature.
  it("verifies its EdDSA-Poseidon signature, and refuses S above the order and points of low order", async () => {
    const message = Buffer.from("00010203040506070809", "hex").reverse().toString("hex");
    const public_key = "c433f7a696b7aa3a5224efb3993baf0ccd9e92eecee0c29a3f6c8208a9e81d9e";
    const [r8, s] = [
      "dfedb4315d3f2eb4de2d3c510d7a987dcab67089c8ace06308827bf5bcbe02a2",
      "9d043ece562a8f82bfc0adb640c0107a7d3a27c1c7c1a6179a0da73de5c1b203",
    ];
    expect(await verify({ spec: "babyJubJub", public_key, message, signature: r8 + s })).toBe(true);
    const order = 2736030358979909402780800718157159386076813972158567259200215660948447373041n;
    const raised = BigInt(`0x${Buffer.from(s, "hex").reverse().toString("hex")}`) + order;
    expect(
      await verify({
        spec: "babyJubJub",
        public_key,
        message,
        signature: r8 + Buffer.from(raised.toString(16).padStart(64, "0"), "hex").reverse().toString("hex"),
      }),
    ).toBe(false);
    expect(await verify({ spec: "babyJubJub", public_key, message: "01", signature: r8 + s })).toBe(false);
    for (const bad of ["00".repeat(32), `01${"00".repeat(31)}`, "00", "ff".repeat(32)])
      expect(await verify({ spec: "babyJubJub", public_key: bad, message, signature: r8 + s })).toBe(
        "public_key_invalid",
      );
  });
});

describe("BLS12-381", () => {
  // SOURCE: ethereum/bls12-381-tests, verify_case of the key 263dbd79... on 32 zero bytes.
  it("verifies Ethereum's signature, and refuses the neutral key and signature", async () => {
    const public_key =
      "a491d1b0ecd9bb917989f0e74f0dea0422eac4a873e5e2644f368dffb9a6e20fd6e10c1b77654d067c0618f6e5a7f79a";
    const signature =
      "b6ed936746e01f8ecf281f020953fbf1f01debd5657c4a383940b020b26507f6076334f91e2366c96e9ab279fb5158090352ea1c5b0c9274504f4f0e7053af24802e51e4568d164fe986834f41e55c8e850ce1f98458c0cfc9ab380b55285a55";
    expect(await verify({ spec: "BLS12-381", public_key, message: "00".repeat(32), signature })).toBe(true);
    expect(await verify({ spec: "BLS12-381", public_key, message: "01".repeat(32), signature })).toBe(false);
    expect(
      await verify({ spec: "BLS12-381", public_key, message: "00".repeat(32), signature: `c0${"00".repeat(95)}` }),
    ).toBe(false);
    expect(
      await verify({
        spec: "BLS12-381",
        public_key: `c0${"00".repeat(47)}`,
        message: "00".repeat(32),
        signature: `c0${"00".repeat(95)}`,
      }),
    ).toBe("public_key_invalid");
  });
});
