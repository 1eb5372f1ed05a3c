import { SCHEMA_LIMITS } from "./schema-budget.ts";
import { UnusableSchema } from "./unusable-schema.ts";

export interface SchemaNode {
  /** Schemas that apply to the same value as this one: branches, and the target of `$ref`. */
  readonly inPlace: SchemaNode[];
  /** How many schemas apply to a value that this one applies to; 0 while they are being counted. */
  count?: number;
}

/**
 * Throws if a schema leads back to itself without descending into the value (`{"$ref": "#"}`), or if its references
 * multiply (two references to a schema that has two references …).
 */
export function checkInPlace(nodes: readonly SchemaNode[]): void {
  const path: SchemaNode[] = [];
  for (const start of nodes) {
    path.push(start);
    for (let node = path.at(-1); node; node = path.at(-1)) {
      if (node.count === undefined) {
        enter(node, path);
        continue;
      }
      path.pop();
      if (node.count === 0) leave(node);
    }
  }
}

function enter(node: SchemaNode, path: SchemaNode[]): void {
  node.count = 0;
  for (const inner of node.inPlace) {
    if (inner.count === 0) throw new UnusableSchema("", "a reference in it leads back to itself");
    if (inner.count === undefined) path.push(inner);
  }
}

function leave(node: SchemaNode): void {
  node.count = node.inPlace.reduce((sum, inner) => sum + (inner.count ?? 0), 1);
  if (node.count > SCHEMA_LIMITS.inPlace) {
    throw new UnusableSchema("", "its references make too many schemas apply to one value");
  }
}
