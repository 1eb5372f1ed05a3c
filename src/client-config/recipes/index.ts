import type { ClientGuide, ClientRecipe } from "../client-recipe.ts";
import { aider } from "./aider.ts";
import { claudeCode } from "./claude-code.ts";
import { codex } from "./codex.ts";
import { continueDev } from "./continue.ts";
import { crush } from "./crush.ts";
import { cursor } from "./cursor.ts";
import { cursorPrivate } from "./cursor-private.ts";
import { geminiCli } from "./gemini-cli.ts";
import { goose } from "./goose.ts";
import { openWebui } from "./open-webui.ts";
import { opencode } from "./opencode.ts";
import { qwenCode } from "./qwen-code.ts";
import { vscode } from "./vscode.ts";
import { zed } from "./zed.ts";

export const RECIPES: readonly ClientRecipe[] = [
  claudeCode,
  opencode,
  codex,
  continueDev,
  zed,
  aider,
  vscode,
  geminiCli,
  qwenCode,
  goose,
  crush,
  openWebui,
  cursorPrivate,
];

export const GUIDES: readonly ClientGuide[] = [cursor];
