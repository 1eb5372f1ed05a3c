import type { MeteredAnswer, PassedAnswer, PassedRequest } from "../../passed-request.ts";
import { PassedUsage } from "../../rules/passed-usage.ts";
import type { RunMeter } from "../../run-meter.ts";

/**
 * Passes a request on so that its tokens are counted, however it ends, as those of a run are: also if the client leaves
 * before the answer begins, since the request was sent then. A request that the upstream refuses has used nothing.
 */
export async function passMetered(
  answer: Promise<PassedAnswer>,
  { api, inputTokens }: PassedRequest,
  { signal, meter }: { readonly signal: AbortSignal; readonly meter?: RunMeter | undefined },
): Promise<MeteredAnswer> {
  const tell = (used: PassedUsage) => {
    const usage = used.total();
    meter?.used(usage, usage.isEstimate ? "estimate" : "upstream");
  };
  const { contentType, body } = await answer.catch((error) => {
    if (signal.aborted) tell(new PassedUsage(api, "", inputTokens));
    throw error;
  });
  const used = new PassedUsage(api, contentType, inputTokens);
  async function* metered(): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of body) {
        used.add(chunk);
        meter?.grow?.(inputTokens, used.outputTokens);
        yield chunk;
      }
    } finally {
      tell(used);
    }
  }
  return { contentType, body: metered(), used };
}
