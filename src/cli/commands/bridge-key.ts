import { homeFolder } from "../../config/home.ts";
import { keyOf } from "../../config/key-file.ts";
import type { Secret } from "../../core/secret.ts";

/** Returns the key that the patched IDE sends to the bridge. */
export const bridgeKey = (environment: Readonly<Record<string, string | undefined>>): Secret =>
  keyOf(homeFolder(environment), "bridge-key");
