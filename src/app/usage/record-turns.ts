import type { Engine } from "../../core/engine/engine.ts";
import { ExcursorError } from "../../core/errors.ts";
import type { TurnEvent } from "../../core/events.ts";
import { httpStatus, publicCode } from "../../faces/shared/errors/http-errors.ts";
import type { UsageRecorder } from "../../usage/record/usage-recorder.ts";

/** The status of a turn whose reader has left. */
const LEFT = 499;

/**
 * Wraps the engine so that each turn is recorded as a request, and held to the limits of its key, for faces that are not
 * behind the server. `keyName` returns the name of a key.
 */
export function recordTurns(
  engine: Engine,
  usage: UsageRecorder,
  face: string,
  keyName: (principalId: string) => string | undefined = () => undefined,
): Engine {
  return {
    ...engine,
    run(turn, context) {
      const recording = usage.begin(context.requestId, performance.now());
      recording.routed();
      recording.asks(turn);
      const end = (status: number, errorCode?: string) => {
        const { id: principalId, token } = turn.principal;
        const name = token ? "token" : (keyName(principalId) ?? principalId);
        usage.end(recording, { principalId, keyName: name, client: face, face, route: face, status, errorCode });
      };
      const start = () => engine.run(turn, { ...context, observer: recording, meter: recording });
      return recorded(start, end);
    },
  };
}

async function* recorded(
  start: () => AsyncIterable<readonly TurnEvent[]>,
  end: (status: number, errorCode?: string) => void,
): AsyncGenerator<readonly TurnEvent[]> {
  let status = LEFT;
  let code: string | undefined = "client_gone";
  try {
    for await (const events of start()) {
      if (events.at(-1)?.type === "done") {
        status = 200;
        code = undefined;
      }
      yield events;
    }
  } catch (thrown) {
    const error = ExcursorError.from(thrown);
    status = httpStatus(error.kind);
    code = publicCode(error);
    throw thrown;
  } finally {
    end(status, code);
  }
}
