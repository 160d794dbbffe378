// What is searched for beside parameters, charts, presets, lessons and the glossary: what the simulation leaves out, sections of
// the page, pages of the documentation, and further words for what has another name here. One row for each; a test holds the rows
// to the documentation.
import type { Language } from '../i18n/format.js';

type Words = Readonly<Record<Language, string>>;

/** What is not simulated: `row` is its first cell in docs/limits.md. */
export interface Limit { id: string; row: string; title: Words; instead: Words; words: string }

export const LIMITS: readonly Limit[] = [
  {
    id: 'router_parts', row: 'parts of routers',
    title: { en: 'Latency predictor, queue and tiered index of routers: not modelled', zh: '路由器的时延预测、排队与分层索引：未建模' },
    instead: {
      en: 'Rules of llm-d, Dynamo, SGLang, AIBrix and production-stack are simulated with what they know. Instead of a queue at the router, use the gateway; a decision takes no time.',
      zh: '已按各系统所知的信息模拟 llm-d、Dynamo、SGLang、AIBrix 和 production-stack 的规则。若要在路由器处排队，请用网关；做一次决定不花时间。',
    },
    words: 'llm-d latency predictor predicted latency SLO routing router queue LoRA scorer tiered index 时延预测 路由排队',
  },
  {
    id: 'disaggregation', row: 'KV transfer between replicas but vLLM’s pulls',
    title: { en: 'Other KV transfers of disaggregated prefill and decode: not modelled', zh: '预填充与解码分离 (PD) 的其他 KV 传输方式：未建模' },
    instead: {
      en: 'Prefill and decode apart are simulated as vLLM does it (NIXL, the decode replica pulls): set them apart among the settings of replicas. SGLang’s bootstrap, TensorRT-LLM’s transfer and copies layer by layer are not.',
      zh: '已按 vLLM 的方式（NIXL，由解码副本拉取）模拟预填充与解码分离：请在副本的设置中打开。SGLang 的 bootstrap、TensorRT-LLM 的传输方式以及逐层复制未建模。',
    },
    words: 'disaggregate disaggregated disaggregation P/D PD split prefill pool decode pool DistServe Splitwise Mooncake NIXL KV transfer Dynamo 分离 解耦 分池 PD分离',
  },
  {
    id: 'expert_balance', row: 'two-batch overlap, loads of experts that drift, and ranks over several nodes',
    title: { en: 'Two-batch overlap, and loads of experts that drift: not modelled', zh: '双批重叠与漂移的专家负载：未建模' },
    instead: {
      en: 'Data-parallel ranks, expert parallelism and EPLB are simulated: set the ranks of a replica. Experts are loaded as in the measured tables, and one batch is computed at a time.',
      zh: '数据并行 rank、专家并行与 EPLB 均已模拟：请设置副本的 rank 数。专家的负载与实测表相同，同一时间只计算一个批次。',
    },
    words: 'two-batch overlap TBO DBO dual batch wide EP multi-node drift 双批重叠',
  },
  {
    id: 'speculation', row: 'speculative decoding of other schedulers and by other methods',
    title: { en: 'Speculative decoding of other schedulers and methods: not modelled', zh: '其他调度器与其他方法的投机解码：未建模' },
    instead: {
      en: 'Speculative decoding is simulated under vLLM v1: choose it there, with the drafts and the acceptance of your server. Under another scheduler a request gets one token an iteration.',
      zh: '投机解码在 vLLM v1 下模拟：请在那里选择，并填入你的服务器的草稿数与接受率。在其他调度器下，每个请求每次迭代得到一个 token。',
    },
    words: 'speculative speculation draft model draft tokens EAGLE Medusa MTP n-gram acceptance length verify 推测解码 草稿模型 接受长度',
  },
  {
    id: 'contents', row: 'contents',
    title: { en: 'Contents of prompts and outputs: not modelled', zh: '提示词与输出的内容：未建模' },
    instead: {
      en: 'Prompts have lengths and shared prefixes, no text. Instead: sessions stand for agents and tool calls (the time of a tool is think time), and shared prefixes for system prompts.',
      zh: '提示词只有长度和共享前缀，没有文字。替代办法：用会话表示智能体与工具调用（工具耗时即思考时间），用共享前缀表示系统提示词。',
    },
    words: 'agent agents tool call tool calls function calling quality accuracy semantic cache structured output guided decoding multimodal image vision 智能体 工具调用 内容 多模态',
  },
  {
    id: 'drains', row: 'drains with a time limit, requests that move to another replica',
    title: { en: 'Drains with a time limit, and migration of requests: not modelled', zh: '限时排空与请求迁移：未建模' },
    instead: {
      en: 'A replica that drains serves what it has. Instead: a replica that fails (Failures at) loses its requests at once; they begin again elsewhere or end with an error.',
      zh: '排空中的副本会处理完已有的请求。替代办法：让副本发生故障（“故障时刻”），它的请求立即丢失，在别处重新开始，或以错误结束。',
    },
    words: 'drain timeout grace period migration move requests 排空超时 迁移',
  },
  {
    id: 'scale_to_zero', row: 'scale to zero, autoscalers that predict the load',
    title: { en: 'Scale to zero and predictive autoscalers: not modelled', zh: '缩容到零与预测式扩缩容：未建模' },
    instead: {
      en: 'Autoscalers read the load and keep one replica at least. Instead: set Autoscaler to a rule, or set the replica counts that a prediction would give, and their times, under Replicas over time.',
      zh: '自动扩缩容读取负载，并至少保留一个副本。替代办法：把“自动扩缩容”设为一种规则，或在“副本数随时间变化”中设置预测会给出的副本数与时刻。',
    },
    words: 'scale to zero serverless predictive forecast ARIMA Kalman planner 缩容到零 无服务器 预测',
  },
  {
    id: 'lower_tiers', row: "disks, shared stores and other engines' tiers below the GPU",
    title: { en: 'Tiers on disks and shared stores, and those of other engines: not modelled', zh: '磁盘与共享存储上的分层以及其他引擎的分层：未建模' },
    instead: {
      en: 'Host memory is the one tier, by vLLM’s two connectors, for models whose layers all keep every token. Instead: set host memory of the size of all tiers together, with the bandwidth of the slowest one that matters.',
      zh: '只有主机内存一层，按 vLLM 的两个连接器，适用于所有层都保留每个 token 的模型。替代办法：把主机 KV 缓存设为各层之和，带宽取其中起决定作用的最慢一层。',
    },
    words: 'LMCache Mooncake store HiCache disk NVMe SSD remote store tier offload 磁盘 共享存储 分层',
  },
  {
    id: 'images', row: 'images and their encoder in the memory plan',
    title: { en: 'Memory of images and drafters: not modelled', zh: '图像与草稿模型的显存：未建模' },
    instead: {
      en: 'The KV cache of a model with images is up to 2 GiB too large here. Instead: set the size of the KV cache that your server prints when it starts.',
      zh: '带图像的模型，这里的 KV 缓存最多偏大 2 GiB。替代办法：填入你的服务器启动时打印的 KV 缓存大小。',
    },
    words: 'image vision multimodal encoder drafter CPU memory 图像 多模态 编码器 草稿',
  },
  {
    id: 'graphs', row: "CUDA graphs before vLLM 0.20, and the memory of other engines' graphs",
    title: { en: 'Memory of CUDA graphs of other engines and older versions: not modelled', zh: '其他引擎与旧版本的 CUDA 图显存：未建模' },
    instead: {
      en: 'What is left alone of the GPU memory stands for them. Instead: set the size of the KV cache that your server prints when it starts.',
      zh: '由留着不用的显存余量代替。替代办法：填入你的服务器启动时打印的 KV 缓存大小。',
    },
    words: 'CUDA graph capture sizes activation peak workspace gpu_memory_utilization out of memory OOM 显存 激活 内存不足',
  },
  {
    id: 'clocks', row: 'clocks, heat and other tenants of a GPU',
    title: { en: 'GPU clocks, heat, energy: not modelled', zh: 'GPU 频率、温度、能耗：未建模' },
    instead: { en: 'Two equal batches take equal times. Instead: plan with headroom.', zh: '相同的批次耗时相同。替代办法：规划时留出余量。' },
    words: 'energy power watts carbon throttling clock frequency noisy neighbour MIG MPS sharing 能耗 功耗 降频',
  },
  {
    id: 'accelerators', row: 'accelerators that are no GPUs (TPU, Trainium, Gaudi)',
    title: { en: 'TPU, Trainium, Gaudi: not modelled', zh: 'TPU、Trainium、Gaudi：未建模' },
    instead: {
      en: 'Every device is a GPU, and kernels were measured on NVIDIA’s. Instead: describe the device as a GPU of your own by its memory, bandwidth and FLOP/s. The roofline computes its times, and their error is not known.',
      zh: '所有设备都按 GPU 处理，实测的 kernel 都来自 NVIDIA GPU。替代办法：在“自己的 GPU”中填入显存、带宽与 FLOP/s，由 Roofline 计算耗时，其误差未知。',
    },
    words: 'TPU Trainium Inferentia Gaudi NPU Ascend Cerebras Groq accelerator 加速器 昇腾',
  },
  {
    id: 'network', row: 'networks between client and gateway',
    title: { en: 'Network between client and gateway: not modelled', zh: '客户端与网关之间的网络：未建模' },
    instead: { en: 'A request arrives when it is sent. Instead: add your round trip to TTFT.', zh: '请求发出即到达。替代办法：在 TTFT 上加往返时间。' },
    words: 'network latency round trip internet TLS streaming 网络 往返',
  },
  {
    id: 'other_engines', row: 'other engines than vLLM, SGLang and TensorRT-LLM',
    title: { en: 'Engines other than vLLM, SGLang and TensorRT-LLM: not modelled', zh: 'vLLM、SGLang 与 TensorRT-LLM 之外的引擎：未建模' },
    instead: {
      en: 'The schedulers of vLLM, SGLang and TensorRT-LLM are simulated, with the measured kernels of each. vLLM v1 is the nearest to most others. Not simulated of SGLang: HiCache, speculative decoding; of TensorRT-LLM: the waiting of attention-DP, partial block reuse, speculative decoding.',
      zh: '已模拟 vLLM、SGLang 与 TensorRT-LLM 的调度器，各用自己的实测 kernel。对于其他引擎，vLLM v1 大多最接近。没有模拟的：SGLang 的 HiCache 与投机解码；TensorRT-LLM 的 attention-DP 的等待、块的部分复用与投机解码。',
    },
    words: 'Triton LMDeploy TGI DeepSpeed MII FasterTransformer FlashInfer',
  },
  {
    id: 'all_gather', row: 'all-gather in timed operators',
    title: { en: 'All-gather in operator profiles: not modelled', zh: '算子 profile 中的 all-gather：未建模' },
    instead: {
      en: 'Vidur timed all-reduces and messages only, so operator profiles have no other collective. Instead: choose measured kernels, which have all-gather and reduce-scatter where experts need them.',
      zh: 'Vidur 只测量了 all-reduce 与点对点消息，因此算子 profile 中没有其他集合通信。替代办法：选择实测 kernel，其中含有专家所需的 all-gather 与 reduce-scatter。',
    },
    words: 'collective collectives all-gather allgather reduce-scatter all-to-all NCCL Vidur operators profile 集合通信',
  },
  {
    id: 'azure_groups', row: "AIBrix's grouping of Azure traces and collections of prompts in the page",
    title: { en: 'AIBrix’s grouped Azure traces and prompt collections: in the terminal', zh: 'AIBrix 的 Azure trace 分组与提示词集合：仅在终端' },
    instead: {
      en: 'The page opens an Azure trace with its own times, and simulates lengths, not texts. Instead: group a trace and send prompts with the terminal.',
      zh: '页面按 Azure trace 自身的时间打开它，模拟的是长度而非文字。替代办法：在终端中对 trace 分组并发送提示词。',
    },
    words: 'AIBrix Azure grouping group interval prompts prompt collection ShareGPT dataset bodies tokenizer 分组 提示词集合',
  },
];

