// Words for the keys that come from the module: marks on sliders, outcomes. Reasons and choices are in names-en.json, which
// is fetched beside the texts of the parameters.

export const marksEn = {
  'mark.uniform': 'uniform',
  'mark.poisson': 'Poisson',
  'mark.base_model': 'base model',
} as const;

/** How a request ended, and why it was refused. */
export const outcomesEn: Readonly<Record<string, string>> = {
  input_too_long: 'prompt too long', request_too_long: 'request too long', pool_too_small: 'larger than the memory pool',
  never_fits: 'would never fit beside its adapter', prompt_over_batch: 'prompt longer than one prefill may be',
  rate_limit: 'over its requests per minute', token_quota: 'over its token quota', concurrency: 'too many requests at once', early_abort: 'given up: its first token would have come too late',
  queue_full: 'the gateway’s queue was full', late_first_token: 'first token expected too late', overload: 'service overloaded',
  lora_rank: 'rank above that of the LoRA slots',
};
