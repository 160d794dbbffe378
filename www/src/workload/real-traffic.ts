// Traffic like that of real traces: workloads that were fitted to them, one click each.
import { scenarioFromJson } from '../simulation/module.js';
import type { Edit } from '../state/store.js';
import type { Values } from '../simulation/values.js';

export interface RealTraffic {
  id: 'azure_code' | 'burstgpt' | 'mooncake_conversation' | 'servegen_m_small';
  source: string;
  licence: string;
  requests: number;
  /** Kolmogorov distances to the trace, and dispersion over the trace's in windows of this many seconds. */
  distances: { gaps: number; input_tokens: number; output_tokens: number; dispersion: Record<'1' | '10' | '60', number> };
  scenario: unknown;
}

const FOLDER = '../../../static/traffic/';
const FILES = import.meta.glob('../../../static/traffic/*.json', { eager: true, import: 'default' });

/** In the order of their list. */
export function realTraffic(): RealTraffic[] {
  return (FILES[`${FOLDER}index.json`] as string[]).map((id) => FILES[`${FOLDER}${id}.json`] as RealTraffic);
}

const isOfWorkload = (id: string): boolean => id.startsWith('workload.');

/** Its workload in place of the one that is set; the service stays. */
export function editOf({ scenario }: RealTraffic, values: Values): Edit {
  const own = Object.keys(values).filter(isOfWorkload).map((id) => [id, null] as const);
  return { ...Object.fromEntries(own), ...scenarioFromJson(JSON.stringify(scenario)) };
}

/** The twin whose workload is set, to the letter. */
export function chosenTraffic(all: readonly RealTraffic[], values: Values): RealTraffic | undefined {
  const now = Object.entries(values).filter(([id]) => isOfWorkload(id)).sort();
  return all.find((traffic) => JSON.stringify(Object.entries(scenarioFromJson(JSON.stringify(traffic.scenario))).sort()) === JSON.stringify(now));
}
