import { createPlugin } from "./create-plugin.ts";
import type { Plugin } from "./plugin-api.ts";

/**
 * The plugin for OpenCode: `"plugin": ["excursor"]` gives the provider `cursor`, with the models of the account, ways to
 * sign in, and a gateway that is there when it is needed. With `["excursor", { "account": "work" }]` it uses that account.
 * OpenCode takes every export of this file for a plugin.
 */
export const ExcursorPlugin: Plugin = createPlugin({ knownMs: 2000, unknownMs: 10_000 });
