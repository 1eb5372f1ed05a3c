import { useState } from "preact/hooks";
import type { DriftReply } from "../../src/dashboard/captured-messages.ts";
import { moment } from "../format.ts";
import { ErrorNotice } from "../parts/notice.tsx";
import { post } from "../session.ts";

/** How many are listed. `excursor drift` lists all. */
const MAX_SHOWN = 20;

/** What the gateway's capture holds beyond our schema, when asked for. */
export function Drift() {
  const [state, setState] = useState<{
    readonly isRunning: boolean;
    readonly reply?: DriftReply;
    readonly error?: unknown;
  }>({ isRunning: false });
  const check = () => {
    setState({ isRunning: true });
    post<DriftReply>("/drift", {}).then(
      (reply) => setState({ isRunning: false, reply }),
      (error) => setState({ isRunning: false, error }),
    );
  };
  const { isRunning, reply, error } = state;
  return (
    <div>
      <dt>Drift</dt>
      <dd>
        <button type="button" class="small" disabled={isRunning} onClick={check}>
          {isRunning ? "Checking…" : "Check drift"}
        </button>{" "}
        {error !== undefined && <ErrorNotice error={error} />}
        {reply && <Found reply={reply} />}
      </dd>
    </div>
  );
}

function Found({ reply }: { readonly reply: DriftReply }) {
  const { differences, found, conflicts, calls, messages, isCut, at } = reply;
  const shown = differences.slice(0, MAX_SHOWN);
  return (
    <>
      {found === 0 ? "Nothing is unknown" : `${found} unknown${conflicts > 0 ? `, ${conflicts} in conflict` : ""}`} in{" "}
      {messages} messages of {calls} calls{isCut ? " at the beginning of the capture" : ""}, at {moment(at)}.
      {shown.length > 0 && (
        <ul class="drift">
          {shown.map((row) => (
            <li key={`${row.what} ${row.owner} ${row.name}`}>
              {row.isConflict ? "conflict: " : ""}
              {row.what}{" "}
              <span class="mono">
                {row.owner} {row.name}
              </span>
              , {row.count}×
            </li>
          ))}
          {found > shown.length && <li>and {found - shown.length} more; `excursor drift` lists all</li>}
        </ul>
      )}
    </>
  );
}
