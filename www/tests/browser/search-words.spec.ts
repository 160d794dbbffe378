// Words that users of this field type: each finds what it means here among the first five, or that it is not modelled and what to do instead.
import type { Page } from '@playwright/test';
import { expect, frames, open, test } from './page.js';

/** What is typed, and what has to be among the first five. */
const WORDS: readonly (readonly [string, string])[] = [
  // Flags and settings by the names of vLLM.
  ['max_num_seqs', 'scheduler.max_running_requests'], ['max-num-batched-tokens', 'scheduler.batch_max_tokens'], ['gpu_memory_utilization', 'fleet.memory_margin'],
  ['gpu-memory-utilization', 'fleet.memory_margin'], ['max_model_len', 'scheduler.max_request_tokens'], ['context length', 'scheduler.max_request_tokens'], ['tensor parallel', 'fleet.tensor_parallel'],
  ['tp size', 'fleet.tensor_parallel'], ['pipeline parallel', 'fleet.pipeline_parallel'], ['data parallel', 'fleet.data_parallel_size'], ['chunked prefill', 'scheduler.enable_chunked_prefill'],
  ['prefix caching', 'scheduler.prefix_cache'], ['APC', 'scheduler.prefix_cache'], ['block size', 'scheduler.block_size'], ['paged attention', 'scheduler.block_size'],
  ['async scheduling', 'scheduler.async_scheduling'], ['max_loras', 'adapters.max_loras'], ['lora rank', 'workload.adapters.ranks'], ['enable-lora', 'workload.adapters.count'],
  ['quantization', 'fleet.weights'], ['fp8', 'fleet.weights'], ['awq', 'fleet.weights'], ['kv cache dtype', 'fleet.kv_format'], ['cuda graph', 'cost.max_cudagraph_capture_size'],
  // What engines do.
  ['continuous batching', 'batching'], ['in-flight batching', 'batching'], ['batch size', 'Max running requests'], ['preemption', 'scheduler.preemption'], ['swap', 'scheduler.preemption'],
  ['head of line blocking', 'long_prompt'], ['oom', 'graphs'], ['out of memory', 'graphs'], ['kv cache', 'memory'], ['scheduler', 'scheduler.kind'], ['fcfs', 'scheduler.order'], ['priority', 'scheduler.order'],
  // SGLang.
  ['sglang', 'sglang'], ['radix attention', 'sglang'], ['radix cache', 'sglang'], ['lpm', 'scheduler.schedule_policy'], ['retraction', 'scheduler.retraction_policy'], ['new token ratio', 'scheduler.schedule_conservativeness'],
  ['mem_fraction_static', 'fleet.memory_margin'], ['schedule conservativeness', 'scheduler.schedule_conservativeness'], ['chunked-prefill-size', 'scheduler.chunked_prefill_size'],
  // Traffic.
  ['qps', 'workload.rate_rps'], ['requests per second', 'workload.rate_rps'], ['burst', 'workload.arrivals.cv'], ['poisson', 'workload.arrivals.kind'], ['zipf', 'workload.adapters.zipf_s'],
  ['concurrency', 'gateway.concurrency'], ['multi-turn', 'workload.sessions.kind'], ['agent', 'agents'], ['agent', 'will_host_cache'], ['agent', 'will_router'], ['cpu tier', 'will_host_cache'], ['agent router', 'will_router'], ['prefix-aware router', 'will_router'], ['cache-aware routing', 'fleet.router'], ['hit rate', 'scheduler.prefix_cache'], ['tool calls', 'agents'], ['rag', 'workload.prefix.kind'], ['system prompt', 'workload.prefix.kind'],
  ['sharegpt', 'azure_groups'], ['prompt length', 'workload.input_tokens.kind'], ['trace', 'source'],
  // What is measured.
  ['ttft', 'slo.ttft_s'], ['itl', 'Inter-token latency (ITL, TBT)'], ['inter-token latency', 'Inter-token latency (ITL, TBT)'], ['tpot', 'slo.tpot_s'], ['p99', 'Percentile (P50, P90, P99)'], ['latency', 'feel'], ['goodput', 'Goodput'], ['sla', 'slo.ttft_s'], ['tokens per second', 'happens'],
  ['confidence interval', 'what-if'],
  // Tenants.
  ['noisy neighbor', 'fairness'], ['multi-tenant', 'monitor'], ['rate limit', 'gateway'], ['429', 'gateway'], ['quota', 'fairness'], ['long context', 'will_long_context'], ['lora slots', 'will_few_slots'], ['which gpu', 'will_gpu'], ['l40s', 'will_gpu'], ['vllm flags', 'will_flags'], ['retry', 'retry_storm'], ['load balancer', 'fleet.router'],
  // Money and hardware.
  ['cost', 'plan'], ['price', 'plan'], ['cost per million tokens', 'plan'], ['how many gpus', 'plan'], ['h100', 'fleet.gpu'], ['b200', 'fleet.gpu'], ['llama', 'fleet.model'], ['deepseek', 'fleet.model'], ['qwen', 'fleet.model'],
  // Questions, and what they are about.
  ['router', 'will_router'], ['routing', 'will_router'], ['which router', 'will_router'], ['router for agents', 'will_router'], ['agentic router', 'will_router'], ['best router', 'will_router'],
  ['spiky itl', 'will_sglang'], ['tp or dp', 'will_ranks'], ['sglang or vllm', 'will_sglang'], ['why is my itl spiky on sglang', 'will_sglang'], ['itl spikes', 'prefill_first'], ['is mtp worth it at my batch?', 'will_drafts'], ['draft tokens', 'drafts'], ['dummy batch', 'ranks'],
  ['which load balancer', 'will_router'], ['cache-aware routing', 'will_router'], ['cpu offload', 'will_host_cache'], ['kv offload', 'will_host_cache'], ['host cache', 'will_host_cache'], ['host memory', 'will_host_cache'],
  ['is a cpu tier worth it', 'will_host_cache'], ['should i use prefix caching?', 'will_prefix_cache'], ['what if', 'what-if'], ['how many gpus', 'plan'], ['my request', 'own'],
  // What is not modelled says so.
  ['speculative decoding', 'speculation'], ['mtp', 'speculation'], ['disaggregated', 'disaggregation'], ['pd disaggregation', 'disaggregation'], ['expert parallel', 'fleet.enable_expert_parallel'], ['eplb', 'fleet.enable_eplb'], ['two-batch overlap', 'expert_balance'], ['resumable', 'streaming-input'], ['autoscaling', 'autoscaling'],
  ['energy', 'clocks'], ['kv offload', 'fleet.host_cache.gib'], ['lmcache', 'lower_tiers'], ['tensorrt', 'other_engines'], ['hicache', 'lower_tiers'], ['dp attention', 'fleet.data_parallel_size'], ['amd', 'fleet.gpu'], ['mi300x', 'fleet.gpu'], ['tpu', 'accelerators'], ['trainium', 'accelerators'], ['structured output', 'contents'], ['vision', 'images'],
];

