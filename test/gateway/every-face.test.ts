import { describeEveryFace } from "./support/describe-every-face.ts";
import { setUpGateway } from "./support/gateway-process.ts";

describeEveryFace(async (hostConfig, defer) => {
  const { trace, start } = await setUpGateway({ hostConfig }, {}, defer);
  return { trace, url: (await start()).url, startOther: () => start() };
});
