import type { DescField, DescFile, DescMessage } from "@bufbuild/protobuf";
import { nestedTypes } from "@bufbuild/protobuf/reflect";
import { type Schema, type SchemaField, type SchemaMethod, scalarName } from "./schema.ts";

/** Returns the schema of generated files and of what they import. */
export function schemaOf(files: readonly DescFile[]): Schema {
  const messages = new Map<string, readonly SchemaField[]>();
  const enums = new Map<string, ReadonlyMap<number, string>>();
  const methods = new Map<string, SchemaMethod>();
  for (const file of withDependencies(files)) {
    for (const type of nestedTypes(file)) {
      if (type.kind === "message") messages.set(type.typeName, fieldsOf(type));
      if (type.kind === "enum")
        enums.set(type.typeName, new Map(type.values.map(({ number, name }) => [number, name])));
      if (type.kind !== "service") continue;
      for (const { name, input, output } of type.methods)
        methods.set(`/${type.typeName}/${name}`, { input: input.typeName, output: output.typeName });
    }
  }
  return { messages, enums, methods };
}

function withDependencies(files: readonly DescFile[]): ReadonlySet<DescFile> {
  const all = new Set<DescFile>(files);
  for (const file of all) for (const dependency of file.dependencies) all.add(dependency);
  return all;
}

const fieldsOf = ({ fields }: DescMessage): readonly SchemaField[] =>
  fields.map((field) => ({
    number: field.number,
    name: field.name,
    type: typeOf(field),
    isRepeated: field.fieldKind === "list",
    isOptional: field.proto.proto3Optional,
    oneof: field.oneof?.name,
  }));

function typeOf(field: DescField): string {
  switch (field.fieldKind) {
    case "scalar":
      return scalarName(field.scalar);
    case "enum":
      return field.enum.typeName;
    case "message":
      return field.message.typeName;
    case "list":
      return field.listKind === "scalar" ? scalarName(field.scalar) : (field.enum ?? field.message).typeName;
    case "map": {
      const value = field.mapKind === "scalar" ? scalarName(field.scalar) : (field.enum ?? field.message).typeName;
      return `map<${scalarName(field.mapKey)}, ${value}>`;
    }
  }
}
