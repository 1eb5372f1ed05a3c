import type { AnyNode, AssignmentProperty, ObjectExpression, Property } from "acorn";
import { type Binding, lookUp, type Place, type Scope, textOf } from "./bundle-scopes.ts";

/** Finds what the names in a bundle stand for, across the modules that the bundler has put into it. */
export class BundleNames {
  /** What each module exports, by its id. */
  readonly #modules = new Map<string, ReadonlyMap<string, Place>>();

  /** A bundle writes `require.d(exports, { name: () => value })` inside of a module's function. */
  addModule(id: string, exported: ObjectExpression, scope: Scope): void {
    const names = new Map(this.#modules.get(id));
    for (const property of exported.properties) {
      const name = property.type === "Property" ? keyOf(property) : undefined;
      if (property.type !== "Property" || name === undefined) continue;
      if (property.value.type === "ArrowFunctionExpression") names.set(name, { node: property.value.body, scope });
    }
    this.#modules.set(id, names);
  }

  /** Returns the declaration that an expression leads to: a name, or a name of another module. */
  find({ node, scope }: Place, depth = 0): Binding | undefined {
    if (depth > MAX_STEPS) return undefined;
    if (node.type === "Identifier") {
      const found = lookUp(node.name, scope);
      const isAlias = found?.value?.type === "Identifier" || found?.value?.type === "MemberExpression";
      if (!found || !isAlias || !found.value) return found;
      return this.find({ node: found.value, scope: found.scope }, depth + 1) ?? found;
    }
    if (node.type !== "MemberExpression" || node.property.type !== "Identifier") return undefined;
    const required = this.find({ node: node.object, scope }, depth + 1)?.value;
    const id = required?.type === "CallExpression" ? idOf(required.arguments[0]) : undefined;
    const target = id === undefined ? undefined : this.#modules.get(id)?.get(node.property.name);
    return target && this.find(target, depth + 1);
  }

  /** Returns the string that an expression stands for. */
  text(place: Place): string | undefined {
    return textOf(place.node) ?? textOf(this.find(place)?.value);
  }
}

/** More than any bundle needs; a cycle ends here. */
const MAX_STEPS = 50;

export function idOf(node: AnyNode | undefined): string | undefined {
  return node?.type === "Literal" && node.value !== null ? String(node.value) : undefined;
}

export function keyOf({ key, computed }: Property | AssignmentProperty): string | undefined {
  return computed ? undefined : key.type === "Identifier" ? key.name : idOf(key);
}

/** Returns the value of a property. */
export function propertyOf(node: AnyNode | null | undefined, name: string): AnyNode | undefined {
  if (node?.type !== "ObjectExpression") return undefined;
  const found = node.properties.find((property) => property.type === "Property" && keyOf(property) === name);
  return found?.type === "Property" ? found.value : undefined;
}