/** Further words for lessons. */
export const LESSON_WORDS: Readonly<Record<string, string>> = {
  batching: 'in-flight batching dynamic batching 动态批处理',
  long_prompt: 'head of line blocking HOL 队头阻塞',
  fairness: 'noisy neighbor noisy neighbour multi-tenant isolation 隔离',
  prefill_first: 'ITL spikes spiky inter-token latency stall stalls prefill first decode first SGLang vLLM mixed chunk 尖峰 停顿 预填充优先',
  drafts: 'speculative decoding speculation MTP EAGLE draft tokens acceptance rate 投机解码 草稿 接受率',
  ranks: 'data parallel ranks DP attention dummy batch lockstep slowest rank MoE DeepSeek 数据并行 空批次',
  agents: 'agentic tool calls KV offload CPU tier 工具调用 KV 卸载',
  memory: 'out of memory OOM KV cache preemption 显存不足',
};

/** What presets are searched for by, in both languages, a comma between two names. */
export const PRESET_WORDS: Readonly<Record<string, string>> = {
  real: 'chatbot, realistic traffic, 真实流量',
  lora_vllm: 'multi-LoRA, 多 LoRA',
  burst: 'bursty traffic, spike, peak load, 尖峰, 洪峰',
  mm1: 'queueing theory, 排队论',
  static_batch: 'in-flight batching, dynamic batching, 动态批处理',
  tail_prompt_budget: 'head of line blocking, tail latency, 队头阻塞, 长尾',
  tail_mixed_prefill: 'tail latency, inter-token stalls, 长尾',
  tail_mixed_decode: 'shortest job first, tail latency, 短作业优先, 长尾',
  greedy_user: 'noisy neighbor, noisy neighbour, 多租户',
  on_off_user: 'bursty tenant, bursty user, 突发用户',
  newcomer: 'new tenant, new user, 新用户',
  retry_storm: '429, backoff, thundering herd, 退避, 雪崩',
  small_quota: 'rate limit, idle quota, quota lending, 限流, 借用配额',
  leaks: 'gateway bug, 网关缺陷',
  kv_memory: 'KV cache size, 显存大小',
  will_long_context: 'long context, long prompts, summarisation, summarization, 长上下文, 长提示词',
  will_few_slots: 'LoRA slots, LoRA swapping, 换入换出',
  will_quota: 'rate limit, noisy neighbor, noisy neighbour, 限流',
  will_gpu: 'cheaper GPU, GPU choice, 选卡',
  will_prefix_cache: 'automatic prefix caching, prompt caching, cache hit rate, 提示词缓存, 命中率',
  will_host_cache: 'CPU offload, CPU offloading, KV offload, KV offloading, KV cache offloading, host cache, host KV cache, host memory, host RAM, CPU tier, agentic, agentic traffic, coding agents, tool calls, '
    + '主机缓存, 主机内存, CPU 卸载, KV 卸载, KV 缓存卸载, 内存分层, 编程智能体, 工具调用',
  will_router: 'router, routing, prefix-aware routing, cache-aware router, cache-aware routing, KV-aware routing, load balancer, load balancing, session affinity, sticky sessions, agentic, agentic router, '
    + 'agentic traffic, coding agents, tool calls, 路由, 路由器, 哪个路由器, 负载均衡, 缓存感知路由, 会话亲和, 编程智能体, 工具调用',
  will_sglang: 'SGLang or vLLM, SGLang vs vLLM, spiky ITL, ITL spikes, token stalls, prefill first, prefill stalls decode, inter-token latency spikes, SGLang 还是 vLLM, token 停顿, 预填充优先',
  will_drafts: 'MTP, EAGLE, speculative decoding slower, draft tokens, is MTP worth it, acceptance rate, 投机解码 变慢, 草稿 token',
  will_ranks: 'DeepSeek DP attention, data parallel attention, tensor parallel or data parallel, TP or DP, MoE layout, wide EP, 数据并行 rank, 张量并行还是数据并行',
  will_apart: 'disaggregate, disaggregated serving, prefill decode split, P/D, split or together, prefill to decode ratio, P:D ratio, how many prefill replicas, how many decode replicas, 分离, 预填充解码分离, PD 分离',
  will_autoscale: 'autoscaler, autoscaling, HPA, KEDA, scale up, scale out, traffic spike, cold start, 自动扩缩容, 扩容, 冷启动, 流量尖峰',
  will_flags: 'vllm serve, 启动参数',
};

