import { entries } from "../../config/setting.ts";

export const SETTINGS = {
  agents: entries(
    "ACP agents by name, each with command, args, env, passEnv, cwd, displayName, permissions, allow. `allow` lists the kinds of tools that run without a question: read, edit, delete, move, search, execute, think, fetch, switch_mode, other, or * for all. It only affects agents that ask, or that have a permission switch. See docs/acp.md.",
  ),
};
