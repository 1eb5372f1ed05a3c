import type { ComponentChildren } from "preact";
import { asCallError } from "../session.ts";

interface NoticeProps {
  readonly kind: "info" | "warn" | "bad";
  readonly title: string;
  readonly children?: ComponentChildren;
}

/** Says what is missing or has failed, and what to do. */
export const Notice = ({ kind, title, children }: NoticeProps) => (
  <div class={`notice ${kind}`} role={kind === "info" ? undefined : "alert"}>
    <strong>{title}</strong>
    {children && <div>{children}</div>}
  </div>
);

export function ErrorNotice({ error }: { readonly error: unknown }) {
  const { message, hint } = asCallError(error);
  return (
    <Notice kind="bad" title={message}>
      {hint}
    </Notice>
  );
}
