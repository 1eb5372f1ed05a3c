import { useEffect, useRef, useState } from "preact/hooks";
import type { LogReply } from "../../src/dashboard/messages.ts";
import { now } from "../feed.ts";
import { moment } from "../format.ts";
import { ErrorNotice } from "../parts/notice.tsx";
import { Section } from "../parts/section.tsx";
import { get } from "../session.ts";

const LEVELS: readonly string[] = ["trace", "debug", "info", "warn", "error"];
const MAX_LINES = 1000;

interface Line {
  readonly number: number;
  readonly level: string;
  readonly time: string;
  readonly text: string;
  readonly facts: string;
}

/** The end of the gateway's log. It follows the log while the newest line is in view. */
export function LogView() {
  const [lines, setLines] = useState<readonly Line[]>([]);
  const [error, setError] = useState<unknown>();
  const [filter, setFilter] = useState("");
  const [level, setLevel] = useState("trace");
  const place = useRef<HTMLElement>(null);
  const isFollowing = useRef(true);
  const newest = now.value?.logLine ?? 0;
  const last = lines.at(-1)?.number ?? 0;
  useEffect(() => {
    if (newest <= last) return;
    get<LogReply>(`/log?after=${last}`).then((reply) => {
      setError(undefined);
      setLines((before) => {
        const known = before.at(-1)?.number ?? 0;
        return [...before, ...reply.lines.filter(({ number }) => number > known).map(readLine)].slice(-MAX_LINES);
      });
    }, setError);
  }, [newest, last]);
  const wanted = filter.trim().toLowerCase();
  const rank = LEVELS.indexOf(level);
  const shown = lines.filter(
    (line) => LEVELS.indexOf(line.level) >= rank && `${line.text} ${line.facts}`.toLowerCase().includes(wanted),
  );
  useEffect(() => {
    const element = place.current;
    if (element && isFollowing.current) element.scrollTop = element.scrollHeight;
  }, [shown.length]);
  return (
    <Section
      title="Log"
      note={`${shown.length} of the last ${lines.length} lines`}
      actions={
        <>
          <select aria-label="Lowest level" value={level} onChange={(event) => setLevel(event.currentTarget.value)}>
            {LEVELS.map((name) => (
              <option key={name} value={name}>
                {name === "trace" ? "all levels" : `${name} and above`}
              </option>
            ))}
          </select>
          <input
            type="search"
            aria-label="Filter the log"
            placeholder="Filter"
            value={filter}
            onInput={(event) => setFilter(event.currentTarget.value)}
          />
        </>
      }
    >
      {error !== undefined && <ErrorNotice error={error} />}
      {shown.length === 0 ? (
        <p class="empty">
          {lines.length === 0
            ? "The log is empty. More is logged with: excursor serve --log-level debug"
            : "No line has this text."}
        </p>
      ) : (
        <section
          class="log"
          aria-label="Log lines"
          ref={place}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls must be reachable by keyboard.
          tabIndex={0}
          onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
            isFollowing.current = scrollTop + clientHeight > scrollHeight - 30;
          }}
        >
          {shown.map((line) => (
            <p key={line.number} class={line.level}>
              <time class="muted">{line.time}</time> <b>{line.level}</b> {line.text}{" "}
              <span class="muted">{line.facts}</span>
            </p>
          ))}
        </section>
      )}
    </Section>
  );
}

function readLine({ number, json }: LogReply["lines"][number]): Line {
  const { level, time, msg, ...facts } = JSON.parse(json) as Readonly<Record<string, unknown>>;
  const pairs = Object.entries(facts).map(
    ([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  return {
    number,
    level: String(level),
    time: moment(Date.parse(String(time))),
    text: String(msg),
    facts: pairs.join(" "),
  };
}
