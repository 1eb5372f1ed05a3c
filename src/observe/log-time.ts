/** The time as a member of a JSON object, in ISO form. Only the milliseconds are written anew for every line of a second. */
export function createLogTime(): (time: number) => string {
  let [second, prefix] = [Number.NaN, ""];
  return (time) => {
    const current = Math.floor(time / 1000);
    if (current !== second) {
      second = current;
      prefix = `,"time":"${new Date(current * 1000).toISOString().slice(0, -"000Z".length)}`;
    }
    return `${prefix}${String(time - current * 1000).padStart(3, "0")}Z"`;
  };
}
