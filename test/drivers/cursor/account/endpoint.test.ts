import { create, toBinary } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { Endpoints } from "../../../../src/drivers/cursor/account/endpoint.ts";
import { GetUserPrivacyModeResponseSchema, PrivacyMode } from "../../../../src/gen/aiserver/v1/dashboard_pb.ts";
import { GetServerConfigResponseSchema, Http2Config } from "../../../../src/gen/aiserver/v1/server_config_pb.ts";
import { madeUpTransport } from "../../../wire/support/made-up-transport.ts";

const ORIGIN = "https://api2.cursor.sh";
const [PRIVATE, OPEN] = ["https://agent.api5.cursor.sh", "https://agentn.api5.cursor.sh"];

/** A backend that has these two answers, or none. */
function find(
  config: object | undefined,
  privacyMode: PrivacyMode | undefined,
  agentOrigin?: string,
  transport: "auto" | "h1" = "auto",
) {
  const http1 = madeUpTransport(({ path }, handler) => {
    const answer = path.endsWith("/GetServerConfig")
      ? config && toBinary(GetServerConfigResponseSchema, create(GetServerConfigResponseSchema, config))
      : privacyMode !== undefined &&
        toBinary(GetUserPrivacyModeResponseSchema, create(GetUserPrivacyModeResponseSchema, { privacyMode }));
    queueMicrotask(() => {
      handler.head({ status: answer ? 200 : 500, headers: { "content-type": "application/proto" } });
      if (answer) handler.data(answer);
      handler.end();
    });
    return undefined;
  });
  return new Endpoints({ origin: ORIGIN, agentOrigin, http1, transport }).find("me", { token: "t" });
}

const elsewhere = (agentUrl: string, agentnUrl: string) => ({
  useNlbForNal: true,
  agentUrlConfig: { agentUrl, agentnUrl },
});

it.each<[what: string, config: object | undefined, mode: PrivacyMode | undefined, origin: string, isPrivate: boolean]>([
  ["with privacy", elsewhere(PRIVATE, OPEN), PrivacyMode.NO_TRAINING, PRIVATE, true],
  ["without", elsewhere(PRIVATE, OPEN), PrivacyMode.USAGE_DATA_TRAINING_ALLOWED, OPEN, false],
  ["not known", elsewhere(PRIVATE, OPEN), PrivacyMode.UNSPECIFIED, PRIVATE, true],
  ["no word of privacy", elsewhere(PRIVATE, OPEN), undefined, PRIVATE, true],
  ["not wanted", { ...elsewhere(PRIVATE, OPEN), useNlbForNal: false }, PrivacyMode.NO_TRAINING, ORIGIN, true],
  ["no word of hosts", undefined, PrivacyMode.NO_TRAINING, ORIGIN, true],
])("the host of the runs: %s", async (_, config, mode, origin, ghostMode) => {
  expect(await find(config, mode)).toEqual({ origin, transport: "h2", ghostMode });
});

it.each([
  "https://cursor.sh.example.com",
  "https://notcursor.sh",
  "http://agent.api5.cursor.sh",
  "https://agent.api5.cursor.sh@example.com",
  "https://example.com/.cursor.sh",
  "https://agent.api5.cursor.sh:8443",
  "",
])("SEC-13: the token goes to no host but the vendor's: %s", async (url) => {
  expect((await find(elsewhere(url, url), PrivacyMode.NO_TRAINING)).origin).toBe(ORIGIN);
});

it("the host of the settings counts for more than the backend's", async () => {
  const own = "https://agentn.us.api5.cursor.sh";
  expect(await find(elsewhere(PRIVATE, OPEN), PrivacyMode.NO_TRAINING, own)).toMatchObject({ origin: own });
  expect(await find(undefined, undefined, own)).toMatchObject({ origin: own, transport: "h2", ghostMode: true });
});

it.each([
  [Http2Config.FORCE_BIDI_DISABLED, "auto"],
  [Http2Config.FORCE_ALL_DISABLED, "auto"],
  [Http2Config.UNSPECIFIED, "h1"],
] as const)(
  "fact 20: HTTP/1.1 never goes to the host that is named for runs (%s, %s)",
  async (http2Config, setting) => {
    const config = { ...elsewhere(PRIVATE, OPEN), http2Config };
    expect(await find(config, PrivacyMode.NO_TRAINING, undefined, setting)).toMatchObject({
      origin: ORIGIN,
      transport: "h1",
    });
  },
);
