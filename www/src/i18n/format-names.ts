// Formats of trace files as their tools are called. The short names are for commands and files.
const NAMES: Readonly<Record<string, string>> = {
  servescope: 'Servescope', servescope_jsonl: 'Servescope (JSON Lines)', vidur: 'Vidur', azure: 'Azure', burstgpt: 'BurstGPT', servegen: 'ServeGen',
  servegen_lengths: 'ServeGen (lengths)', vidur_lengths: 'Vidur (lengths)', agent_sessions: 'agent sessions', aibrix: 'AIBrix', bailian: 'Bailian',
  wildchat: 'WildChat', aiperf: 'AIPerf', timed_trace: 'timed trace', inference_perf: 'inference-perf', mooncake: 'Mooncake', vllm_custom: 'vLLM custom', llmservingsim: 'LLMServingSim',
  otel: 'OpenTelemetry', sharegpt: 'ShareGPT', openai_batch: 'OpenAI batch', csv: 'CSV', jsonl: 'JSON Lines',
};

/** The name in prose; a dash where the requests are of no file. */
export function formatName(format: string): string {
  return format === '' ? '–' : NAMES[format] ?? format;
}
