// A scenario as the page passes it around: only what differs from the defaults, never changed in place.
import type { ParameterValue, ScenarioPatch } from './types.js';

export type Values = Readonly<ScenarioPatch>;

export function sameValue(one: ParameterValue | undefined, other: ParameterValue | undefined): boolean {
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((entry, index) => entry === other[index]);
  }
  return one === other;
}

export function sameValues(one: Values, other: Values): boolean {
  const ids = Object.keys(one);
  return ids.length === Object.keys(other).length && ids.every((id) => sameValue(one[id], other[id]));
}
