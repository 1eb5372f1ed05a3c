import { describeEveryFace } from "./support/describe-every-face.ts";
import { setUpGateway } from "./support/gateway-process.ts";

describeEveryFace(async (hostConfig, defer) => {
  const { trace, open } = await setUpGateway({ hostConfig }, {}, defer);
  return { trace, url: (await open()).url, startOther: () => open() };
});
