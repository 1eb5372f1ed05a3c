import { create, type DescMessage, type Message, type MessageShape } from "@bufbuild/protobuf";
import { WireType } from "@bufbuild/protobuf/wire";

/** Returns the number of a oneof member that our schema does not know, or undefined. */
export const unknownMember = ({ $unknown }: Message): number | undefined =>
  $unknown?.find((field) => field.wireType === WireType.LengthDelimited)?.no;

/** Returns the number of the member in a message's only oneof, known or not. 0 if it is empty. */
export function memberOf<D extends DescMessage>(schema: D, message: MessageShape<D>): number {
  const [oneof] = schema.oneofs;
  const held = oneof && (message as unknown as Record<string, { case?: string } | undefined>)[oneof.localName];
  const known = oneof?.fields.find((field) => field.localName === held?.case)?.number;
  return known ?? unknownMember(message) ?? 0;
}

/** Creates a message whose oneof holds an empty member of this number, known or not. */
export function withMember<D extends DescMessage>(schema: D, number: number): MessageShape<D> {
  const message = create(schema);
  // Length-delimited, of length 0.
  message.$unknown = [{ no: number, wireType: WireType.LengthDelimited, data: Uint8Array.of(0) }];
  return message;
}

/** Returns the member's name in the schema, or `#number`. */
export const memberName = (schema: DescMessage, number: number): string =>
  schema.fields.find((field) => field.number === number)?.name ?? `#${number}`;
