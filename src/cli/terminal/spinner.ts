const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME_MS = 80;

export interface Spinner {
  stop(): void;
}

export function startSpinner(): Spinner {
  if (!process.stderr.isTTY) return { stop() {} };
  let frame = 0;
  let isOn = true;
  const timer = setInterval(() => {
    process.stderr.write(`\r${FRAMES[frame++ % FRAMES.length]}`);
  }, FRAME_MS);
  return {
    stop() {
      if (!isOn) return;
      isOn = false;
      clearInterval(timer);
      process.stderr.write("\r\u001b[K");
    },
  };
}
