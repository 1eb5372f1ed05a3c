import { useState } from "preact/hooks";
import type { DemoReply } from "../../src/dashboard/messages.ts";
import { post, session } from "../session.ts";
import { ErrorNotice } from "./notice.tsx";

/** Plays a small mix of requests on the simulator. Shown only in demo mode. */
export function DemoButton() {
  const [error, setError] = useState<unknown>();
  const [isBusy, setIsBusy] = useState(false);
  if (session.value.type !== "open" || !session.value.isDemo) return null;
  const play = () => {
    setError(undefined);
    setIsBusy(true);
    post<DemoReply>("/demo", {})
      .catch(setError)
      .finally(() => setIsBusy(false));
  };
  return (
    <div class="actions">
      {error !== undefined && <ErrorNotice error={error} />}
      <button type="button" class="primary" disabled={isBusy} onClick={play}>
        Play demo traffic
      </button>
    </div>
  );
}
