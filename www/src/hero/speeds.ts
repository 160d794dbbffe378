/** How fast a run is played: all of it in half a minute, seconds of the run a second, or an iteration a second. */
export const SPEEDS = ['run', 'true', 'third', 'tenth', 'iteration'] as const;
export type Speed = (typeof SPEEDS)[number];
