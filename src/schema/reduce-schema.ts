import { createHash } from "node:crypto";
import { isJsonObject } from "../core/json/is-json-object.ts";
import type { JsonObject, JsonValue } from "../core/turn.ts";
import { checkInPlace, type SchemaNode } from "./check-in-place.ts";
import { checkSize } from "./check-size.ts";
import { KEYWORDS, type Keyword, REFUSED_KEYWORDS } from "./keywords.ts";
import { RefTargets } from "./ref-targets.ts";
import { SCHEMA_LIMITS, SchemaBudget } from "./schema-budget.ts";
import { UnusableSchema } from "./unusable-schema.ts";

/** A schema with known keywords only, ready to be compiled. */
export interface ReducedSchema {
  /** JSON text. Every `$ref` in it is `#`, or points to a member of the root's `$defs`. */
  readonly json: string;
  /** `2019` also stands for all older drafts. */
  readonly draft: "2019" | "2020";
  readonly digest: string;
}

/**
 * Copies the known keywords of a schema. Drops annotations and definitions that nothing refers to. Throws {@link
 * UnusableSchema} if the schema is invalid, unsupported or beyond {@link SCHEMA_LIMITS}.
 *
 * Runs in the main thread, so it is iterative. The size of the whole schema is checked first, because members that are
 * no keywords count towards no other limit.
 */
export function reduceSchema(schema: JsonObject): ReducedSchema {
  checkSize(schema);
  return new Reduction(schema).run();
}

interface Task {
  readonly schema: JsonValue;
  readonly path: string;
  readonly depth: number;
  /** The schema that `#` refers to inside it. */
  readonly base: JsonObject;
  readonly node: SchemaNode;
  /** Receives the result. Its members are filled in later. */
  readonly put: (reduced: JsonValue) => void;
}

/** One keyword of the schema of a task. */
interface Member extends Omit<Task, "put"> {
  readonly schema: JsonObject;
  readonly keyword: Keyword;
  readonly name: string;
}

type Fields = Record<string, JsonValue>;

class Reduction {
  readonly #root: JsonObject;
  readonly #refs: RefTargets;
  readonly #budget = new SchemaBudget();
  readonly #tasks: Task[] = [];
  readonly #nodes: SchemaNode[] = [];
  /** Targets of `$ref`, by the client's own object. */
  readonly #targets = new Map<JsonValue, { readonly ref: string; readonly node: SchemaNode }>();
  readonly #definitions: Fields = {};
  #hasTuples = false;
  #prefixItemsPath: string | undefined;

  constructor(root: JsonObject) {
    this.#root = root;
    this.#refs = new RefTargets(root);
  }

