import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { isIP } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Certificate {
  readonly key: Buffer;
  readonly cert: Buffer;
}

/** A self-signed certificate for an IP address or a host name, made by OpenSSL's own tool. */
export function makeCertificate(name: string, { days = 2 } = {}): Certificate {
  const folder = mkdtempSync(join(tmpdir(), "excursor-cert-"));
  try {
    const [key, request, cert] = ["key.pem", "request.pem", "cert.pem"].map((file) => join(folder, file)) as Paths;
    const altName = `subjectAltName=${isIP(name) ? "IP" : "DNS"}:${name}`;
    const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key];
    openssl("req", ...curve, "-subj", `/CN=${name}`, "-addext", altName, "-out", request);
    // In two steps, since only the second can make one that has expired.
    const dates = ["-days", String(days)];
    openssl("x509", "-req", "-in", request, "-signkey", key, "-copy_extensions", "copyall", ...dates, "-out", cert);
    return { key: readFileSync(key), cert: readFileSync(cert) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

type Paths = [key: string, request: string, cert: string];

function openssl(...args: string[]): void {
  execFileSync("openssl", args, { stdio: "ignore" });
}
