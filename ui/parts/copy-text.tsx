import { useState } from "preact/hooks";

interface CopyButtonProps {
  readonly text: string | (() => string);
  /** What the button says, unless it is "Copy". */
  readonly title?: string;
  readonly label?: string;
  readonly isDisabled?: boolean;
}

/** A button that copies a text. */
export function CopyButton({ text, title = "Copy", label, isDisabled = false }: CopyButtonProps) {
  const [state, setState] = useState(title);
  return (
    <button
      type="button"
      aria-label={label}
      disabled={isDisabled}
      onBlur={() => setState(title)}
      onClick={() => {
        // Browsers have no clipboard for pages from elsewhere without TLS.
        const copied = navigator.clipboard?.writeText(typeof text === "string" ? text : text()) ?? Promise.reject();
        copied.then(
          () => setState("Copied"),
          () => setState("Select it and copy"),
        );
      }}
    >
      {state}
    </button>
  );
}

/** A text to copy, such as a command or a key. */
export const CopyText = ({ text, label }: { readonly text: string; readonly label: string }) => (
  <span class="copy">
    <code class="command">{text}</code>
    <CopyButton text={text} label={label} />
  </span>
);
