import type {
  AnonymousClassDeclaration,
  AnyNode,
  ArrayExpression,
  ClassDeclaration,
  ClassExpression,
  ObjectExpression,
} from "acorn";
import { parse } from "acorn";
import { BundleNames, idOf, keyOf, propertyOf } from "./bundle-names.ts";
import { type Binding, type Place, textOf, visitNodes } from "./bundle-scopes.ts";
import { type Schema, type SchemaField, type SchemaMethod, scalarName, WELL_KNOWN } from "./schema.ts";

type Class = AnonymousClassDeclaration | ClassDeclaration | ClassExpression;

/** The value of a static member, and the class, or the name of the class, that has it. */
interface StaticMember extends Place {
  readonly owner: AnyNode;
}

/** Declarations of types in a bundle, before their references are resolved. */
interface Found {
  /**
   * Messages with plain descriptors: `X.typeName = "…"` and `X.fields = …newFieldList(() => […])`, or the same as static
   * members of the class X.
   */
  readonly typeNames: StaticMember[];
  readonly fieldLists: StaticMember[];
  /** Messages in compact form: a class with `static $() { return ["Name|1 field 9", …types] }`. */
  readonly compact: Place<Class>[];
  /** Calls that may define an enum, in either form. */
  readonly enumCalls: Place[];
  readonly services: Place<ObjectExpression>[];
}

/** Reads the schema out of the JavaScript of Cursor's SDK. The code is parsed, never run. */
export function readBundles(sources: readonly string[]): Schema {
  const names = new BundleNames();
  const found: Found = { typeNames: [], fieldLists: [], compact: [], enumCalls: [], services: [] };
  for (const source of sources) collect(source, names, found);
  return resolve(names, found);
}

function collect(source: string, names: BundleNames, found: Found): void {
  /** The module that each scope is the body of. */
  const modules = new Map<unknown, string>();
  visitNodes(parse(source, { ecmaVersion: "latest", sourceType: "module", allowHashBang: true }), (place, inside) => {
    const { node, scope } = place;
    if (node.type === "Property" && isFunction(node.value)) modules.set(node.value, keyOf(node) ?? "");
    if (isFunction(node) && modules.has(node)) modules.set(inside, modules.get(node) ?? "");
    const addMember = (key: AnyNode, owner: AnyNode, value: AnyNode) => {
      const name = key.type === "Identifier" ? key.name : "";
      if (name === "typeName") found.typeNames.push({ owner, node: value, scope });
      if (name === "fields") found.fieldLists.push({ owner, node: value, scope });
    };
    if (node.type === "ClassDeclaration" || node.type === "ClassExpression") {
      if (returnedBy(node, "$")) found.compact.push({ node, scope });
      for (const member of node.body.body)
        if (member.type === "PropertyDefinition" && member.static && member.value)
          addMember(member.key, node, member.value);
    }
    if (node.type === "AssignmentExpression" && node.left.type === "MemberExpression")
      addMember(node.left.property, node.left.object, node.right);
    if (node.type === "ObjectExpression" && propertyOf(node, "methods") && textOf(propertyOf(node, "typeName")))
      found.services.push({ node, scope });
    if (node.type !== "CallExpression") return;
    if (node.arguments.some((argument) => argument.type === "ArrayExpression")) found.enumCalls.push(place);
    const exported = node.arguments[1];
    if (exported?.type !== "ObjectExpression" || calledName(node.callee) !== "d") return;
    for (let outer = scope as typeof scope | undefined; outer; outer = outer.parent) {
      const id = modules.get(outer);
      if (id !== undefined) return names.addModule(id, exported, scope);
    }
  });
}

