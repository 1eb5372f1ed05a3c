import { useState } from "preact/hooks";
import type { AboutReply, AccountReply, HealthLine, HealthReply } from "../../src/dashboard/messages.ts";
import { Drift } from "../captured/drift.tsx";
import { bytes, moment, NONE, span } from "../format.ts";
import { Bar } from "../parts/bar.tsx";
import { ErrorNotice } from "../parts/notice.tsx";
import { Section } from "../parts/section.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { useLoaded } from "../parts/use-loaded.ts";
import { post } from "../session.ts";
import { LogView } from "./log-view.tsx";
import type { Page } from "./page.ts";

export const healthPage: Page = {
  path: "/ui/health",
  title: "Account and health",
  icon: "heart",
  Content: HealthContent,
};

function HealthContent() {
  return (
    <>
      <div class="page-head">
        <h1>Account and health</h1>
      </div>
      <div class="columns">
        <Account />
        <About />
      </div>
      <Checks />
      <LogView />
    </>
  );
}

function Account() {
  const { value, error } = useLoaded<AccountReply>("/account");
  return (
    <Section title="Account">
      {error !== undefined && <ErrorNotice error={error} />}
      {!value && error === undefined && <p class="empty">Asking the backend…</p>}
      {value && (
        <dl class="card pairs">
          <Pair name="Account" value={value.email} />
          <Pair name="Plan" value={value.plan ?? "unknown"} />
          {value.quota && (
            <div>
              <dt>Used</dt>
              <dd>
                {value.quota.percentUsed !== null && (
                  <Bar share={value.quota.percentUsed / 100} label="Used of the plan" />
                )}
                {value.quota.percentUsed === null ? cents(value.quota.used) : `${percent(value.quota.percentUsed)} %`}{" "}
                of {cents(value.quota.limit)}, until {moment(value.quota.resetsAt)}
              </dd>
            </div>
          )}
          <Pair name="Privacy mode" value={value.privacy ?? "unknown, treated as on"} />
          <Pair
            name="Login"
            value={value.expiresAt === null ? "has no expiry" : `valid until ${moment(value.expiresAt)}`}
          />
          {value.accounts.length > 0 && <Pair name="Signed in" value={value.accounts.join(", ")} />}
        </dl>
      )}
    </Section>
  );
}

/** With one digit after the point at most. */
const percent = (value: number): number => Math.round(value * 10) / 10;

const cents = (count: number): string => `$${(count / 100).toFixed(2)}`;

function About() {
  const { value, error } = useLoaded<AboutReply>("/about");
  return (
    <Section title="Gateway">
      {error !== undefined && <ErrorNotice error={error} />}
      {value && (
        <dl class="card pairs">
          <Pair name="Version" value={value.version} />
          <Pair name="Node" value={`${value.node} on ${value.platform}`} />
          <Pair name="Up for" value={`${span(value.uptimeS * 1000)}, process ${value.pid}`} />
          <Pair name="Memory" value={bytes(value.memoryBytes)} />
          <Pair name="Backend" value={value.backend} />
          <Pair name="Home folder" value={value.home} />
          <CaptureAndDrift capture={value.capture} />
        </dl>
      )}
    </Section>
  );
}

/** What the gateway records of Cursor's protocol, and how to compare it with our schema. */
function CaptureAndDrift({ capture }: Pick<AboutReply, "capture">) {
  if (!capture) {
    return (
      <>
        <Pair name="Capture" value="off; excursor serve --capture records what Cursor and the gateway say" />
        <Pair name="Drift" value="excursor drift --sdk VERSION compares our schema with Cursor's" />
      </>
    );
  }
  const { file, bytes: size, endReason } = capture;
  return (
    <>
      <Pair
        name="Capture"
        value={`${file}, ${bytes(size)}${endReason === null ? "" : `. It has ended: ${endReason}`}`}
      />
      <Drift />
    </>
  );
}

const Pair = ({ name, value }: { readonly name: string; readonly value: string }) => (
  <div>
    <dt>{name}</dt>
    <dd>{value}</dd>
  </div>
);

const MARKS: Readonly<Record<HealthLine["status"], string>> = { ok: "ok", warn: "warn", fail: "bad", skip: "" };

const CHECKS: readonly Column<HealthLine>[] = [
  {
    title: "Result",
    cell: ({ status }) => <span class={`tag ${MARKS[status]}`}>{status === "skip" ? NONE : status}</span>,
  },
  { title: "Check", isWide: true, cell: ({ id }) => <span class="mono">{id}</span> },
  {
    title: "Finding",
    cell: ({ id, text, fix }) => (
      <span class="wrap finding">
        <span class="narrow mono muted">{id}</span> {text} {fix && <strong>{fix}</strong>}
      </span>
    ),
  },
];

/** What `excursor doctor --quick` finds. */
function Checks() {
  const loaded = useLoaded<HealthReply>("/health");
  const [again, setAgain] = useState<{
    readonly isRunning: boolean;
    readonly reply?: HealthReply;
    readonly error?: unknown;
  }>({
    isRunning: false,
  });
  const check = () => {
    setAgain({ isRunning: true });
    post<HealthReply>("/health", {}).then(
      (reply) => setAgain({ isRunning: false, reply }),
      (error) => setAgain({ isRunning: false, error }),
    );
  };
  const reply = again.reply ?? loaded.value;
  const error = again.error ?? loaded.error;
  const isRunning = again.isRunning || (!reply && error === undefined);
  return (
    <Section
      title="Checks"
      note={reply ? `made at ${moment(reply.at)}` : undefined}
      actions={
        <button type="button" class="small" disabled={isRunning} onClick={check}>
          {isRunning ? "Checking…" : "Check again"}
        </button>
      }
    >
      {error !== undefined && <ErrorNotice error={error} />}
      <Table
        label="Checks"
        columns={CHECKS}
        rows={reply?.lines ?? []}
        keyOf={({ id }) => id}
        empty={isRunning ? "The checks run; this takes a few seconds." : "No check was made."}
      />
    </Section>
  );
}
