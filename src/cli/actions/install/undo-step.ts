/** One thing that `excursor reset` undoes. */
export interface UndoStep {
  readonly type: "ide" | "service" | "client" | "login" | "mcp-login" | "file";
  readonly name: string;
  /** What it does, as a part of a list. */
  readonly text: string;
  undo(): Promise<void>;
}
