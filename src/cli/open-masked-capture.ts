import { loadConfig } from "../app/load-config.ts";
import { ownFolders, secretsOf } from "../app/secrets-of.ts";
import { Masker } from "../capture/mask/masker.ts";
import { MaskedCapture } from "../capture/masked-capture.ts";

/** Opens a capture to show it, or to give it away. */
export const openMaskedCapture = (file: string): MaskedCapture => new MaskedCapture(file, createMasker());

/** Creates a masker that knows the secrets of this machine. */
export function createMasker(): Masker {
  const loaded = loadConfig({ flags: {}, environment: process.env });
  return new Masker([...secretsOf(loaded), ...ownFolders(loaded.home)]);
}
