import { ExcursorError } from "../../core/errors.ts";
import type { Product } from "./product.ts";

/** How the app writes the hash of a file. VS Code used MD5 up to 1.85 and uses SHA-256 since, both without padding. */
export interface ChecksumScheme {
  readonly algorithm: ChecksumAlgorithm;
  readonly spell: (digest: Buffer) => string;
}

export type ChecksumAlgorithm = "sha256" | "md5" | "sha1" | "sha384" | "sha512";

const ALGORITHMS: readonly ChecksumAlgorithm[] = ["sha256", "md5", "sha1", "sha384", "sha512"];
const SPELLINGS: readonly ChecksumScheme["spell"][] = [
  (digest) => digest.toString("base64").replace(/={1,2}$/, ""),
  (digest) => digest.toString("base64"),
  (digest) => digest.toString("hex"),
  (digest) => digest.toString("base64url"),
];

const SCHEMES: readonly ChecksumScheme[] = ALGORITHMS.flatMap((algorithm) =>
  SPELLINGS.map((spell) => ({ algorithm, spell })),
);

/**
 * Computes every checksum of the product and compares it. This finds out how checksums are made, and proves that no
 * file was changed without its entry (SEC-63). Returns undefined if the product has no checksums. `digest` hashes a
 * file below `out`; undefined if it is missing.
 */
export function learnScheme(
  product: Product,
  digest: (key: string, algorithm: ChecksumAlgorithm) => Buffer | undefined,
): ChecksumScheme | undefined {
  let candidates = SCHEMES;
  for (const [key, expected] of product.checksums) {
    const digests = new Map<ChecksumAlgorithm, Buffer | undefined>();
    candidates = candidates.filter(({ algorithm, spell }) => {
      // The length rules out most schemes, so that a file is usually hashed once.
      if (spell(Buffer.alloc(DIGEST_BYTES[algorithm])).length !== expected.length) return false;
      if (!digests.has(algorithm)) digests.set(algorithm, digest(key, algorithm));
      const made = digests.get(algorithm);
      return made !== undefined && spell(made) === expected;
    });
    if (candidates.length === 0) throw mismatch(key);
  }
  return product.checksums.size === 0 ? undefined : candidates[0];
}

const DIGEST_BYTES: Readonly<Record<ChecksumAlgorithm, number>> = {
  sha256: 32,
  md5: 16,
  sha1: 20,
  sha384: 48,
  sha512: 64,
};

function mismatch(key: string): ExcursorError {
  return new ExcursorError("ide_checksum_mismatch", [key]);
}
