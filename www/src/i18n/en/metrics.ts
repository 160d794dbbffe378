// What the numbers of a run are called in comparisons and sweeps: the names of the metric table, and how they are put together.
import { METRIC_NAMES } from '../../generated/metrics.js';
import { area } from '../area.js';

export const metrics = area('metrics', {
  ...METRIC_NAMES,
  'statistic.mean': 'mean {name}',
  'statistic.p50': 'median {name}',
  'statistic.p90': 'P90 {name}',
  'statistic.p95': 'P95 {name}',
  'statistic.p99': 'P99 {name}',
  'statistic.max': 'largest {name}',
  'of_key': '{name}: {key}',
  'of_user': '{name} of user {index}',
  'of_adapter': '{name} of adapter {index}',
  'of_base_model': '{name} of the base model',
  'unknown': 'a number that no run has',
  'whole_run': 'Of the whole run',
  'by_user': 'Of one user',
  'by_adapter': 'Of one adapter',
  'index.user': 'User',
  'index.adapter': 'Adapter (−1: base model)',
  'key.linear': 'matrix products',
  'key.prefill_attention': 'prefill attention',
  'key.decode_attention': 'decode attention',
  'key.pointwise': 'pointwise operators',
  'key.communication': 'communication',
  'key.adapters': 'adapters',
  'key.host': 'CPU overhead',
  'key.whole': 'not attributed',
  'key.underload': 'underload',
  'key.near': 'nearly overloaded',
  'key.overload': 'overloaded',
});
