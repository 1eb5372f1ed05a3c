import { useState } from "preact/hooks";
import { post } from "../session.ts";

interface LiftButtonProps {
  /** The name of a key. */
  readonly name: string;
  readonly onLifted?: () => void;
  readonly onError: (error: unknown) => void;
}

/** Lifts the limits of a key: what it has used so far no longer counts, and its paused runs can go on. */
export function LiftButton({ name, onLifted, onError }: LiftButtonProps) {
  const [isLifted, setIsLifted] = useState(false);
  const lift = () => {
    post(`/keys/${encodeURIComponent(name)}/lift`, {}).then(() => {
      setIsLifted(true);
      onLifted?.();
    }, onError);
  };
  return (
    <>
      {isLifted && (
        <span class="tag ok" role="status">
          lifted
        </span>
      )}
      <button type="button" class="small" aria-label={`Lift the limits of the key ${name}`} onClick={lift}>
        Lift limit
      </button>
    </>
  );
}
