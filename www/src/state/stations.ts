// Which controls and charts belong to which station of the line.

interface Belongings { groups: readonly string[]; charts: readonly string[] }

export const STATIONS = ['traffic', 'gateway', 'waiting', 'batch', 'gpu'] as const;
export type Station = (typeof STATIONS)[number];

const BELONGINGS: Record<Station, Belongings> = {
  traffic: { groups: ['headline', 'lengths', 'users', 'trace'], charts: ['gaps', 'shares', 'lengths', 'rates'] },
  gateway: { groups: ['gateway'], charts: ['rates', 'ttft_by_arrival', 'gateway_waiting', 'gateway_kv', 'gateway_refusals', 'gateway_estimate', 'gateway_pressure'] },
  waiting: { groups: ['queue', 'slo'], charts: ['running_waiting', 'ttft_by_arrival', 'time_split'] },
  batch: { groups: ['queue', 'adapters'], charts: ['seats', 'running_waiting', 'tokens', 'batch', 'accepted_drafts', 'preemptions'] },
  gpu: { groups: ['fleet', 'memory', 'cost'], charts: ['memory', 'hits_over_time', 'hits_by_capacity', 'kv_links', 'tokens', 'lanes', 'operators', 'utilisation'] },
};

/** The charts that the line of stations reads its numbers from: for the whole run, or for the cursor's moment. */
export function lineCharts(atMoment: boolean): readonly string[] {
  return atMoment ? ['rates', 'running_waiting'] : ['running_waiting'];
}

export function belongings(station: string): Belongings | null {
  const known = STATIONS.find((name) => name === station);
  return known === undefined ? null : BELONGINGS[known];
}

export function stationOfGroup(station: string, group: string): boolean {
  return belongings(station)?.groups.includes(group) === true;
}

export function stationOfChart(station: string, chart: string): boolean {
  return belongings(station)?.charts.includes(chart) === true;
}
