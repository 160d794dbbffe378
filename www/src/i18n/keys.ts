// Words for the keys that come from the module: marks on sliders, reasons, outcomes, empty charts, choices.

export const marksEn = {
  'mark.uniform': 'uniform',
  'mark.poisson': 'Poisson',
  'mark.base_model': 'base model',
} as const;

export const reasonsEn = {
  'why.not_served': 'It was not served: it was refused, or its client went away first.',
  'why.stuck': 'It never got its turn: the request at the head of the line can never be admitted and blocks everybody behind it.',
  'why.memory': 'It waited for memory: the request at the head of the line did not fit beside the running ones.',
  'why.prompt_budget': 'It waited for room in a prefill: the prompts before it filled the batch’s token limit.',
  'why.running_cap': 'It waited for a place in the batch: the largest number of running requests was reached.',
  'why.next_decision': 'It waited for the next decision: an iteration was under way, or the rule of so many decode steps between prefills held it back.',
  'why.stalled': 'It stood still while the prompts of others were read.',
  'why.gateway_quota': 'It waited at the gateway for a quota of its client.',
  'why.gateway_room': 'It waited at the gateway: the engine was not expected to have room for it.',
  'why.gateway_order': 'It waited at the gateway behind others in its order of service.',
  'why.gateway_retry': 'It was refused at first, and came again later.',
  'why.evicted': 'It was evicted: others needed its memory.',
  'why.adapter_load': 'It waited for adapters to be loaded.',
  'why.prefill': 'Nothing held it up much: most of the time went into reading its own prompt.',
  'why.decode': 'Nothing held it up much: most of the time went into its own answer.',
} as const;

/** Choices whose own names say too little; an English one that is not here is shown as it is. */
export const optionsEn: Readonly<Record<string, string>> = {
  power: 'power law (S-LoRA)', zipf: 'Zipf', poisson: 'Poisson', weibull: 'Weibull', modulated: 'calm and busy (MMPP)', batch: 'batches',
  held: 'held until the answer', timed: 'at fixed times', truncate: 'drop the oldest part', end: 'end the session',
  restart: 'begin anew', together: 'one process for all', each: 'each its own process', tree: 'tree of prefixes',
  bounded_pareto: 'bounded Pareto', percentiles: 'through percentiles', mixture: 'mixture of two', laws: 'a law each', pairs: 'a list of pairs',
  aibrix: 'AIBrix: noise, whole numbers', output: 'the true length',
  cap: 'one cap for all', slora: 'S-LoRA', fcfs: 'by arrival',
  lifo: 'newest first', shortest: 'shortest predicted first', priority: 'priority with ageing', vtc: 'VTC (virtual token counters)',
  lcf: 'least counter first, no lift', drr: 'deficit round robin', rpm: 'requests per minute, by arrival',
  early_abort: 'early abort (S-LoRA)', cluster: 'running adapters first', peft: 'one adapter at a time (PEFT)',
  pets: 'least padding (PetS)', profile: 'measured time', artifact: 'the authors’ artifact',
  waiting: 'smallest of those who wait', paper: 'as in the paper', max: 'near the largest', history: 'mean of the last answers',
  predicted: 'a prediction',
  static: 'static batches (FasterTransformer)', orca: 'Orca', vllm: 'vLLM (2023)', sarathi: 'Sarathi-Serve', lightllm: 'LightLLM', vllm_v1: 'vLLM v1',
  round_robin: 'in turn', least_outstanding: 'fewest requests', shortest_line: 'shortest line (Vidur)', power_of_two: 'better of two',
  watermark: 'as needed, above a watermark', on_demand: 'as needed', reserve: 'all at once',
  recompute: 'read anew', swap: 'copy to the host', regenerate: 'generate again',
  least_kv: 'least KV memory', adapter_affinity: 'by adapter', prefix_affinity: 'by prefix', 'a10g-llama-7b': 'A10G, Llama-7B',
  'a100-80-opt-13b': 'A100 80 GB, OPT-13B', unit: 'unit (20 ms a step)',
  ahead: 'ahead, by estimate', after: 'after they were used', proxy: 'through a proxy', sliding: 'the last 60 s', sub_10s: 'parts of 10 s', sub_1s: 'parts of 1 s',
  bucket: 'a token bucket', gcra: 'GCRA', wait: 'wait', refuse: 'are refused', at_once: 'ask again at once', never: 'give up',
  backoff: 'back off exponentially', honour: 'honour Retry-After', oracle: 'the true length', noisy: 'the true length, with noise', p90: 'P90 of the history',
  p95: 'P95 of the history', average: 'mean of the history', fair_share: 'a fair share only', shed: 'shed: refuse all',
  whole: 'everything', vidur: 'as Vidur', planned: 'what is left', fitted: 'fitted on measurements',
};

/** How a request ended, and why it was refused. */
export const outcomesEn: Readonly<Record<string, string>> = {
  input_too_long: 'prompt too long', request_too_long: 'request too long', pool_too_small: 'larger than the memory pool',
  never_fits: 'would never fit beside its adapter', prompt_over_batch: 'prompt longer than one prefill may be',
  rate_limit: 'over its requests per minute', token_quota: 'over its token quota', concurrency: 'too many requests at once', early_abort: 'given up: its first token would have come too late',
  queue_full: 'the gateway’s queue was full', late_first_token: 'first token expected too late', overload: 'service overloaded',
};
