/** Whether an id that a client has chosen is safe in a header, a log and a record. */
export const isRequestId = (given: unknown): given is string =>
  typeof given === "string" && /^[\w.:-]{1,64}$/.test(given);
