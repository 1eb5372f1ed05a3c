import { post } from "../session.ts";

interface LiftButtonProps {
  /** The name of a key. */
  readonly name: string;
  readonly onLifted?: () => void;
  readonly onError: (error: unknown) => void;
}

/** Lifts the limits of a key: what it has used so far no longer counts, and its paused runs can go on. */
export const LiftButton = ({ name, onLifted, onError }: LiftButtonProps) => (
  <button
    type="button"
    class="small"
    aria-label={`Lift the limits of the key ${name}`}
    onClick={() => {
      post(`/keys/${encodeURIComponent(name)}/lift`, {}).then(onLifted, onError);
    }}
  >
    Lift limit
  </button>
);
