// Chinese names and helps of the parameters; the compiler checks that none is missing.
import type { ParameterId } from '../generated/parameters.js';

export const parametersZh: Readonly<Record<ParameterId, { label: string; help: string }>> = {
  'workload.rate_rps': {
    label: '请求速率 R',
    help: '所有用户合计，平均每秒到达的请求数。',
  },
  'workload.arrivals.cv': {
    label: '突发性 cv',
    help: '到达间隔的标准差与均值之比：小于 1 比随机更平稳，大于 1 则一阵一阵地来。',
  },
  'workload.adapters.alpha': {
    label: '偏斜 alpha',
    help: '越小，请求越集中在前几个适配器；1 为完全均匀；大于 1（直接输入）时又会偏斜，偏向最后一个适配器。',
  },
  'workload.adapters.count': {
    label: '适配器数量 n',
    help: '共用这台服务器的 LoRA 适配器数；0 表示全部请求都用基座模型。',
  },
  'workload.input_tokens.kind': {
    label: '提示长度分布',
    help: '提示长度从哪种分布中抽取。',
  },
  'workload.input_tokens.value': {
    label: '提示长度',
    help: '每个提示都是这个长度。',
  },
  'workload.input_tokens.low': {
    label: '最短提示',
    help: '提示不会短于此值。',
  },
  'workload.input_tokens.high': {
    label: '最长提示',
    help: '提示不会长于此值（含）。',
  },
  'workload.input_tokens.mean': {
    label: '平均提示长度',
    help: '取值 1、2、3…… 的几何分布的均值。',
  },
  'workload.input_tokens.exponent': {
    label: '提示尾部指数',
    help: '越小，长提示越常见：长于 x 的比例随 x 的负该次幂下降。',
  },
  'workload.input_tokens.median': {
    label: '提示长度中位数',
    help: '一半的提示比这更短。',
  },
  'workload.input_tokens.sigma': {
    label: '提示长度离散度',
    help: '长度取对数后的标准差。',
  },
  'workload.output_tokens.kind': {
    label: '回答长度分布',
    help: '回答长度从哪种分布中抽取。',
  },
  'workload.output_tokens.value': {
    label: '回答长度',
    help: '每个回答都是这个长度。',
  },
  'workload.output_tokens.low': {
    label: '最短回答',
    help: '回答不会短于此值。',
  },
  'workload.output_tokens.high': {
    label: '最长回答',
    help: '回答不会长于此值（含）。',
  },
  'workload.output_tokens.mean': {
    label: '平均回答长度',
    help: '取值 1、2、3…… 的几何分布的均值。',
  },
  'workload.output_tokens.exponent': {
    label: '回答尾部指数',
    help: '越小，长回答越常见：长于 x 的比例随 x 的负该次幂下降。',
  },
  'workload.output_tokens.median': {
    label: '回答长度中位数',
    help: '一半的回答比这更短。',
  },
  'workload.output_tokens.sigma': {
    label: '回答长度离散度',
    help: '长度取对数后的标准差。',
  },
  'workload.max_tokens.kind': {
    label: '上报的 max_tokens',
    help: '告诉服务器的回答长度：如实上报，还是所有请求用同一个上限。',
  },
  'workload.max_tokens.cap': {
    label: 'max_tokens 上限',
    help: '每个客户端上报的上限；更长的回答会把自己的上限抬到实际长度。',
  },
  'scheduler.batch_max_tokens': {
    label: '预填充 token 上限',
    help: '一次预填充最多容纳的提示 token 数（batch_max_tokens）；默认取显存池的六分之一与最长请求中的较大者。',
  },
  'scheduler.max_running_requests': {
    label: '批次上限',
    help: '最多同时运行的请求数。',
  },
  'scheduler.max_request_tokens': {
    label: '最长请求',
    help: '提示与 max_tokens 之和超过此值的请求会被拒绝。',
  },
  'scheduler.max_input_tokens': {
    label: '可接受的最长提示',
    help: '更长的提示会被拒绝。',
  },
  'scheduler.decode_steps_between_prefills': {
    label: '两次预填充的间隔步数',
    help: '批次运行时，新来的请求至少要等这么多步解码；0 表示可以立即加入。',
  },
  'scheduler.idle_poll_ms': {
    label: '空闲轮询',
    help: '空闲的调度器每次休眠多久再看有没有请求；0 表示请求一到就醒。',
  },
  'scheduler.original_blocking': {
    label: '像原系统那样阻塞',
    help: '放进永远无法准入的请求，让它像 S-LoRA 那样永远挡住队列，而不是拒绝它。',
  },
  'scheduler.kind': {
    label: '调度器',
    help: '请求以什么规则进入批次。',
  },
  'scheduler.order': {
    label: '服务次序',
    help: '排队时先看谁。',
  },
  'scheduler.max_total_tokens': {
    label: '显存池',
    help: 'KV 缓存与适配器共用的 token 位数（max_total_token_num）。',
  },
  'workload.adapters.popularity': {
    label: '适配器热度分布',
    help: '请求按什么分布选择适配器。',
  },
  'workload.adapters.zipf_s': {
    label: '适配器 Zipf 指数',
    help: '第 k 个适配器的占比与 k 的负该次幂成正比。',
  },
  'workload.adapters.shares': {
    label: '占比',
    help: '依次列出各适配器的相对占比；列表之外的适配器分不到请求。',
  },
  'workload.adapters.ranks': {
    label: '秩',
    help: '依次循环分给各适配器的 LoRA 秩。',
  },
  'workload.users.count': {
    label: '用户数',
    help: '有多少用户在发请求；用户与适配器相互独立。',
  },
  'workload.users.zipf_s': {
    label: '用户 Zipf 指数',
    help: '第 k 个用户的请求占比与 k 的负该次幂成正比；0 表示人人相同。',
  },
  'cost.calibration': {
    label: '标定',
    help: '一组注明来源的系数；它决定本组其他参数以及显存池的默认值。',
  },
  'cost.kind': {
    label: '开销模型',
    help: '一步迭代的耗时如何计算。',
  },
  'cost.linear.prefill_base_ms': {
    label: '预填充，固定项',
    help: '不含任何 token 的预填充耗时。',
  },
  'cost.linear.prefill_per_token_ms': {
    label: '预填充，每 token',
    help: '每个提示 token 增加的时间。',
  },
  'cost.linear.decode_base_ms': {
    label: '解码，固定项',
    help: '不含任何请求的一步解码耗时。',
  },
  'cost.linear.decode_per_request_ms': {
    label: '解码，每请求',
    help: '批次中每个请求增加的时间。',
  },
  'cost.linear.decode_per_kv_token_ms': {
    label: '解码，每 KV token',
    help: '注意力每读一个 token 增加的时间。',
  },
  'cost.linear.overhead_ms': {
    label: '额外开销',
    help: '调度与采样的时间，计入每一步解码。',
  },
  'cost.adapters.load_base_ms': {
    label: '加载适配器，固定项',
    help: '把一个适配器搬上 GPU 的时间，不含权重本身。',
  },
  'cost.adapters.load_per_rank_ms': {
    label: '加载适配器，每单位秩',
    help: '适配器的秩每增加 1 增加的时间。',
  },
  'cost.adapters.decode_per_rank_ms': {
    label: '解码，每单位秩',
    help: '批次中秩的总和每增加 1，一步解码增加的时间。',
  },
  'cost.adapters.decode_active_ms': {
    label: '解码，用到适配器时',
    help: '只要有请求使用适配器，一步解码就增加的时间。',
  },
  'cost.adapters.prefill_factor': {
    label: '预填充，用到适配器时',
    help: '只要有请求使用适配器，预填充耗时就乘以此数。',
  },
  'slo.ttft_s': {
    label: 'TTFT 上限',
    help: '首 token 早于此时间到达，该请求即为达成目标。',
  },
  'slo.tbt_s': {
    label: 'TBT 上限',
    help: '平均 token 间隔不超过此值的请求才计入有效吞吐。',
  },
  'workload.trace.time_scale': {
    label: '时间缩放',
    help: '把读入文件的所有时刻乘以此数：2 表示慢一半，突发也随之拉长。',
  },
  'workload.trace.rate_scale': {
    label: '速率缩放',
    help: '抽稀文件中的请求，或叠加错开的副本，使速率乘以此数而时钟不变。',
  },
  'workload.duration_s': {
    label: '时长 D',
    help: '共生成 ⌊R·D⌋ 个请求，最后一个可能稍晚于此时刻到达。',
  },
  'workload.cut_at_duration': {
    label: '在 D 处截断',
    help: '丢弃晚于时长到达的请求（S-LoRA 的生成器会保留它们）。',
  },
  'workload.arrivals.kind': {
    label: '到达过程',
    help: '到达间隔服从的分布。',
  },
  'seed': {
    label: '随机种子',
    help: '种子相同，结果就相同，在页面和终端里都一样。',
  },
};