/** A page of the documentation by the name of its file. */
export interface DocsPage { page: string; title: Words; words: string }

export const DOCS: readonly DocsPage[] = [
  { page: 'adapters', title: { en: 'Where adapters are kept', zh: '适配器存放在哪里' }, words: 'LoRA slots unified memory 适配器' },
  { page: 'autoscaling', title: { en: 'Autoscaling: rules that choose the number of replicas', zh: '自动扩缩容：由规则决定副本数' }, words: 'autoscaler autoscale HPA KEDA KPA APA WVA planner scale up scale down cold start stabilization window 扩缩容 扩容 缩容 弹性 冷启动 稳定窗口' },
  { page: 'bring-your-own', title: { en: 'Bring your own trace and profile', zh: '使用自己的 trace 与 profile' }, words: 'import own data upload 导入' },
  { page: 'citing', title: { en: 'How to cite Servescope', zh: '如何引用 Servescope' }, words: 'cite citation citing BibTeX reference CITATION.cff paper 引用 论文 文献' },
  { page: 'fleets', title: { en: 'Fleets: unequal pools, and replicas that start and stop', zh: '集群：不同的资源池，以及启动与停止的副本' }, words: 'fleet pools heterogeneous GPUs autoscaling schedule cold start draining replicas over time 资源池 异构 扩容 缩容 启动时间 排空' },
  { page: 'routers', title: { en: 'Routers by the names of their systems', zh: '以系统命名的路由器' }, words: 'router routing llm-d EPP inference gateway Dynamo KV router SGLang smg cache_aware AIBrix production-stack prefix-aware stale metrics herd precise approximate index KV events 路由 前缀感知 过期指标 羊群效应' },
  { page: 'capacity', title: { en: 'How much load a deployment can serve', zh: '部署能承载多少负载' }, words: 'capacity planning sizing cheapest 容量 规划 最便宜' },
  { page: 'debugger', title: { en: 'The scheduler debugger', zh: '调度器调试器' }, words: 'step decisions 单步' },
  { page: 'features', title: { en: 'What you can simulate', zh: '能模拟什么' }, words: 'features supported list 功能' },
  { page: 'file-formats', title: { en: 'File formats', zh: '文件格式' }, words: 'import export CSV JSONL trace Azure BurstGPT Mooncake ShareGPT 导入 格式' },
  { page: 'fit-and-twin', title: { en: 'A trace, its fit, and its twin', zh: 'trace、拟合与合成 trace' }, words: 'fit distribution synthetic 拟合' },
  { page: 'gateway', title: { en: 'The gateway', zh: '网关' }, words: 'quota rate limit RPM TPM 429 retry 配额 限流' },
  { page: 'glossary', title: { en: 'Glossary', zh: '词汇表' }, words: 'terms definitions 术语' },
  { page: 'disaggregation', title: { en: 'Prefill and decode on replicas of their own', zh: '预填充与解码分离' }, words: 'disaggregated PD prefill decode split NIXL KV transfer kv_producer kv_consumer link max-min fair Dynamo llm-d 分离 传输 拉取' },
  { page: 'ranks', title: { en: 'Data-parallel ranks and expert parallelism', zh: '数据并行 rank 与专家并行' }, words: 'DP EP MoE data parallel attention expert parallelism dummy batch wave lockstep DeepEP 数据并行 专家并行' },
  { page: 'speculation', title: { en: 'Speculative decoding', zh: '投机解码' }, words: 'speculative MTP EAGLE draft model n-gram acceptance length 推测解码 草稿模型 接受长度' },
  { page: 'streaming-input', title: { en: 'Sessions with streaming input', zh: '流式输入的会话' }, words: 'resumable chunks audio speech voice realtime 语音 实时 分段' },
  { page: 'kv-tiers', title: { en: 'Host memory for KV blocks', zh: '存放 KV 块的主机内存' }, words: 'KV offload offloading tier CPU memory agents sessions KV transfer connector kv_offloading_size LMCache HiCache 主机内存 卸载 分层 智能体' },
  { page: 'lessons', title: { en: 'Lessons: notes for a teacher', zh: '课程：教师说明' }, words: 'class course teaching embed 教学 课堂' },
  { page: 'limits', title: { en: 'Limits: what is not simulated', zh: '局限：没有模拟什么' }, words: 'not modelled unsupported missing bounds 不支持 未建模' },
  { page: 'measured-hardware', title: { en: 'Measured hardware', zh: '实测硬件' }, words: 'kernels AIConfigurator InferenceX benchmark 算子 基准测试' },
  { page: 'measured', title: { en: 'What was measured', zh: '测量了什么' }, words: 'validation accuracy error tests 误差 验证' },
  { page: 'memory', title: { en: 'The memory plan', zh: '显存规划' }, words: 'KV cache GPU memory weights activations start-up log 显存 启动日志' },
  { page: 'model', title: { en: 'The model on one page', zh: '一页看懂模型' }, words: 'how it works assumptions equations discrete event 原理 假设' },
  { page: 'monitor', title: { en: 'Usage by client', zh: '各客户端用量' }, words: 'tenant tokens fairness 租户' },
  { page: 'operator-profiles', title: { en: 'Profiles of timed operators', zh: '算子耗时 profile' }, words: 'Vidur profiling 剖析' },
  { page: 'orders', title: { en: 'Scheduling policies; where to add your own policy', zh: '调度策略；如何加入自己的策略' }, words: 'own policy custom scheduler write extend plugin FCFS VTC DRR priority 自定义 自己的策略' },
  { page: 'own-model', title: { en: 'A model of your own', zh: '自己的模型' }, words: 'config.json custom model dimensions 自定义模型' },
  { page: 'prompts', title: { en: 'Prompts and request bodies', zh: '提示词与请求体' }, words: 'OpenAI API body payload export 请求体' },
  { page: 'python', title: { en: 'Python, and sweeps on a cluster', zh: 'Python 与集群上的扫描' }, words: 'pip wheel notebook Jupyter pandas Ray API' },
  { page: 'replay', title: { en: 'Replay: load for a real server', zh: '重放：向真实服务器发送负载' }, words: 'benchmark load generator load test bench serve GuideLLM 压测 基准测试' },
  { page: 'roofline', title: { en: 'How near the roofline comes to measurements', zh: 'Roofline 与实测的差距' }, words: 'FLOPs bandwidth MFU 屋顶线' },
  { page: 'sglang', title: { en: 'SGLang\'s scheduler: radix cache, retraction, defaults', zh: 'SGLang 的调度器：基数树缓存、撤回与默认值' }, words: 'sglang.launch_server RadixAttention radix attention radix tree radix cache LPM longest prefix match schedule policy retraction retract new_token_ratio new token ratio mem_fraction_static schedule conservativeness chunked_prefill_size mixed chunk overlap schedule 基数树 最长前缀匹配 撤回 调度保守度 新 token 比例 静态显存比例' },
  { page: 'tensorrt-llm', title: { en: 'TensorRT-LLM\'s scheduler: capacity policies, chunks, block reuse', zh: 'TensorRT-LLM 的调度器：容量策略、分块与块复用' }, words: 'TensorRT TRT-LLM TRTLLM trtllm-serve GUARANTEED_NO_EVICT MAX_UTILIZATION capacity scheduler policy max_num_tokens max_batch_size free_gpu_memory_fraction enable_block_reuse tokens_per_block context chunking paused request 容量策略 保证不驱逐 最大利用率 暂停' },
  { page: 'terminal', title: { en: 'The terminal: the command line', zh: '终端：命令行' }, words: 'command line CLI shell install binary script servescope 命令行 安装' },
  { page: 'tutorial', title: { en: 'Tutorial: what do bursts cost?', zh: '教程：突发的代价' }, words: 'start example walk-through 入门' },
  { page: 'validation', title: { en: 'How each figure of the Validation tab is made', zh: '“实测对照”中的每张图如何得到' }, words: 'reproduce paper figures source 论文 复现' },
  { page: 'what-combines', title: { en: 'What combines with what', zh: '什么可以与什么组合' }, words: 'compatibility supported combinations 兼容' },
  { page: 'what-if', title: { en: 'Which setting is better, by how much, and where is the crossover?', zh: '哪种设置更好、好多少、何处反转' }, words: 'compare sweep crossover confidence interval significance seeds A/B 比较 扫描 置信区间' },
  { page: 'which-user-distribution', title: { en: 'Which distribution do the users of an LLM service follow?', zh: 'LLM 服务的用户服从什么分布' }, words: 'Zipf popularity users 用户分布' },
];

