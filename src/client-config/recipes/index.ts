import type { ClientGuide, ClientRecipe } from "../client-recipe.ts";
import { aider } from "./aider.ts";
import { claudeCode } from "./claude-code.ts";
import { codex } from "./codex.ts";
import { continueDev } from "./continue.ts";
import { cursor } from "./cursor.ts";
import { opencode } from "./opencode.ts";
import { zed } from "./zed.ts";

/** Every client that can be connected by a command. */
export const RECIPES: readonly ClientRecipe[] = [claudeCode, opencode, codex, continueDev, zed, aider];

/** Every client that can only be explained. */
export const GUIDES: readonly ClientGuide[] = [cursor];
