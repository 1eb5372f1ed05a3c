import { generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { isIP } from "node:net";

export interface Certificate {
  readonly key: Buffer;
  readonly cert: Buffer;
}

/**
 * A self-signed certificate for an IP address or a host name, put together here: not every machine that runs the
 * tests has OpenSSL's tool, or the same one. A negative number of days makes one that has expired.
 */
export function makeCertificate(name: string, { days = 2 } = {}): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const algorithm = sequence(ECDSA_WITH_SHA256);
  const names = sequence(der(0x31, sequence(COMMON_NAME, der(0x0c, Buffer.from(name)))));
  const now = Date.now();
  const validity = sequence(time(now - 2 * Math.max(1, -days) * DAY_MS), time(now + days * DAY_MS));
  const address = isIP(name) ? der(0x87, Buffer.from(name.split(".").map(Number))) : der(0x82, Buffer.from(name));
  const extensions = der(
    0xa3,
    sequence(
      sequence(BASIC_CONSTRAINTS, der(0x04, sequence(der(0x01, Buffer.of(0xff))))),
      sequence(SUBJECT_ALT_NAME, der(0x04, sequence(address))),
    ),
  );
  const serial = der(0x02, Buffer.concat([Buffer.of(1), randomBytes(8)]));
  const key = publicKey.export({ type: "spki", format: "der" });
  const body = sequence(VERSION_3, serial, algorithm, names, validity, names, key, extensions);
  const signature = der(0x03, Buffer.concat([Buffer.of(0), sign("sha256", body, privateKey)]));
  return {
    key: Buffer.from(privateKey.export({ type: "pkcs8", format: "pem" })),
    cert: pem(sequence(body, algorithm, signature)),
  };
}

const DAY_MS = 86_400_000;

/** Tag, length, content: all there is to DER. */
function der(tag: number, ...content: Buffer[]): Buffer {
  const body = Buffer.concat(content);
  const length = body.length < 128 ? [body.length] : [0x82, body.length >> 8, body.length & 255];
  return Buffer.concat([Buffer.from([tag, ...length]), body]);
}

const sequence = (...content: Buffer[]): Buffer => der(0x30, ...content);

const time = (epochMs: number): Buffer =>
  der(0x18, Buffer.from(`${new Date(epochMs).toISOString().replace(/[-:T]|\.\d+/g, "")}`));

const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, "hex"));

const VERSION_3 = der(0xa0, der(0x02, Buffer.of(2)));
const ECDSA_WITH_SHA256 = oid("2a8648ce3d040302");
const COMMON_NAME = oid("550403");
const BASIC_CONSTRAINTS = oid("551d13");
const SUBJECT_ALT_NAME = oid("551d11");

const pem = (bytes: Buffer): Buffer =>
  Buffer.from(`-----BEGIN CERTIFICATE-----\n${bytes.toString("base64")}\n-----END CERTIFICATE-----\n`);