/** A section of the page: in which tab it is, the element, and how it is titled in the page's texts. */
export interface SectionPlace { id: string; tab: 'explore' | 'learn' | 'plan' | 'validation'; selector: string; title: 'section.source' | 'section.own_request' | 'section.compare' | 'section.sweep' | 'section.why' | 'section.debugger' | 'section.monitor' | 'section.who' | 'section.happens' | 'section.feel' | 'section.arrives' | 'tab.learn' | 'tab.plan' | 'tab.validation'; words: string }

export const SECTIONS: readonly SectionPlace[] = [
  { id: 'learn', tab: 'learn', selector: 'learn-page', title: 'tab.learn', words: 'essay how an LLM service works introduction basics lessons course tutorial presets examples class 文章 入门 原理 课程 教学 示例' },
  { id: 'plan', tab: 'plan', selector: 'capacity-page', title: 'tab.plan', words: 'cheapest cost per million tokens cost price USD which GPU how many GPUs replicas sizing capacity budget quantization tensor parallel vllm serve command 最便宜 成本 价格 多少 GPU 容量' },
  { id: 'validation', tab: 'validation', selector: 'validation-page', title: 'tab.validation', words: 'benchmark results accuracy measured error trust AIConfigurator InferenceX compare with a measured run bench serve result import 基准测试 实测 误差' },
  { id: 'source', tab: 'explore', selector: '[data-fold=source]', title: 'section.source', words: 'import trace file upload open CSV JSONL load own data export 导入 上传 文件' },
  { id: 'own', tab: 'explore', selector: '[data-fold=own]', title: 'section.own_request', words: 'single request one request my request 单个请求' },
  { id: 'compare', tab: 'explore', selector: '[data-fold=compare]', title: 'section.compare', words: 'compare A/B difference versus pin baseline significance confidence 对比 比较 差异' },
  { id: 'sweep', tab: 'explore', selector: '[data-fold=sweep]', title: 'section.sweep', words: 'sweep grid vary sensitivity experiment crossover 扫描 敏感性 实验' },
  { id: 'why', tab: 'explore', selector: '[data-fold=why]', title: 'section.why', words: 'why slow cause reason explain blame bottleneck spike tail 为什么 原因 瓶颈 慢' },
  { id: 'debugger', tab: 'explore', selector: '[data-fold=debugger]', title: 'section.debugger', words: 'step trace decision scheduler batch inspect 单步 决策' },
  { id: 'monitor', tab: 'explore', selector: '[data-fold=monitor]', title: 'section.monitor', words: 'tenant multi-tenant noisy neighbor noisy neighbour usage per user over time fairness 租户 用量' },
  { id: 'who', tab: 'explore', selector: '#who', title: 'section.who', words: 'per user per adapter tenant table 租户 每用户' },
  { id: 'happens', tab: 'explore', selector: '.charts.happens', title: 'section.happens', words: 'timeline running waiting throughput tokens per second memory charts 时间线 图表 吞吐' },
  { id: 'feel', tab: 'explore', selector: '.charts.feel', title: 'section.feel', words: 'latency TTFT distribution percentile CDF 延迟 分位数' },
  { id: 'arrives', tab: 'explore', selector: '.charts.arrives', title: 'section.arrives', words: 'arrivals gaps lengths input 到达 长度' },
];

