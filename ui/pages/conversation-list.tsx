import { useCallback, useRef, useState } from "preact/hooks";
import type { ConversationPage, ConversationSums } from "../../src/usage/queries/conversations.ts";
import { ago, dollars, moment, NONE, short, whole } from "../format.ts";
import { ErrorNotice } from "../parts/notice.tsx";
import { VirtualRows } from "../parts/virtual-rows.tsx";
import { get } from "../session.ts";

const ROW_HEIGHT = 40;

const COLUMNS = ["Client", "Model", "Turns", "Input", "Output", "Cost", "Cursor", "Charged", "Last turn"];
/** Left out on small screens. */
const WIDE = new Set(["Input", "Output", "Cost", "Cursor", "Charged"]);

/** All conversations of the usage record, those with the latest turns first. Pages are loaded while one scrolls. */
export function ConversationList() {
  const [rows, setRows] = useState<readonly ConversationSums[]>([]);
  const [error, setError] = useState<unknown>();
  const [isComplete, setIsComplete] = useState(false);
  /** Where the next page begins. */
  const next = useRef<number | null | "loading">(0);
  const more = useCallback(() => {
    const before = next.current;
    if (before === null || before === "loading") return;
    next.current = "loading";
    get<ConversationPage>(`/conversations${before === 0 ? "" : `?before=${before}`}`).then(
      (page) => {
        next.current = page.next;
        setError(undefined);
        setIsComplete(page.next === null);
        setRows((loaded) => (before === 0 ? page.conversations : [...loaded, ...page.conversations]));
      },
      (thrown) => {
        next.current = null;
        setError(thrown);
      },
    );
  }, []);
  const loadAgain = () => {
    if (next.current === "loading") return;
    next.current = 0;
    more();
  };
  return (
    <>
      <div class="page-head">
        <h1>Conversations</h1>
        <span class="muted">{isComplete ? whole(rows.length) : `${whole(rows.length)} loaded`}</span>
        <div class="actions muted">
          Only a capture keeps the contents of messages.
          <button type="button" onClick={loadAgain}>
            Load again
          </button>
        </div>
      </div>
      {error !== undefined && <ErrorNotice error={error} />}
      {isComplete && rows.length === 0 ? (
        <p class="empty">
          The usage record has no conversations yet. A conversation appears here a second after its first answer. Try:
          excursor chat hello
        </p>
      ) : (
        <VirtualRows
          label="Conversations"
          rows={rows}
          rowHeight={ROW_HEIGHT}
          onEnd={more}
          head={
            <div class="list-row head">
              {COLUMNS.map((title, index) => (
                <span key={title} class={classOf(title, index)}>
                  {title}
                </span>
              ))}
            </div>
          }
          row={(row, top) => <Row key={row.id} row={row} top={top} />}
        />
      )}
    </>
  );
}

const classOf = (title: string, index: number): string =>
  [index > 1 && "number", WIDE.has(title) && "wide"].filter(Boolean).join(" ");

function Row({ row, top }: { readonly row: ConversationSums; readonly top: number }) {
  const cells = [
    <span class="client">
      <span class="ellipsis">{row.client}</span>
      {row.errors > 0 && (
        <span class="tag bad">
          {row.errors} <span class="wide">failed</span>
        </span>
      )}
    </span>,
    <span class="mono">{row.model ?? NONE}</span>,
    whole(row.turns),
    short(row.inputTokens),
    short(row.outputTokens),
    <span title="By the price list">{dollars(row.costMicros, row.isCostEstimated)}</span>,
    <span title="What the tokens cost by Cursor">{dollars(row.charges?.costMicros)}</span>,
    <span title="What Cursor charges beyond the plan">{dollars(row.charges?.chargedMicros)}</span>,
    <span class="muted" title={moment(row.lastAt)}>
      {ago(row.lastAt)}
    </span>,
  ];
  return (
    <a class="list-row" style={{ top: `${top}px` }} href={`/ui/conversations/${encodeURIComponent(row.id)}`}>
      {cells.map((cell, index) => (
        <span key={COLUMNS[index]} class={classOf(COLUMNS[index] ?? "", index)}>
          {cell}
        </span>
      ))}
    </a>
  );
}
