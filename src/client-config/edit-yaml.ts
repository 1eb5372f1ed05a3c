import { type Document, isMap, parseDocument } from "yaml";
import type { JsonValue } from "../core/turn.ts";
import type { ValueChange } from "./undo-edit.ts";
import { unreadable } from "./unreadable.ts";

/** Changes YAML whose top level is a map. Keeps comments. */
export function editYaml(text: string, change: (document: Document) => void): string {
  const document = parseYaml(text.trim() === "" ? "{}" : text);
  if (document.toJS() == null) document.contents = document.createNode({}) as never;
  if (!isMap(document.contents)) throw unreadable("it is not a map");
  // An empty document was created in flow style (`{}`).
  document.contents.flow = false;
  change(document);
  return document.toString({ lineWidth: 0 });
}

/** Returns the value of YAML; undefined if there is none. */
export const readYaml = (text: string): JsonValue | undefined =>
  (parseYaml(text).toJS() as JsonValue | null) ?? undefined;

/** Sets and removes values. Keeps comments. */
export function changeYaml(text: string, changes: readonly ValueChange[]): string {
  const document = parseYaml(text);
  for (const [path, value] of changes) {
    if (value === undefined) document.deleteIn(path);
    else document.setIn(path, document.createNode(value));
  }
  return document.toString({ lineWidth: 0 });
}

function parseYaml(text: string): Document {
  const document: Document = parseDocument(text);
  const [error] = document.errors;
  if (error) throw unreadable(error.message.split("\n")[0] ?? "it is not YAML");
  return document;
}
