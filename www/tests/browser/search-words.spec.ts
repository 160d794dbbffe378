// Words that users of this field type: each finds what it means here among the first five, or that it is not modelled and what to do instead.
import { expect, open, test } from './page.js';

/** What is typed, and what has to be among the first five. */
const WORDS: readonly (readonly [string, string])[] = [
  // Flags and settings by the names of vLLM.
  ['max_num_seqs', 'scheduler.max_running_requests'], ['max-num-batched-tokens', 'scheduler.batch_max_tokens'], ['gpu_memory_utilization', 'fleet.memory_margin'],
  ['gpu-memory-utilization', 'fleet.memory_margin'], ['max_model_len', 'scheduler.max_request_tokens'], ['context length', 'scheduler.max_request_tokens'], ['tensor parallel', 'fleet.tensor_parallel'],
  ['tp size', 'fleet.tensor_parallel'], ['pipeline parallel', 'fleet.pipeline_parallel'], ['data parallel', 'fleet.replicas'], ['chunked prefill', 'scheduler.enable_chunked_prefill'],
  ['prefix caching', 'scheduler.prefix_cache'], ['APC', 'scheduler.prefix_cache'], ['block size', 'scheduler.block_size'], ['paged attention', 'scheduler.block_size'],
  ['async scheduling', 'scheduler.async_scheduling'], ['max_loras', 'adapters.max_loras'], ['lora rank', 'workload.adapters.ranks'], ['enable-lora', 'workload.adapters.count'],
  ['quantization', 'fleet.weights'], ['fp8', 'fleet.weights'], ['awq', 'fleet.weights'], ['kv cache dtype', 'fleet.kv_format'], ['cuda graph', 'cost.max_cudagraph_capture_size'],
  // What engines do.
  ['continuous batching', 'batching'], ['in-flight batching', 'batching'], ['batch size', 'Max running requests'], ['preemption', 'scheduler.preemption'], ['swap', 'scheduler.preemption'],
  ['head of line blocking', 'long_prompt'], ['oom', 'graphs'], ['out of memory', 'graphs'], ['kv cache', 'memory'], ['scheduler', 'scheduler.kind'], ['fcfs', 'scheduler.order'], ['priority', 'scheduler.order'],
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
  // What is not modelled says so.
  ['speculative decoding', 'speculation'], ['mtp', 'speculation'], ['disaggregated', 'disaggregation'], ['pd disaggregation', 'disaggregation'], ['expert parallel', 'expert_parallel'], ['autoscaling', 'autoscaling'],
  ['energy', 'clocks'], ['kv offload', 'fleet.host_cache.gib'], ['lmcache', 'lower_tiers'], ['sglang', 'other_engines'], ['amd', 'fleet.gpu'], ['mi300x', 'fleet.gpu'], ['tpu', 'accelerators'], ['trainium', 'accelerators'], ['structured output', 'contents'], ['vision', 'images'],
];

test('words that users type find what they mean', async ({ page }) => {
  await open(page, '#v=4');
  await page.keyboard.press('/');
  const box = page.getByRole('combobox', { name: 'Search the page and the documentation' });
  await expect(box).toBeVisible();
  await box.fill('burst');
  await expect(page.locator('search-dialog [data-found=lesson]').first()).toBeVisible();
  const missed: string[] = [];
  for (const [query, id] of WORDS) {
    await box.fill(query);
    await page.evaluate(() => new Promise(requestAnimationFrame));
    const found = await page.locator('search-dialog [data-id]').evaluateAll((items) => items.slice(0, 5).map((item) => (item as HTMLElement).dataset['id'] ?? ''));
    if (!found.includes(id)) missed.push(`${query}: ${id} is not in ${found.join(', ')}`);
  }
  expect(WORDS.length).toBeGreaterThan(60);
  expect(missed).toEqual([]);
});
