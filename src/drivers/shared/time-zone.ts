/** Asked for once: it would cost more than everything else that opens a run. */
export const TIME_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;
