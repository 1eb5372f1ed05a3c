import { type Document, isMap, parseDocument } from "yaml";
import { unreadable } from "./unreadable.ts";

/** Changes YAML whose top level is a map. Keeps comments. */
export function editYaml(text: string, change: (document: Document) => void): string {
  const document: Document = parseDocument(text.trim() === "" ? "{}" : text);
  const [error] = document.errors;
  if (error) throw unreadable(error.message.split("\n")[0] ?? "it is not YAML");
  if (document.toJS() == null) document.contents = document.createNode({}) as never;
  if (!isMap(document.contents)) throw unreadable("it is not a map");
  // An empty document was created in flow style (`{}`).
  document.contents.flow = false;
  change(document);
  return document.toString({ lineWidth: 0 });
}
