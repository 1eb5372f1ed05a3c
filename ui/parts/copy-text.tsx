import { useState } from "preact/hooks";

/** A text to copy, such as a command or a key. */
export function CopyText({ text, label }: { readonly text: string; readonly label: string }) {
  const [state, setState] = useState("Copy");
  return (
    <span class="copy">
      <code class="command">{text}</code>
      <button
        type="button"
        aria-label={label}
        onClick={() => {
          // Browsers have no clipboard for pages from elsewhere without TLS.
          const copied = navigator.clipboard?.writeText(text) ?? Promise.reject();
          copied.then(
            () => setState("Copied"),
            () => setState("Select it and copy"),
          );
        }}
      >
        {state}
      </button>
    </span>
  );
}
