import {
  create,
  type DescField,
  type DescMessage,
  fromJson,
  type JsonValue,
  type MessageInitShape,
  type MessageShape,
  ScalarType,
} from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";

type Draw = fc.GeneratorValue;

/** Random messages of a schema: few fields each, nested a few levels deep. */
export function message<Desc extends DescMessage>(schema: Desc): fc.Arbitrary<MessageShape<Desc>> {
  return fc.gen().map((draw) => create(schema, init(draw, schema, 5) as MessageInitShape<Desc>));
}

function init(draw: Draw, schema: DescMessage, depth: number): Record<string, unknown> {
  if (schema.members.length === 0) return {};
  return Object.fromEntries(
    several(draw, 4, () => {
      const member = pick(draw, schema.members);
      if (member.kind === "field") return [member.localName, field(draw, member, depth)];
      const chosen = pick(draw, member.fields);
      return [member.localName, { case: chosen.localName, value: field(draw, chosen, depth) }];
    }),
  );
}

function field(draw: Draw, desc: DescField, depth: number): unknown {
  switch (desc.fieldKind) {
    case "list":
      return several(draw, 3, () => single(draw, desc, depth));
    case "map":
      return Object.fromEntries(several(draw, 3, () => [scalar(draw, desc.mapKey), single(draw, desc, depth)]));
    default:
      return single(draw, desc, depth);
  }
}

function single(draw: Draw, desc: DescField, depth: number): unknown {
  if (desc.message) return nested(draw, desc.message, depth);
  if (desc.scalar) return scalar(draw, desc.scalar);
  // Also a number without a name, which a newer peer may send.
  if (desc.enum) return pick(draw, [...desc.enum.values.map((value) => value.number), 1_000_000]);
  throw new Error(`${desc} holds nothing`);
}

function nested(draw: Draw, schema: DescMessage, depth: number): unknown {
  // protobuf-es takes a Value as a message, but a Struct as plain JSON.
  if (schema.typeName === "google.protobuf.Value") {
    return fromJson(ValueSchema, draw(fc.jsonValue) as JsonValue);
  }
  if (schema.typeName === "google.protobuf.Struct") return { any: draw(fc.jsonValue) };
  return depth > 0 ? init(draw, schema, depth - 1) : {};
}

function scalar(draw: Draw, type: ScalarType): unknown {
  switch (type) {
    case ScalarType.STRING:
      return draw(fc.string, { unit: "binary" });
    case ScalarType.BOOL:
      return draw(fc.boolean);
    case ScalarType.BYTES:
      return draw(fc.uint8Array);
    case ScalarType.DOUBLE:
      return draw(fc.double, { noNaN: true });
    case ScalarType.FLOAT:
      return draw(fc.float, { noNaN: true });
    case ScalarType.INT32:
      return draw(fc.integer);
    case ScalarType.UINT32:
      return draw(fc.integer, { min: 0, max: 0xffff_ffff });
    case ScalarType.INT64:
      return draw(fc.bigInt, { min: -(2n ** 63n), max: 2n ** 63n - 1n });
    case ScalarType.UINT64:
      return draw(fc.bigInt, { min: 0n, max: 2n ** 64n - 1n });
    default:
      throw new Error(`no field of the schema is a ${ScalarType[type]}`);
  }
}

function several<T>(draw: Draw, most: number, make: () => T): T[] {
  return Array.from({ length: draw(fc.nat, most) }, make);
}

function pick<T>(draw: Draw, choices: readonly T[]): T {
  return choices[draw(fc.nat, choices.length - 1)] as T;
}
