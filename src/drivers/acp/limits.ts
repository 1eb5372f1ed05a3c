export interface AgentLimits {
  /** To start, to shake hands, to open a session. */
  readonly startMs: number;
  /** How long it may say nothing while it answers. */
  readonly silentMs: number;
  /** How long a process without work is kept. */
  readonly idleMs: number;
  /** To stop after it was told to. */
  readonly cancelMs: number;
  /** How long a person may take to answer a question. */
  readonly answerMs: number;
  /** One message, and the line it comes in. */
  readonly messageBytes: number;
  /** What is kept of stderr. */
  readonly stderrBytes: number;
  /** Sessions that are kept for the next turn of their conversation. */
  readonly sessions: number;
}

const MINUTE = 60_000;

export const DEFAULT_AGENT_LIMITS: AgentLimits = {
  startMs: MINUTE,
  silentMs: 30 * MINUTE,
  idleMs: 10 * MINUTE,
  cancelMs: 5000,
  answerMs: 10 * MINUTE,
  messageBytes: 16 * 1024 * 1024,
  stderrBytes: 16 * 1024,
  sessions: 256,
};