  run(): ReducedSchema {
    let reduced: JsonValue = {};
    const node = this.#add(this.#root, { path: "", depth: 0, base: this.#root }, (value) => {
      reduced = value;
    });
    this.#targets.set(this.#root, { ref: "#", node });
    for (let task = this.#tasks.pop(); task; task = this.#tasks.pop()) this.#reduce(task);
    checkInPlace(this.#nodes);
    const json = JSON.stringify({ ...(reduced as Fields), $defs: this.#definitions });
    const draft = this.#draft();
    return { json, draft, digest: createHash("sha256").update(`${draft}\n${json}`).digest("base64url") };
  }

  #draft(): ReducedSchema["draft"] {
    const { $schema } = this.#root;
    const isOld = typeof $schema === "string" && /\/draft-0\d\/|\/2019-09\//.test($schema);
    if (isOld && this.#prefixItemsPath !== undefined) {
      throw new UnusableSchema(this.#prefixItemsPath, "only draft 2020-12 has it, and $schema names an older one");
    }
    // Without `$schema`, a list under `items` can only mean an older draft.
    const isOldByForm = $schema === undefined && this.#hasTuples && this.#prefixItemsPath === undefined;
    return isOld || isOldByForm ? "2019" : "2020";
  }

  #add(schema: JsonValue, place: Pick<Task, "path" | "depth" | "base">, put: Task["put"]): SchemaNode {
    this.#budget.addSchema(place.path, place.depth);
    const node: SchemaNode = { inPlace: [] };
    this.#nodes.push(node);
    this.#tasks.push({ schema, ...place, node, put });
    return node;
  }

  #reduce({ schema, put, ...place }: Task): void {
    const { path } = place;
    if (typeof schema === "boolean") {
      put(schema);
      return;
    }
    if (!isJsonObject(schema)) throw new UnusableSchema(path, "expected a schema, which is an object or a boolean");
    const reduced: Fields = {};
    put(reduced);
    const hasId = typeof schema["$id"] === "string" && !schema["$id"].startsWith("#");
    const base = hasId ? schema : place.base;
    for (const [name, value] of Object.entries(schema)) {
      const at = `${path}/${name}`;
      const keyword = KEYWORDS.get(name);
      if (!keyword && REFUSED_KEYWORDS.test(name)) throw new UnusableSchema(at, "this keyword is not supported");
      if (keyword) this.#take(value, reduced, { ...place, base, schema, keyword, name, path: at });
    }
  }

  #take(value: JsonValue, reduced: Fields, member: Member): void {
    const { keyword, name, path } = member;
    switch (keyword.holds) {
      case "annotation":
        return;
      case "schema":
        this.#inner(value, path, reduced, name, member);
        return;
      case "items":
        if (Array.isArray(value)) this.#list(value, reduced, member);
        else this.#inner(value, path, reduced, name, member);
        this.#hasTuples ||= Array.isArray(value);
        return;
      case "schemas":
        if (!Array.isArray(value) || value.length === 0) throw new UnusableSchema(path, "expected a list of schemas");
        if (name === "oneOf" || name === "anyOf") this.#budget.addBranches(value.length);
        if (name === "prefixItems") this.#prefixItemsPath = path;
        this.#list(value, reduced, member);
        return;
      case "schemas-by-name":
      case "schemas-by-pattern":
      case "schemas-or-names-by-name":
      case "names-by-name":
        this.#map(value, reduced, member);
        return;
      case "nullable":
        // It widens `type` and has no effect without it.
        if (value === true && member.schema["type"] !== undefined) reduced[name] = true;
        return;
      default:
        reduced[name] = this.#plain(value, keyword.holds, member);
    }
  }

  /** Adds an inner schema as a member of the reduced one. */
  #inner(value: JsonValue, path: string, into: Fields | JsonValue[], key: string | number, member: Member): void {
    const { keyword, depth, base, node } = member;
    const inner = this.#add(value, { path, depth: depth + 1, base }, (reduced) => {
      (into as Fields)[key] = reduced;
    });
    if (keyword.isInPlace) node.inPlace.push(inner);
  }

  #list(values: readonly JsonValue[], reduced: Fields, member: Member): void {
    const list: JsonValue[] = [];
    reduced[member.name] = list;
    for (const [index, value] of values.entries()) {
      this.#inner(value, `${member.path}/${index}`, list, index, member);
    }
  }

  #map(value: JsonValue, reduced: Fields, member: Member): void {
    const { path, keyword } = member;
    const { holds } = keyword;
    if (!isJsonObject(value)) throw new UnusableSchema(path, "expected an object");
    const map: Fields = {};
    reduced[member.name] = map;
    for (const [name, entry] of Object.entries(value)) {
      const at = `${path}/${name}`;
      // Ajv ignores such a member silently.
      if (name === "__proto__") throw new UnusableSchema(at, "a member of this name is not supported");
      if (holds === "schemas-by-pattern") this.#pattern(name, path);
      else this.#budget.addText(name);
      const isNames = holds === "names-by-name" || (holds === "schemas-or-names-by-name" && Array.isArray(entry));
      if (isNames) map[name] = this.#names(entry, at);
      else this.#inner(entry, at, map, name, member);
    }
  }

  #plain(value: JsonValue, holds: Keyword["holds"], member: Member): JsonValue {
    const { path } = member;
    switch (holds) {
      case "reference":
        return this.#reference(value, member);
      case "names":
        return this.#names(value, path);
      case "pattern":
        return this.#pattern(value, path);
      case "types":
        return typesIn(value, path);
      case "values":
        if (!Array.isArray(value) || value.length === 0) throw new UnusableSchema(path, "expected a list of values");
        this.#budget.addValue(value);
        return value;
      case "value":
        this.#budget.addValue(value);
        return value;
      default:
        if (typeof holds === "object" && !holds.isIt(value)) throw new UnusableSchema(path, `expected ${holds.name}`);
        return value;
    }
  }

  #reference(value: JsonValue, { path, base, node }: Member): string {
    const found = typeof value === "string" ? this.#refs.find(value, base) : undefined;
    if (!found)
      throw new UnusableSchema(path, "expected a reference to a schema inside this one, such as #/$defs/name");
    let target = this.#targets.get(found.schema);
    if (!target) {
      const name = `d${this.#targets.size}`;
      const place = { path: String(value), depth: 0, base: found.base };
      const inner = this.#add(found.schema, place, (reduced) => {
        this.#definitions[name] = reduced;
      });
      target = { ref: `#/$defs/${name}`, node: inner };
      this.#targets.set(found.schema, target);
    }
    node.inPlace.push(target.node);
    return target.ref;
  }

  #names(value: JsonValue, path: string): JsonValue {
    const names: readonly JsonValue[] = Array.isArray(value) ? value : [null];
    for (const name of names) {
      if (typeof name !== "string") throw new UnusableSchema(path, "expected a list of names");
      this.#budget.addText(name);
    }
    return value;
  }

  #pattern(value: JsonValue, path: string): string {
    if (typeof value !== "string" || value.length > SCHEMA_LIMITS.patternChars) {
      throw new UnusableSchema(
        path,
        `expected regular expressions of at most ${SCHEMA_LIMITS.patternChars} characters`,
      );
    }
    this.#budget.addText(value);
    return value;
  }
}

const TYPES = ["array", "boolean", "integer", "null", "number", "object", "string"];

function typesIn(value: JsonValue, path: string): JsonValue {
  const types: readonly JsonValue[] = Array.isArray(value) ? value : [value];
  const areTypes = types.every((type) => typeof type === "string" && TYPES.includes(type));
  if (types.length > 0 && types.length <= TYPES.length && areTypes) return value;
  throw new UnusableSchema(path, `expected one or several of ${TYPES.join(", ")}`);
}