function resolve(names: BundleNames, found: Found): Schema {
  const types = new Map<Binding, string>();
  const enums = new Map<string, ReadonlyMap<number, string>>();
  const messages = new Map<string, readonly SchemaField[]>();
  const methods = new Map<string, SchemaMethod>();

  for (const { node, scope } of found.enumCalls) {
    const read = readEnum(node, (inner) => names.text({ node: inner, scope }));
    if (!read) continue;
    enums.set(read.name, read.values);
    const binding = read.holder ? names.find({ node: read.holder, scope }) : bindingOf(node, scope);
    if (binding) types.set(binding, read.name);
  }
  const bindingOfClass = (owner: AnyNode, scope: Place["scope"]): Binding | undefined => {
    const isClass = owner.type === "ClassDeclaration" || owner.type === "ClassExpression";
    if (!isClass) return names.find({ node: owner, scope });
    return owner.id ? names.find({ node: owner.id, scope }) : bindingOf(owner, scope);
  };
  for (const { owner, node, scope } of found.typeNames) {
    const name = textOf(node);
    const binding = bindingOfClass(owner, scope);
    if (name !== undefined && binding) types.set(binding, name);
  }
  const compactNames = new Map<Class, string>();
  for (const { node, scope } of found.compact) {
    const name = compactName(node, scope, names);
    const binding = bindingOfClass(node, scope);
    if (name === undefined) continue;
    compactNames.set(node, name);
    if (binding) types.set(binding, name);
  }

  const typeName = (place: Place): string => {
    const binding = names.find(place);
    return (binding && types.get(binding)) ?? WELL_KNOWN;
  };
  // The package has several bundles. Those that do not need a type have left it out.
  const addMessage = (name: string, fields: readonly SchemaField[]) => {
    const known = new Map(messages.get(name)?.map((field) => [field.number, field]));
    messages.set(
      name,
      fields.map((field) => (field.type.includes(WELL_KNOWN) ? (known.get(field.number) ?? field) : field)),
    );
  };
  for (const { owner, node, scope } of found.fieldLists) {
    const binding = bindingOfClass(owner, scope);
    const name = binding && types.get(binding);
    if (name !== undefined) addMessage(name, plainFields(node, scope, typeName));
  }
  for (const { node, scope } of found.compact) {
    const name = compactNames.get(node);
    const list = returnedBy(node, "$");
    if (name !== undefined && list?.type === "ArrayExpression") addMessage(name, compactFields(list, scope, typeName));
  }
  for (const { node, scope } of found.services) {
    const service = textOf(propertyOf(node, "typeName"));
    const list = propertyOf(node, "methods");
    if (list?.type !== "ObjectExpression") continue;
    for (const entry of list.properties) {
      const method = entry.type === "Property" ? entry.value : undefined;
      const [name, input, output] = [
        textOf(propertyOf(method, "name")),
        propertyOf(method, "I"),
        propertyOf(method, "O"),
      ];
      if (name === undefined || !input || !output) continue;
      methods.set(`/${service}/${name}`, {
        input: typeName({ node: input, scope }),
        output: typeName({ node: output, scope }),
      });
    }
  }
  return { messages, enums, methods };
}

const isFunction = (node: AnyNode): boolean =>
  node.type === "FunctionExpression" || node.type === "ArrowFunctionExpression";

const calledName = (callee: AnyNode): string | undefined =>
  callee.type === "MemberExpression" && callee.property.type === "Identifier" ? callee.property.name : undefined;

/** Returns the name that a value was declared with: `var name = value`. */
function bindingOf(value: AnyNode, scope: Place["scope"]): Binding | undefined {
  for (let place: Place["scope"] | undefined = scope; place; place = place.parent)
    for (const binding of place.names.values()) if (binding.value === value) return binding;
  return undefined;
}

/** Returns what a static method of a class returns. */
function returnedBy({ body }: Class, name: string): AnyNode | undefined {
  for (const member of body.body) {
    if (member.type !== "MethodDefinition" || !member.static) continue;
    if (member.key.type !== "Identifier" || member.key.name !== name) continue;
    const last = member.value.body.body.at(-1);
    return last?.type === "ReturnStatement" ? (last.argument ?? undefined) : undefined;
  }
  return undefined;
}

interface ReadEnum {
  readonly name: string;
  readonly values: ReadonlyMap<number, string>;
  /** What the values are assigned to, if the call does not return it. */
  readonly holder?: AnyNode;
}

/**
 * Reads `setEnumType(holder, "full.Name", [{ no, name }])`, and the compact `define(runtime, "package.", "Name",
 * [[0, "VALUE"]], 1)`, where a last argument means that the values lack the enum's name.
 */
