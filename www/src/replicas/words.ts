// The words of the fleet's section, in both languages; the compiler compares the tables.
import type { App } from '../app.js';
import type { Params } from '../i18n/text.js';

const english = {
  'section.replicas': 'What the replicas do',
  'section.replicas.about': 'on the same clock',
  'chart.lanes': 'Replicas: what each does',
  'chart.lanes.some': 'Replicas: what each does (the first {shown} of {all})',
  'chart.lanes.about': 'A row for each replica: iterations that read prompts, that generate tokens, or both. Where a row is empty the replica is idle. Each pixel shows what took most of its time; zoom in to see single iterations.',
  'chart.operators': 'Time of an iteration by operator',
  'chart.operators.about': 'Mean time of an iteration, stacked by what it was spent on. Operators are told apart as far as the cost model does; a law without operators says “not told apart”.',
  'chart.batch': 'Batch size and tokens per iteration',
  'chart.batch.about': 'Requests in an iteration, and the tokens that it processes: those of prompts, and one for each request that decodes. The scale is logarithmic.',
  'chart.utilisation': 'MFU and memory bandwidth',
  'chart.utilisation.about': 'Model FLOPs utilisation: floating-point operations over what the GPUs could do at most; and bytes moved over the most that their memory can. Idle time counts.',
  'chart.preemptions': 'Preemptions',
  'chart.preemptions.about': 'Requests that were thrown out of the batch for want of memory, per second. Their tokens are processed anew.',
  'empty.no_iterations': 'There was no iteration.',
  'empty.no_peak': 'This cost model knows only times, not what an iteration computes and reads, nor what the GPU could do.',
  'empty.no_preemptions': 'No request was thrown out of a batch.',
  'role.mixed': 'both',
  'role.linear': 'matrix products',
  'role.pointwise': 'norms, activations',
  'role.communication': 'communication',
  'role.host': 'host',
  'role.whole': 'not told apart',
  'role.mfu': 'MFU',
  'role.bandwidth': 'memory bandwidth',
  'role.operators.prefill': 'prefill attention',
  'role.operators.decode': 'decode attention',
  'role.batch.input': 'tokens',
  'role.batch.running': 'requests',
  'role.preemptions.refused': 'preempted',
} as const;

export type Word = keyof typeof english;

const chinese: Readonly<Record<Word, string>> = {
  'section.replicas': '各副本在做什么',
  'section.replicas.about': '同一时钟',
  'chart.lanes': '各副本：分别在做什么',
  'chart.lanes.some': '各副本：分别在做什么（前 {shown} 个，共 {all} 个）',
  'chart.lanes.about': '每个副本一行：迭代是在读提示词、在生成 token，还是两者兼有；空白处该副本空闲。每个像素显示占时最多的一种，放大可看到单次迭代。',
  'chart.operators': '单次迭代的耗时：按算子',
  'chart.operators.about': '一次迭代的平均耗时，按用途堆叠。能分到多细取决于成本模型；不含算子的定律只能给出“未细分”。',
  'chart.batch': '批大小与每次迭代的 token 数',
  'chart.batch.about': '一次迭代中的请求数，以及它处理的 token 数：提示词的 token，加上每个解码请求各一个。纵轴为对数刻度。',
  'chart.utilisation': 'MFU 与显存带宽利用率',
  'chart.utilisation.about': '模型算力利用率（MFU）：实际浮点运算量除以 GPU 的峰值；以及实际读写字节数除以显存带宽的峰值。空闲时间也计入。',
  'chart.preemptions': '抢占',
  'chart.preemptions.about': '每秒因显存不足而被移出批次的请求数；它们的 token 要重新计算。',
  'empty.no_iterations': '没有任何迭代。',
  'empty.no_peak': '该成本模型只给出时间，不知道一次迭代的计算量与访存量，也不知道 GPU 的峰值。',
  'empty.no_preemptions': '没有请求被移出批次。',
  'role.mixed': '两者兼有',
  'role.linear': '矩阵乘',
  'role.pointwise': '归一化与激活',
  'role.communication': '通信',
  'role.host': '主机端',
  'role.whole': '未细分',
  'role.mfu': 'MFU',
  'role.bandwidth': '显存带宽',
  'role.operators.prefill': '预填充注意力',
  'role.operators.decode': '解码注意力',
  'role.batch.input': 'token',
  'role.batch.running': '请求',
  'role.preemptions.refused': '被抢占',
};

export function isWord(key: string): key is Word {
  return Object.hasOwn(english, key);
}

export function wordsOf({ text }: App): (key: Word, params?: Params) => string {
  const table = text.language === 'zh' ? chinese : english;
  return (key, params = {}) => text.fill(table[key], params);
}
