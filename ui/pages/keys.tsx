import { useEffect, useMemo, useState } from "preact/hooks";
import type { KeyRow, KeysReply, LimitRow, NewKeyReply } from "../../src/dashboard/messages.ts";
import { now } from "../feed.ts";
import { ago, dollars, short, whole } from "../format.ts";
import { CopyText } from "../parts/copy-text.tsx";
import { LiftButton } from "../parts/lift-button.tsx";
import { LimitBars } from "../parts/limit-bars.tsx";
import { ErrorNotice } from "../parts/notice.tsx";
import { Section } from "../parts/section.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { useLoaded } from "../parts/use-loaded.ts";
import { remove } from "../session.ts";
import { NewKeyForm } from "./new-key-form.tsx";
import type { Page } from "./page.ts";

export const keysPage: Page = { path: "/ui/keys", title: "Keys and limits", icon: "key", Content: KeysContent };

const REFRESH_MS = 5000;
const AFTER_REQUEST_MS = 300;

function KeysContent() {
  const { value, error, reload } = useLoaded<KeysReply>("/keys");
  const [made, setMade] = useState<NewKeyReply>();
  useEffect(() => {
    const timer = setInterval(reload, REFRESH_MS);
    return () => clearInterval(timer);
  }, [reload]);
  // Soon after a request has ended, but not with each one of many.
  const newest = now.value?.recent[0]?.id;
  useEffect(() => {
    if (newest === undefined) return undefined;
    const timer = setTimeout(reload, AFTER_REQUEST_MS);
    return () => clearTimeout(timer);
  }, [newest, reload]);
  return (
    <>
      <div class="page-head">
        <h1>Keys and limits</h1>
        <span class="muted">Each user of the gateway gets a key. A key can have limits, and can be revoked.</span>
      </div>
      {error !== undefined && <ErrorNotice error={error} />}
      {made && <MadeKey made={made} onDone={() => setMade(undefined)} />}
      <Section title="The gateway's own key" note="used today (UTC)">
        {value && <OwnKey row={value.own} reload={reload} />}
      </Section>
      <Keys reply={value} reload={reload} />
      <Section title="Add a key">
        <NewKeyForm
          accounts={value?.accounts ?? []}
          onMade={(key) => {
            setMade(key);
            reload();
          }}
        />
      </Section>
    </>
  );
}

/** Shows a new key. It is not stored anywhere, so it is shown until its user has it. */
const MadeKey = ({ made, onDone }: { readonly made: NewKeyReply; onDone(): void }) => (
  <div class="card made" role="alert">
    <strong>The key {made.name} is ready. It is shown only now.</strong>
    <CopyText text={made.key} label={`Copy the key ${made.name}`} />
    <button type="button" onClick={onDone}>
      I have copied it
    </button>
  </div>
);

const isReached = ({ used, amount }: LimitRow): boolean => used !== null && used >= amount;

const nameOf = ({ name }: KeyRow): string => name;

const TODAY: readonly Column<KeyRow>[] = [
  { title: "Requests", isNumber: true, cell: ({ today }) => whole(today.requests) },
  { title: "Tokens", isNumber: true, isWide: true, cell: ({ today }) => short(today.tokens) },
  { title: "Cost", isNumber: true, isWide: true, cell: ({ today }) => dollars(today.costMicros, true) },
  { title: "Under way", isNumber: true, isWide: true, cell: ({ name }) => whole(underWay(name)) },
];

/** Among the requests that the feed shows. */
const underWay = (name: string): number => now.value?.requests.filter(({ key }) => key === name).length ?? 0;

const LIMITS: Column<KeyRow> = { title: "Limits", cell: ({ limits }) => <LimitBars limits={limits} /> };

function OwnKey({ row, reload }: { readonly row: KeyRow; reload(): void }) {
  const [error, setError] = useState<unknown>();
  const action: Column<KeyRow> = {
    title: "Action",
    isNumber: true,
    cell: ({ name }) => <LiftButton name={name} onLifted={reload} onError={setError} />,
  };
  const columns = [{ title: "Key", cell: nameOf }, LIMITS, ...TODAY, ...(row.limits.some(isReached) ? [action] : [])];
  return (
    <>
      {error !== undefined && <ErrorNotice error={error} />}
      <Table label="The gateway's own key" columns={columns} rows={[row]} keyOf={nameOf} empty="" />
    </>
  );
}

function Keys({ reply, reload }: { readonly reply: KeysReply | undefined; reload(): void }) {
  const [error, setError] = useState<unknown>();
  const columns = useMemo<readonly Column<KeyRow>[]>(
    () => [
      {
        title: "Key",
        cell: (row) => (
          <span class="stack">
            {row.name} <span class="muted wrap">{termsOf(row)}</span>
          </span>
        ),
      },
      LIMITS,
      ...TODAY,
      {
        title: "Action",
        isNumber: true,
        cell: ({ name, limits }) => (
          <span class="actions">
            {limits.some(isReached) && <LiftButton name={name} onLifted={reload} onError={setError} />}
            <RevokeButton
              name={name}
              onRevoke={() => {
                setError(undefined);
                remove(`/keys/${encodeURIComponent(name)}`).then(reload, setError);
              }}
            />
          </span>
        ),
      },
    ],
    [reload],
  );
  const { keys = [], keyCount = 0 } = reply ?? {};
  return (
    <Section
      title="Keys for other users"
      note={keyCount > keys.length ? `${keys.length} of ${keyCount}; excursor keys list shows all` : "used today (UTC)"}
    >
      {error !== undefined && <ErrorNotice error={error} />}
      <Table
        label="Keys for other users"
        columns={columns}
        rows={keys}
        keyOf={nameOf}
        empty={reply ? "There are no keys for other users. Add one below." : "Loading…"}
      />
    </Section>
  );
}

/** The rest of what a key may do, on one line. */
const termsOf = ({ account, streams, createdAt }: KeyRow): string =>
  [
    account === null ? "" : `account ${account}`,
    streams === null ? "" : `${whole(streams)} streams`,
    createdAt === null ? "" : `added ${ago(Date.parse(createdAt))}`,
  ]
    .filter((term) => term !== "")
    .join(" · ");

/** Asks once more, since a revoked key cannot be brought back. */
function RevokeButton({ name, onRevoke }: { readonly name: string; onRevoke(): void }) {
  const [isSure, setIsSure] = useState(false);
  return (
    <button
      type="button"
      class="danger small"
      aria-label={isSure ? `Really revoke the key ${name}` : `Revoke the key ${name}`}
      onBlur={() => setIsSure(false)}
      onClick={() => (isSure ? onRevoke() : setIsSure(true))}
    >
      {isSure ? "Really revoke?" : "Revoke"}
    </button>
  );
}