function readEnum(node: AnyNode, text: (node: AnyNode) => string | undefined): ReadEnum | undefined {
  if (node.type !== "CallExpression") return undefined;
  const [first, second, third, fourth, fifth] = node.arguments;
  if (calledName(node.callee) === "setEnumType" && first && second && third?.type === "ArrayExpression") {
    const name = textOf(second);
    const values = third.elements.flatMap((value): [number, string][] => {
      const [number, valueName] = [Number(idOf(propertyOf(value, "no"))), textOf(propertyOf(value, "name"))];
      return valueName === undefined ? [] : [[number, valueName]];
    });
    return name === undefined ? undefined : { name, values: new Map(values), holder: first };
  }
  const [prefix, local] = [second && text(second), textOf(third)];
  if (prefix === undefined || local === undefined || fourth?.type !== "ArrayExpression") return undefined;
  const before = fifth?.type === "Literal" ? constantCase(local.slice(local.lastIndexOf(".") + 1)) : "";
  const values = fourth.elements.flatMap((pair): [number, string][] => {
    const [number, valueName] = pair?.type === "ArrayExpression" ? pair.elements : [];
    const name = textOf(valueName);
    return name === undefined ? [] : [[Number(idOf(number ?? undefined)), before + name]];
  });
  return { name: prefix + local, values: new Map(values) };
}

const constantCase = (name: string): string =>
  `${(name.charAt(0) + name.slice(1).replace(/[A-Z]/g, (letter) => `_${letter}`)).toUpperCase()}_`;

/** The first part of a compact message is its name; the package stands in a class above it. */
function compactName(node: Class, scope: Place["scope"], names: BundleNames): string | undefined {
  const list = returnedBy(node, "$");
  const name = list?.type === "ArrayExpression" ? textOf(list.elements[0])?.split("|")[0] : undefined;
  let parent = node.superClass ? names.find({ node: node.superClass, scope }) : undefined;
  while (parent?.value?.type === "ClassDeclaration" || parent?.value?.type === "ClassExpression") {
    const prefix = returnedBy(parent.value, "$p");
    if (prefix) return name === undefined ? undefined : `${names.text({ node: prefix, scope: parent.scope })}${name}`;
    parent = parent.value.superClass ? names.find({ node: parent.value.superClass, scope: parent.scope }) : undefined;
  }
  return undefined;
}

/** Reads `1 name 9?`: number, name, type; `#2` is the third type that follows; `?` optional, `*` repeated, or a oneof. */
function compactFields(
  { elements }: ArrayExpression,
  scope: Place["scope"],
  typeName: (place: Place) => string,
): readonly SchemaField[] {
  const [head, ...references] = elements;
  const typeOf = (code: string): string => {
    if (!code.startsWith("#")) return scalarName(Number(code));
    const node = references[Number(code.slice(1))];
    return node && node.type !== "SpreadElement" ? typeName({ node, scope }) : WELL_KNOWN;
  };
  const [, ...fields] = textOf(head)?.split("|") ?? [];
  return fields.map((field) => {
    const [number = "", name = "", code = "", oneof] = field.split(" ");
    const type = code.replace(/[?*]$/, "");
    const [key, value] = type.split(",");
    return {
      number: Number(number),
      name,
      type: value === undefined ? typeOf(type) : `map<${typeOf(key ?? "")}, ${typeOf(value)}>`,
      isRepeated: code.endsWith("*"),
      isOptional: code.endsWith("?"),
      oneof,
    };
  });
}

/** Reads `newFieldList(() => [{ no, name, kind, T, repeated, opt, oneof }])`. */
function plainFields(call: AnyNode, scope: Place["scope"], typeName: (place: Place) => string): readonly SchemaField[] {
  const list = call.type === "CallExpression" ? call.arguments[0] : undefined;
  if (list?.type !== "ArrowFunctionExpression" || list.body.type !== "ArrayExpression") return [];
  const typeOf = (field: AnyNode | undefined): string => {
    const [kind, type] = [textOf(propertyOf(field, "kind")), propertyOf(field, "T")];
    if (kind === "map") {
      const key = scalarName(Number(idOf(propertyOf(field, "K"))));
      return `map<${key}, ${typeOf(propertyOf(field, "V"))}>`;
    }
    if (kind === "scalar") return scalarName(Number(idOf(type)));
    const reference = type?.type === "CallExpression" ? type.arguments[0] : type;
    return reference ? typeName({ node: reference, scope }) : WELL_KNOWN;
  };
  return list.body.elements.flatMap((field) => {
    const name = textOf(propertyOf(field, "name"));
    if (!field || name === undefined) return [];
    return [
      {
        number: Number(idOf(propertyOf(field, "no"))),
        name,
        type: typeOf(field),
        isRepeated: propertyOf(field, "repeated") !== undefined,
        isOptional: propertyOf(field, "opt") !== undefined,
        oneof: textOf(propertyOf(field, "oneof")),
      },
    ];
  });
}
