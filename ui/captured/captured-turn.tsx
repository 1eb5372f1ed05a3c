import { useState } from "preact/hooks";
import type { CapturedCall } from "../../src/dashboard/captured-messages.ts";
import { bytes, span } from "../format.ts";
import { ErrorNotice } from "../parts/notice.tsx";
import { compareRequests } from "./compare-requests.ts";
import { readAnswer, readRequest } from "./read-messages.ts";
import { SaidList } from "./said-view.tsx";
import { useMessages } from "./use-messages.ts";

interface CapturedTurnProps {
  /** The call whose messages are shown, if one speaks a public API. */
  readonly said: CapturedCall | undefined;
  /** The same of the turn before. */
  readonly previous: CapturedCall | undefined;
  readonly client: readonly CapturedCall[];
  readonly upstream: readonly CapturedCall[];
}

/** What was said in one turn: the messages, the difference to the turn before, and both wires. Loaded when opened. */
export function CapturedTurn({ said, previous, client, upstream }: CapturedTurnProps) {
  const [view, setView] = useState<string>();
  const wires = new Map([...named("Client's wire", client), ...named("Upstream's wire", upstream)]);
  const views = [...(said ? ["Messages"] : []), ...(said && previous ? ["Changes"] : []), ...wires.keys()];
  const wire = wires.get(view ?? "");
  return (
    <div class="turn captured">
      <div class="actions">
        {views.map((name) => (
          <button
            key={name}
            type="button"
            aria-pressed={view === name}
            onClick={() => setView(view === name ? undefined : name)}
          >
            {name}
          </button>
        ))}
      </div>
      {view === "Messages" && said && <Messages call={said} />}
      {view === "Changes" && said && previous && <Changes call={said} previous={previous} />}
      {wire && <Wire key={wire.call} call={wire} />}
    </div>
  );
}

const named = (name: string, calls: readonly CapturedCall[]) =>
  calls.map((call, index) => [calls.length > 1 ? `${name} ${index + 1}` : name, call] as const);

const Loading = () => <p class="muted">Loading…</p>;

function Messages({ call }: { readonly call: CapturedCall }) {
  const { messages, error, isCut } = useMessages(call.call);
  if (error !== undefined) return <ErrorNotice error={error} />;
  if (!messages) return <Loading />;
  const [request] = messages.filter(({ direction }) => direction === "sent");
  const received = messages.filter(({ direction }) => direction === "received");
  return (
    <>
      <SaidList said={readRequest(request?.value)} />
      <SaidList said={[readAnswer(call.path, received)]} />
      {(isCut || messages.some((message) => message.isCut)) && <Cut />}
    </>
  );
}

const Cut = () => <p class="muted">Long parts are cut. `excursor inspect` shows all.</p>;

function Changes({ call, previous }: { readonly call: CapturedCall; readonly previous: CapturedCall }) {
  const [now, before] = [useMessages(call.call), useMessages(previous.call)];
  const error = now.error ?? before.error;
  if (error !== undefined) return <ErrorNotice error={error} />;
  if (!now.messages || !before.messages) return <Loading />;
  const [old, current] = [before.messages, now.messages].map((list) => list.find(isSent)?.value);
  const { same, removed, added, options } = compareRequests(old, current);
  return (
    <>
      <p class="muted">
        {same} {same === 1 ? "message" : "messages"} as before, {removed.length} removed, {added.length} added.
      </p>
      {options.map((option) => (
        <p key={option.name} class="mono changed-option">
          {option.name}: {short(option.before)} → {short(option.after)}
        </p>
      ))}
      <SaidList said={removed} kind="removed" />
      <SaidList said={added} kind="added" />
    </>
  );
}

const isSent = ({ direction }: { readonly direction: string }): boolean => direction === "sent";

const MAX_SHOWN = 300;
const short = (text: string | undefined): string =>
  text === undefined ? "nothing" : text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;

function Wire({ call }: { readonly call: CapturedCall }) {
  const { messages, error, isCut } = useMessages(call.call);
  if (error !== undefined) return <ErrorNotice error={error} />;
  if (!messages) return <Loading />;
  return (
    <>
      <p class="mono muted">
        {call.method} {call.path} · {call.status ?? "no answer"} · {call.outcome ?? "under way"}
      </p>
      {messages.map((message, index) => (
        <details key={index} class="wire-message">
          <summary>
            <span class="mono">{`+${span(message.ms)}`}</span> {message.direction}{" "}
            <span class="mono">{message.kind}</span> <span class="muted">{bytes(message.bytes)}</span>
          </summary>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls must be reachable by keyboard. */}
          <pre tabIndex={0}>{JSON.stringify(message.value, null, 2)}</pre>
          {message.unknown !== null && <pre>unknown fields: {JSON.stringify(message.unknown, null, 2)}</pre>}
        </details>
      ))}
      {isCut && <Cut />}
    </>
  );
}
