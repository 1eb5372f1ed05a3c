/** A bar from nothing to all; it turns yellow and red near its end. */
export function Bar({ share, label }: { readonly share: number; readonly label: string }) {
  const percent = Math.round(Math.min(Math.max(share, 0), 1) * 100);
  const kind = share >= 1 ? "bad" : share >= 0.8 ? "warn" : "";
  return (
    // biome-ignore lint/a11y/useSemanticElements: browsers draw <meter> in colours of their own.
    <span class="bar" role="meter" aria-label={label} aria-valuenow={percent} aria-valuemin={0} aria-valuemax={100}>
      <i class={kind} style={{ width: `${percent}%` }} />
    </span>
  );
}
