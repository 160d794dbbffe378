// The headline: which numbers of the summary stand there, and whether more of one is good news.
import type { Summary } from '../simulation/types.js';
import type { MessageKey } from '../i18n/text.js';
import type { NumberKind } from '../i18n/format.js';

export interface Metric {
  /** Path in the summary; also the public hook. */
  id: string;
  label: MessageKey;
  about: MessageKey;
  kind: NumberKind;
  unit: string;
  good: 'more' | 'less' | 'neither';
  of(summary: Summary): number | null;
  /** Numbers that belong to it, in small print below; one that is null is left out. */
  notes: readonly Note[];
}

export interface Note {
  /** Path in the summary; also the public hook. */
  id: string;
  /** A message with `{value}`. */
  says: `metric.note.${'pool_tokens' | 'hit_rate' | 'host_hit_rate' | 'acceptance_length' | 'rejected_drafts' | 'dummy_batches' | 'waits_for_ranks' | 'rearranging'}`;
  kind: NumberKind;
  of(summary: Summary): number | null;
}

type Named = Extract<MessageKey, `metric.${string}.about`> extends `metric.${infer Id}.about` ? Id : never;

function metric(id: Named, kind: NumberKind, unit: string, good: Metric['good'], of: Metric['of'], notes: Metric['notes'] = []): Metric {
  return { id, label: `metric.${id}`, about: `metric.${id}.about`, kind, unit, good, of, notes };
}

/** The first of them are always in sight; the others are one click away. */
export const FIRST = 4;

export const METRICS: readonly Metric[] = [
  metric('slo.attainment_all', 'share', '', 'more', (summary) => summary.slo.attainment_all),
  metric('ttft_s.p50', 'seconds', '', 'less', (summary) => summary.ttft_s.p50),
  metric('ttft_s.p99', 'seconds', '', 'less', (summary) => summary.ttft_s.p99),
  metric('throughput_rps', 'number', 'req/s', 'more', (summary) => summary.throughput_rps),
  metric('tbt_s.p99', 'seconds', '', 'less', (summary) => summary.tbt_s.p99),
  metric('e2e_s.p50', 'seconds', '', 'less', (summary) => summary.e2e_s.p50),
  metric('requests.rejected_total', 'count', '', 'less', (summary) => summary.requests.rejected_total),
  metric('output_tokens_per_s', 'number', 'tokens/s', 'more', (summary) => summary.output_tokens_per_s, [
    { id: 'speculation.acceptance_length', says: 'metric.note.acceptance_length', kind: 'number', of: (summary) => summary.speculation?.acceptance_length ?? null },
    { id: 'ranks.dummy_share', says: 'metric.note.dummy_batches', kind: 'share', of: (summary) => summary.ranks?.dummy_share ?? null },
    { id: 'ranks.waited_share', says: 'metric.note.waits_for_ranks', kind: 'share', of: (summary) => summary.ranks?.waited_share ?? null },
    { id: 'ranks.rearranging_share', says: 'metric.note.rearranging', kind: 'share', of: (summary) => summary.ranks?.rearranging_share || null },
    { id: 'speculation.rejected_tokens', says: 'metric.note.rejected_drafts', kind: 'count', of: (summary) => summary.speculation?.rejected_tokens ?? null },
  ]),
  metric('kv.peak_usage', 'share', '', 'neither', (summary) => summary.kv.peak_usage, [
    { id: 'kv.pool_tokens', says: 'metric.note.pool_tokens', kind: 'count', of: (summary) => summary.kv.pool_tokens },
    { id: 'prefix_cache.hit_rate', says: 'metric.note.hit_rate', kind: 'share', of: (summary) => summary.prefix_cache?.hit_rate ?? null },
    { id: 'host_cache.hit_rate', says: 'metric.note.host_hit_rate', kind: 'share', of: (summary) => summary.host_cache?.hit_rate ?? null },
  ]),
];
