// When a run is too long for a frame, a shorter one of the same scenario is shown first. How long a run will take is
// known from the last one: time goes with the number of requests.
import type { ScenarioPatch } from './types.js';

export interface Cost { requests: number; compute_ms: number }

/** Above this a preview is worth its own time. */
export const PREVIEW_ABOVE_MS = 40;
/** What a preview may take itself. */
const PREVIEW_MS = 20;
const SHORTEST_S = 10;

const RATE = 'workload.rate_rps';
const DURATION = 'workload.duration_s';

export function previewOf(scenario: ScenarioPatch, values: ScenarioPatch, last: Cost | null): ScenarioPatch | null {
  const rate = values[RATE];
  const duration = values[DURATION];
  if (last === null || last.requests === 0 || typeof rate !== 'number' || typeof duration !== 'number') return null;
  const predicted = (last.compute_ms / last.requests) * rate * duration;
  if (predicted <= PREVIEW_ABOVE_MS) return null;
  const shorter = Math.max(SHORTEST_S, Math.floor(duration * (PREVIEW_MS / predicted)));
  return shorter < duration ? { ...scenario, [DURATION]: shorter } : null;
}
