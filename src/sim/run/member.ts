import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { WireType } from "@bufbuild/protobuf/wire";

/**
 * The number of the member that the (only) oneof of a message holds; for a member that the schema does not know,
 * the number under which it was kept. 0 if there is none.
 */
export function memberOf<D extends DescMessage>(schema: D, message: MessageShape<D>): number {
  const [oneof] = schema.oneofs;
  const held = oneof && (message as unknown as Record<string, { case?: string } | undefined>)[oneof.localName];
  const known = oneof?.fields.find((field) => field.localName === held?.case)?.number;
  return known ?? message.$unknown?.find((field) => field.wireType === WireType.LengthDelimited)?.no ?? 0;
}

/** A message whose oneof holds an empty member of this number, whether or not the schema knows it. */
export function withMember<D extends DescMessage>(schema: D, number: number): MessageShape<D> {
  const message = create(schema);
  // Length-delimited, of length 0.
  message.$unknown = [{ no: number, wireType: WireType.LengthDelimited, data: Uint8Array.of(0) }];
  return message;
}

/** The name of a member as the wire's own documents write it. */
export const memberName = (schema: DescMessage, number: number): string =>
  schema.fields.find((field) => field.number === number)?.name ?? `#${number}`;
