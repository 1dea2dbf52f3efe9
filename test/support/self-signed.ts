/** A certificate for `localhost` and `127.0.0.1`, made by the openssl of the machine. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";

export interface SelfSigned {
  /** PEM. */
  readonly certFile: string;
  /** PEM. */
  readonly keyFile: string;
}

/** Writes a P-256 key and its certificate, valid for two days, to a folder. */
export function makeSelfSigned(folder: string): SelfSigned {
  const [certFile, keyFile] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", keyFile];
  const names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
  execFileSync("openssl", ["req", "-x509", ...key, ...names, "-days", "2", "-out", certFile], { stdio: "ignore" });
  return { certFile, keyFile };
}
