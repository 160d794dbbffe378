// The bounds of the search: those of the SLO, where it has none of its own.
export interface Goal { ttft_s: number; tbt_s: number; e2e_s: number; queue_s: number; tpot_s: number }

/** 0 is no bound. */
export function goalOf(values: Readonly<Record<string, unknown>>): Goal {
  const number = (id: string): number => Number(values[id] ?? 0);
  return {
    ttft_s: number('capacity.ttft_s') || number('slo.ttft_s'),
    tbt_s: number('capacity.tbt_s') || number('slo.tbt_s'),
    e2e_s: number('capacity.e2e_s'),
    queue_s: number('capacity.queue_s'),
    tpot_s: number('capacity.tpot_s') || number('slo.tpot_s'),
  };
}
