export interface AgentLimits {
  /** For starting, the handshake and opening a session. */
  readonly startMs: number;
  /** How long it may be silent during a prompt. */
  readonly silentMs: number;
  /** How long an idle process is kept. */
  readonly idleMs: number;
  /** How long it may take to stop after a cancellation. */
  readonly cancelMs: number;
  /** How long a person may take to answer a question. */
  readonly answerMs: number;
  /** One message, which is one line. */
  readonly messageBytes: number;
  /** How much of stderr is kept. */
  readonly stderrBytes: number;
  /** Sessions kept for the next turn of their conversation. */
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
