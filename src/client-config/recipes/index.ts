import type { ClientGuide, ClientRecipe } from "../client-recipe.ts";
import { aider } from "./aider.ts";
import { claudeCode } from "./claude-code.ts";
import { codex } from "./codex.ts";
import { continueDev } from "./continue.ts";
import { cursor } from "./cursor.ts";
import { opencode } from "./opencode.ts";
import { zed } from "./zed.ts";

export const RECIPES: readonly ClientRecipe[] = [claudeCode, opencode, codex, continueDev, zed, aider];

export const GUIDES: readonly ClientGuide[] = [cursor];
