// Bounds that are off at 0: the control says so in place of the unit.
const OFF_AT_ZERO: ReadonlySet<string> = new Set(['slo.tpot_s', 'slo.tbt_s', 'capacity.ttft_s', 'capacity.tbt_s', 'capacity.e2e_s', 'capacity.queue_s']);

export function isOff(id: string, value: unknown): boolean {
  return value === 0 && OFF_AT_ZERO.has(id);
}
