// The time of a figure's picture while it plays: it goes on with the frames of the screen, from the end back to the beginning.

/** At the end of a run the picture rests for this long. */
const REST_S = 1.2;

/** The time after `passed_s` seconds of the reader's, where a run of `end_s` seconds is played in `plays_s`, and again from `from_s`. */
export function later(time_s: number, passed_s: number, { from_s, end_s, plays_s }: { from_s: number; end_s: number; plays_s: number }): number {
  if (end_s <= from_s || plays_s <= 0) return from_s;
  const rest = (REST_S * end_s) / plays_s;
  const next = time_s + (passed_s * end_s) / plays_s;
  return next > end_s + rest ? from_s : next;
}

/** Calls `step` with the seconds that passed since the last frame, until the function that this gives is called. */
export function ticking(step: (passed_s: number) => void): () => void {
  let last: number | null = null;
  let frame = requestAnimationFrame(function tick(now) {
    // A window that was hidden has no frames: the picture goes on where it was.
    const passed = last === null ? 0 : Math.min(0.25, (now - last) / 1000);
    last = now;
    frame = requestAnimationFrame(tick);
    step(passed);
  });
  return () => { cancelAnimationFrame(frame); };
}

/** How many times slower than the server the picture is, from 1.05 on; below 0.95 it is faster. */
export function slowness(end_s: number, plays_s: number): number {
  return end_s > 0 ? plays_s / end_s : 1;
}