/** Further words for parameters. */
export const PARAMETER_WORDS: Readonly<Record<string, string>> = {
  'fleet.weights': 'quantization quantisation quantized FP8 INT8 INT4 AWQ GPTQ 量化',
  'fleet.kv_format': 'quantization KV cache quantization KV cache dtype 量化',
  'cost.speculation.method': 'speculative decoding speculation MTP EAGLE draft model n-gram num_speculative_tokens speculative-config 推测解码 草稿',
  'fleet.host_cache.gib': 'KV offload offloading CPU offload host memory tier kv_offloading_size 主机内存 卸载 分层',
  'scheduler.prefix_cache': 'RadixAttention radix APC prompt caching system prompt cache hit rate 提示词缓存 命中率',
  'workload.sessions.kind': 'agent agents agentic tool call tool calls multi-turn chat conversation 智能体 工具调用 多轮',
  'workload.think.mean_s': 'tool call time tool latency agent 工具调用 智能体',
  'workload.prefix.kind': 'system prompt agent shared context RAG 系统提示词',
  'scheduler.kind': 'engine policy own policy 引擎 策略',
  'scheduler.max_running_requests': 'max_num_seqs batch size concurrent requests 批大小 并发',
  'scheduler.batch_max_tokens': 'max_num_batched_tokens',
  'scheduler.max_request_tokens': 'max_model_len context length context window 上下文长度',
  'scheduler.block_size': 'paged attention PagedAttention page size',
  'scheduler.async_scheduling': 'overlap schedule disable_overlap_schedule 重叠调度',
  'scheduler.schedule_policy': 'LPM cache-aware scheduling 缓存感知调度',
  'scheduler.schedule_conservativeness': 'new_token_ratio new token ratio init_new_token_ratio 新 token 比例',
  'fleet.memory_margin': 'gpu_memory_utilization mem_fraction_static 显存占比',
  'fleet.tensor_parallel': 'tensor_parallel_size TP size 张量并行',
  'fleet.failures.at_s': 'failure failures crash restart kill spot preemption node failure 故障 崩溃 重启',
  'fleet.failures.mtbf_s': 'MTBF mean time between failures reliability 平均故障间隔 可靠性',
  'fleet.disaggregation.kind': 'disaggregated prefill decode split PD NIXL kv-transfer-config 分离 PD分离',
  'fleet.enable_eplb': 'expert load balancing hot experts imbalance 专家均衡',
  'fleet.data_parallel_size': 'data parallel size DP dp_size DP attention data-parallel attention ranks 数据并行',
  'fleet.enable_expert_parallel': 'EP MoE mixture of experts expert parallelism wide EP 专家并行 混合专家',
  'fleet.all2all_backend': 'all-to-all all2all DeepEP dispatch combine 全互换',
  'fleet.replicas': 'servers instances 副本',
  'workload.adapters.count': 'enable_lora multi-LoRA',
  'slo.ttft_s': 'SLA service level objective',
  'slo.tpot_s': 'SLA service level objective',
  'slo.tbt_s': 'SLA service level objective ITL',
  'fleet.router': 'load balancer routing prefix-aware llm-d Dynamo AIBrix smg production-stack gateway inference extension EPP 负载均衡',
  'fleet.router_index.kind': 'KV events KV indexer approximate prefix index 前缀索引',
  'fleet.router_view.scrape_ms': 'stale metrics staleness herd 过期 羊群',
  'workload.rate_rps': 'QPS requests per second traffic load 流量',
};
