// What the modules name by a key: marks on sliders, how a request ended, and what held it up.
import { area } from '../area.js';

export const names = area('names', {
  'mark.uniform': 'uniform',
  'mark.poisson': 'Poisson',
  'mark.base_model': 'base model',

  'outcome.input_too_long': 'prompt too long',
  'outcome.request_too_long': 'request too long',
  'outcome.pool_too_small': 'larger than the KV pool',
  'outcome.never_fits': 'KV cache plus adapter exceed the pool',
  'outcome.prompt_over_batch': 'prompt longer than the prefill token budget',
  'outcome.lora_rank': 'rank above that of the LoRA slots',
  'outcome.rate_limit': 'over its requests per minute (RPM)',
  'outcome.token_quota': 'over its token quota (TPM)',
  'outcome.concurrency': 'too many concurrent requests',
  'outcome.early_abort': 'aborted: TTFT deadline unreachable',
  'outcome.queue_full': 'gateway queue full',
  'outcome.late_first_token': 'estimated TTFT above the deadline',
  'outcome.overload': 'load shedding',
  'outcome.completed': 'completed',
  'outcome.rejected': 'rejected',
  'outcome.timed_out': 'timed out',
  'outcome.unfinished': 'unfinished',
  'outcome.cancelled': 'cancelled',
});
