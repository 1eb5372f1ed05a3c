import type { JsonObject, ToolDefinition } from "../../../core/turn.ts";

const text: JsonObject = { type: "string" };

/** Anthropic's client-side tools. Its own models know them by their type; other models need the schema. */
const BUILT_IN: readonly { readonly prefix: string; readonly definition: ToolDefinition }[] = [
  {
    prefix: "bash_",
    definition: {
      name: "bash",
      description: "Runs a command in a shell that stays open between calls; `restart` starts it anew.",
      schema: { type: "object", properties: { command: text, restart: { type: "boolean" } } },
    },
  },
  {
    prefix: "text_editor_",
    definition: {
      name: "str_replace_based_edit_tool",
      description:
        "Views, creates and edits files. `view` shows a file or a folder; `create` writes `file_text`; `str_replace` replaces the one place where `old_str` stands by `new_str`; `insert` puts `insert_text` after line `insert_line`.",
      schema: {
        type: "object",
        properties: {
          command: { type: "string", enum: ["view", "create", "str_replace", "insert"] },
          path: text,
          file_text: text,
          old_str: text,
          new_str: text,
          insert_line: { type: "integer" },
          insert_text: text,
          view_range: { type: "array", items: { type: "integer" } },
        },
        required: ["command", "path"],
      },
    },
  },
  {
    prefix: "memory_",
    definition: {
      name: "memory",
      description: "Keeps notes in files below /memories, between conversations.",
      schema: {
        type: "object",
        properties: {
          command: { type: "string", enum: ["view", "create", "str_replace", "insert", "delete", "rename"] },
          path: text,
          file_text: text,
          old_str: text,
          new_str: text,
          insert_line: { type: "integer" },
          insert_text: text,
          old_path: text,
          new_path: text,
          view_range: { type: "array", items: { type: "integer" } },
        },
        required: ["command"],
      },
    },
  },
];

export function builtInTool(type: string, name: string | null | undefined): ToolDefinition | undefined {
  const found = BUILT_IN.find(({ prefix }) => type.startsWith(prefix))?.definition;
  return found && name ? { ...found, name } : found;
}
