// Words for the keys that come from the module: marks on sliders, reasons, outcomes, empty charts, choices.

export const marksEn = {
  'mark.uniform': 'uniform',
  'mark.poisson': 'Poisson',
  'mark.base_model': 'base model',
} as const;

export const marksZh: Record<keyof typeof marksEn, string> = {
  'mark.uniform': '均匀',
  'mark.poisson': '泊松',
  'mark.base_model': '基座模型',
};

export const reasonsEn = {
  'why.not_served': 'It was not served: it was refused, or its client went away first.',
  'why.stuck': 'It never got its turn: the request at the head of the line can never be admitted and blocks everybody behind it.',
  'why.memory': 'It waited for memory: the request at the head of the line did not fit beside the running ones.',
  'why.prompt_budget': 'It waited for room in a prefill: the prompts before it filled the batch’s token limit.',
  'why.running_cap': 'It waited for a place in the batch: the largest number of running requests was reached.',
  'why.next_decision': 'It waited for the next decision: an iteration was under way, or the rule of so many decode steps between prefills held it back.',
  'why.stalled': 'It stood still while the prompts of others were read.',
  'why.adapter_load': 'It waited for adapters to be loaded.',
  'why.prefill': 'Nothing held it up much: most of the time went into reading its own prompt.',
  'why.decode': 'Nothing held it up much: most of the time went into its own answer.',
} as const;

export const reasonsZh: Record<keyof typeof reasonsEn, string> = {
  'why.not_served': '它没有得到服务：被拒绝，或者客户端提前离开。',
  'why.stuck': '它永远轮不到：队首的请求永远无法准入，挡住了后面所有请求。',
  'why.memory': '它在等显存：队首的请求与运行中的请求放不到一起。',
  'why.prompt_budget': '它在等预填充的名额：前面的提示占满了批次的 token 上限。',
  'why.running_cap': '它在等批次的空位：运行请求数已到上限。',
  'why.next_decision': '它在等下一次调度：有一步正在进行，或两次预填充之间须先解码若干步。',
  'why.stalled': '它停下来等别人的提示读完。',
  'why.adapter_load': '它在等适配器加载。',
  'why.prefill': '没有什么明显的阻碍：时间主要花在读它自己的提示上。',
  'why.decode': '没有什么明显的阻碍：时间主要花在生成它自己的回答上。',
};

/** Choices whose own names say too little; an English one that is not here is shown as it is. */
export const optionsEn: Readonly<Record<string, string>> = {
  power: 'power law (S-LoRA)', zipf: 'Zipf', poisson: 'Poisson', bounded_pareto: 'bounded Pareto', output: 'the true length',
  cap: 'one cap for all', slora: 'S-LoRA', fcfs: 'by arrival', 'a10g-llama-7b': 'A10G, Llama-7B',
  'a100-80-opt-13b': 'A100 80 GB, OPT-13B', unit: 'unit (20 ms a step)',
};

export const optionsZh: Readonly<Record<string, string>> = {
  gamma: 'Gamma', poisson: '泊松', even: '等间隔', power: '幂律（S-LoRA）', zipf: 'Zipf', uniform: '均匀', list: '逐个列出', fixed: '固定',
  geometric: '几何', bounded_pareto: '有界帕累托', lognormal: '对数正态', output: '如实上报', cap: '统一上限', linear: '线性',
  slora: 'S-LoRA', fcfs: '先来先服务', 'a10g-llama-7b': 'A10G，Llama-7B', 'a100-80-opt-13b': 'A100 80 GB，OPT-13B', unit: '单位（每步 20 毫秒）',
};

/** How a request ended, and why it was refused. */
export const outcomesEn: Readonly<Record<string, string>> = {
  input_too_long: 'prompt too long', request_too_long: 'request too long', pool_too_small: 'larger than the memory pool',
  never_fits: 'would never fit beside its adapter', prompt_over_batch: 'prompt longer than one prefill may be',
};

export const outcomesZh: Readonly<Record<string, string>> = {
  input_too_long: '提示太长', request_too_long: '请求太长', pool_too_small: '超过显存池', never_fits: '与适配器一起永远放不下',
  prompt_over_batch: '提示超过一次预填充的上限',
  completed: '完成', rejected: '被拒绝', timed_out: '超时', unfinished: '未完成', cancelled: '已取消',
};
