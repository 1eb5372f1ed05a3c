import { createPlugin } from "./create-plugin.ts";
import type { Plugin } from "./plugin-api.ts";

/**
 * The plugin for OpenCode. `"plugin": ["excursor"]` adds the provider `cursor`, with the account's models, sign-in
 * methods, and a gateway that starts when needed. `["excursor", { "account": "work" }]` selects an account. OpenCode
 * finds this file by the export `./server` of the package, and treats each of its exports as a plugin.
 */
export const ExcursorPlugin: Plugin = createPlugin({ knownMs: 2000, unknownMs: 10_000 });
