import { isJsonObject } from "../core/json/is-json-object.ts";
import type { JsonObject, JsonValue } from "../core/turn.ts";

const MAX_REFERENCE_CHARS = 2048;
/** How many values are searched for names. */
const MAX_VISITS = 50_000;

export interface RefTarget {
  readonly schema: JsonObject | boolean;
  /** The schema that `#` refers to inside it. */
  readonly base: JsonObject;
}

/**
 * Resolves the references of a schema, all inside the schema: by JSON pointer (`#/$defs/a`), by `$anchor` (`#a`), or by
 * `$id`, verbatim. Never fetches anything.
 */
export class RefTargets {
  readonly #root: JsonObject;
  /** Schemas by `$id`, and by `#` and `$anchor`. Built when a reference first needs it. */
  #names: ReadonlyMap<string, JsonObject> | undefined;

  constructor(root: JsonObject) {
    this.#root = root;
  }

  find(reference: string, base: JsonObject): RefTarget | undefined {
    if (reference.length > MAX_REFERENCE_CHARS) return undefined;
    const at = reference.indexOf("#");
    const [id, fragment] = at === -1 ? [reference, ""] : [reference.slice(0, at), decode(reference.slice(at + 1))];
    const from = id === "" ? base : this.#named(id);
    if (!from || fragment === undefined) return undefined;
    if (fragment === "" || fragment.startsWith("/")) return follow(from, fragment);
    const named = this.#named(`#${fragment}`);
    return named && { schema: named, base };
  }

  #named(name: string): JsonObject | undefined {
    this.#names ??= namesIn(this.#root);
    return this.#names.get(name);
  }
}

function follow(base: JsonObject, pointer: string): RefTarget | undefined {
  let found: JsonValue | undefined = base;
  for (const escaped of pointer.split("/").slice(1)) {
    if (typeof found !== "object" || found === null) return undefined;
    const name = escaped.replaceAll("~1", "/").replaceAll("~0", "~");
    found = Object.hasOwn(found, name) ? (found as JsonObject)[name] : undefined;
  }
  const isSchema = typeof found === "boolean" || isJsonObject(found);
  return isSchema ? { schema: found as JsonObject | boolean, base } : undefined;
}

function namesIn(root: JsonObject): ReadonlyMap<string, JsonObject> {
  const names = new Map<string, JsonObject>();
  const waiting: JsonValue[] = [root];
  let visits = 0;
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (typeof next !== "object" || next === null) continue;
    if (isJsonObject(next)) {
      const { $id, $anchor } = next;
      if (typeof $id === "string") names.set($id.replace(/(?<=.)#$/, ""), next);
      if (typeof $anchor === "string") names.set(`#${$anchor}`, next);
    }
    const members = Object.values(next);
    visits += members.length;
    if (visits > MAX_VISITS) break;
    for (const member of members) waiting.push(member);
  }
  return names;
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
