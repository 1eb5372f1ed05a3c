import { BinaryReader } from "@bufbuild/protobuf/wire";
import { GetServerConfigResponseSchema } from "../../gen/aiserver/v1/server_config_pb.ts";

const { useNlbForNal, agentUrlConfig } = GetServerConfigResponseSchema.field;

/** Removes the hosts for agent calls from an answer to `GetServerConfig`, so that its client stays where it is. Throws if it cannot be read. */
export const withoutAgentHosts = (body: Buffer, isJson: boolean): Uint8Array =>
  isJson ? withoutJsonFields(body) : withoutFields(body);

/** Cuts the fields out of the serialized message; all others stay as the backend wrote them. */
function withoutFields(message: Uint8Array): Uint8Array {
  const reader = new BinaryReader(message);
  const kept: Uint8Array[] = [];
  while (reader.pos < reader.len) {
    const start = reader.pos;
    const [number, wireType] = reader.tag();
    reader.skip(wireType, number);
    if (number !== useNlbForNal.number && number !== agentUrlConfig.number)
      kept.push(message.subarray(start, reader.pos));
  }
  return Buffer.concat(kept);
}

function withoutJsonFields(body: Buffer): Buffer {
  const config = JSON.parse(body.toString("utf8")) as Record<string, unknown>;
  const names = [useNlbForNal, agentUrlConfig].flatMap(({ name, jsonName }) => [name, jsonName]);
  if (!names.some((name) => name in config)) return body;
  return Buffer.from(
    JSON.stringify(Object.fromEntries(Object.entries(config).filter(([name]) => !names.includes(name)))),
  );
}
