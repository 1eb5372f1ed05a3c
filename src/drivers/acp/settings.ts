import { entries } from "../../config/setting.ts";

export const SETTINGS = {
  agents: entries(
    "Agents that speak ACP, by name: command, args, env, passEnv, cwd, displayName, permissions, allow. `allow` holds kinds of tools that need no question (read, edit, delete, move, search, execute, think, fetch, switch_mode, other, or *); it binds agents that ask, or that have a permission switch.",
  ),
};