/** Chinese words. */
const CHINESE: readonly (readonly [string, string])[] = [
  ['路由器', 'will_router'], ['预填充优先', 'will_sglang'], ['哪个 路由器', 'will_router'], ['哪个路由器', 'will_router'], ['负载均衡', 'will_router'], ['主机内存', 'will_host_cache'], ['主机内存 值得吗？', 'will_host_cache'],
  ['KV 卸载', 'will_host_cache'], ['CPU 卸载', 'will_host_cache'], ['智能体', 'agents'], ['编程智能体', 'will_router'],
  ['投机解码 值得吗？', 'will_drafts'], ['空批次', 'ranks'],
];

/** What traffic of agents is called: what simulates it comes before what is not modelled of it. */
const AGENTS: readonly string[] = ['agentic', 'agentic traffic', 'coding agents', 'agents'];

interface Found { kind: string; id: string }

/** The search with its box, once the lessons are among what it finds. */
async function searchOf(page: Page, language: 'en' | 'zh', known: string): Promise<(query: string) => Promise<Found[]>> {
  await open(page, `#v=4&lang=${language}`);
  await page.keyboard.press('/');
  const box = page.locator('search-dialog input');
  await expect(box).toBeVisible();
  await box.fill(known);
  await expect(page.locator('search-dialog [data-found=lesson]').first()).toBeVisible();
  return async (query) => {
    await box.fill(query);
    await frames(page, 1);
    return listed(page);
  };
}

function listed(page: Page): Promise<Found[]> {
  return page.locator('search-dialog [data-id]').evaluateAll((items) => items.map((item) => {
    const { found = '', id = '' } = (item as HTMLElement).dataset;
    return { kind: found, id };
  }));
}

for (const [language, known, words] of [['en', 'burst', WORDS], ['zh', '突发', CHINESE]] as const) {
  test(`words that users type find what they mean (${language})`, async ({ page }) => {
    const search = await searchOf(page, language, known);
    const missed: string[] = [];
    for (const [query, id] of words) {
      const found = (await search(query)).slice(0, 5).map((one) => one.id);
      if (!found.includes(id)) missed.push(`${query}: ${id} is not in ${found.join(', ')}`);
    }
    expect(WORDS.length).toBeGreaterThan(60);
    expect(missed).toEqual([]);
    for (const query of language === 'en' ? AGENTS : []) {
      const kinds = (await search(query)).map(({ kind }) => kind);
      expect(['preset', 'lesson'], query).toContain(kinds.find((kind) => ['preset', 'lesson', 'limit'].includes(kind)));
    }
  });
}

test('what is in the list keeps its place when lessons come late', async ({ page }) => {
  let give = (): void => undefined;
  const given = new Promise<void>((resolve) => { give = resolve; });
  await page.route('**/lessons/index.json', async (route) => {
    await given;
    await route.continue();
  });
  await open(page);
  await page.keyboard.press('/');
  const box = page.locator('search-dialog input');
  await expect(box).toBeVisible();
  await box.fill('agents');
  await frames(page, 2);
  const before = await listed(page);
  expect(before[0]?.kind).toBe('preset');
  await page.keyboard.press('ArrowDown');
  give();
  await expect(page.locator('search-dialog [data-id=agents]')).toBeVisible();
  const after = await listed(page);
  expect(after.slice(0, before.length)).toEqual(before);
  expect(after.slice(before.length)).toEqual([{ kind: 'lesson', id: 'agents' }]);
  await expect(page.locator('search-dialog [aria-selected=true]')).toHaveAttribute('data-id', before[1]?.id ?? '');
  // The next query finds the lesson where it belongs.
  await box.fill('agent');
  await frames(page, 2);
  expect((await listed(page))[0]).toEqual({ kind: 'lesson', id: 'agents' });
});
