/** Computed once: it costs more than everything else that opens a run. */
export const TIME_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;
