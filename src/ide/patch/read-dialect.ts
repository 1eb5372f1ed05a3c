import type { AnyNode, MethodDefinition } from "acorn";

/**
 * The argument of `handleThinkingCompleted`: an object with the duration (`plain`), or the whole update, which has it
 * in `message.value` (`update`).
 */
export type Dialect = "plain" | "update";

/** Returns undefined if it reads neither. */
export function readDialect(method: MethodDefinition): Dialect | undefined {
  const [parameter] = method.value.params;
  if (parameter?.type !== "Identifier") return undefined;
  let [readsMessage, readsDuration] = [false, false];
  visit(method.value.body, (node) => {
    if (node.type === "MemberExpression" && !node.computed && node.property.type === "Identifier") {
      if (node.property.name === "thinkingDurationMs") readsDuration = true;
      if (node.property.name === "message" && isName(node.object, parameter.name)) readsMessage = true;
    }
    if (node.type !== "VariableDeclarator" || node.id.type !== "ObjectPattern") return;
    for (const property of node.id.properties) {
      if (property.type !== "Property" || property.key.type !== "Identifier") continue;
      if (property.key.name === "thinkingDurationMs") readsDuration = true;
      if (property.key.name === "message" && isName(node.init, parameter.name)) readsMessage = true;
    }
  });
  if (!readsDuration) return undefined;
  return readsMessage ? "update" : "plain";
}

const isName = (node: AnyNode | null | undefined, name: string): boolean =>
  node?.type === "Identifier" && node.name === name;

function visit(node: AnyNode, onNode: (node: AnyNode) => void): void {
  onNode(node);
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) {
      if (isNode(child)) visit(child, onNode);
    }
  }
}

const isNode = (value: unknown): value is AnyNode =>
  typeof value === "object" && value !== null && typeof (value as { type?: unknown }).type === "string";
