import type { AnyNode, Literal, Node, Program } from "acorn";

/** A name in a program, and what it was declared with. */
export interface Binding {
  readonly name: string;
  readonly scope: Scope;
  readonly value: AnyNode | undefined;
}

export interface Scope {
  readonly parent: Scope | undefined;
  readonly isFunction: boolean;
  readonly names: Map<string, Binding>;
}

/** A node of a program and the scope that it stands in. */
export interface Place<Type extends AnyNode = AnyNode> {
  readonly node: Type;
  readonly scope: Scope;
}

/**
 * Visits every node of a program, and collects the names that it declares. A name can be looked up once all nodes are
 * visited. `inside` is the scope of the node's own body.
 */
export function visitNodes(program: Program, visit: (place: Place, inside: Scope) => void): void {
  const open: Place[] = [{ node: program, scope: { parent: undefined, isFunction: true, names: new Map() } }];
  for (let place = open.pop(); place; place = open.pop()) {
    const { node, scope } = place;
    const inside = scopeInside(node, scope);
    declare(node, scope, inside);
    visit(place, inside);
    for (const child of childrenOf(node)) open.push({ node: child, scope: inside });
  }
}

const FUNCTIONS: ReadonlySet<string> = new Set([
  "FunctionExpression",
  "FunctionDeclaration",
  "ArrowFunctionExpression",
]);
const BLOCKS: ReadonlySet<string> = new Set([
  "BlockStatement",
  "ForStatement",
  "ForOfStatement",
  "ForInStatement",
  "SwitchStatement",
  "CatchClause",
]);

function scopeInside({ type }: Node, parent: Scope): Scope {
  const isFunction = FUNCTIONS.has(type);
  return isFunction || BLOCKS.has(type) ? { parent, isFunction, names: new Map() } : parent;
}

function declare(node: AnyNode, outside: Scope, inside: Scope): void {
  const add = (scope: Scope, name: string, value: AnyNode | undefined) => scope.names.set(name, { name, scope, value });
  switch (node.type) {
    case "ClassDeclaration":
    case "FunctionDeclaration":
      if (node.id) add(outside, node.id.name, node);
      break;
    case "VariableDeclaration": {
      const scope = node.kind === "var" ? functionScope(outside) : outside;
      for (const { id, init } of node.declarations)
        if (id.type === "Identifier") add(scope, id.name, init ?? undefined);
      break;
    }
    default:
  }
  if (!("params" in node)) return;
  for (const parameter of node.params) if (parameter.type === "Identifier") add(inside, parameter.name, undefined);
}

const functionScope = (scope: Scope): Scope =>
  scope.isFunction || !scope.parent ? scope : functionScope(scope.parent);

export function lookUp(name: string, scope: Scope | undefined): Binding | undefined {
  for (let place = scope; place; place = place.parent) {
    const found = place.names.get(name);
    if (found) return found;
  }
  return undefined;
}

function childrenOf(node: AnyNode): readonly AnyNode[] {
  return Object.values(node).flatMap((value: unknown) => (Array.isArray(value) ? value : [value]).filter(isNode));
}

const isNode = (value: unknown): value is AnyNode =>
  typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";

export const textOf = (node: Node | null | undefined): string | undefined => {
  const value = node?.type === "Literal" ? (node as Literal).value : undefined;
  return typeof value === "string" ? value : undefined;
};
