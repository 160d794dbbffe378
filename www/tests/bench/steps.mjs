// How long a step of the scheduler debugger takes with the page's module, and what the module's memory is.
//
// node www/tests/bench/steps.mjs 100000
import { readFileSync } from 'node:fs';
import init, { parse_link, Stepper } from '../../pkg/servescope.js';

const requests = Number(process.argv[2] ?? 100_000);
/** What links before version 5 mean: S-LoRA's server with the linear model, which serves about 1.85 requests a second. */
const SERVER = 'v=4';
const RATE = 1.45;
const SCHEDULERS = ['slora', 'vllm_v1', 'sarathi', 'vllm', 'lightllm', 'orca', 'static'];

for (const scheduler of SCHEDULERS) {
  const { memory } = await init({ module_or_path: readFileSync(new URL('../../pkg/servescope_bg.wasm', import.meta.url)) });
  const stepper = new Stepper();
  const begun = performance.now();
  const { scenario } = parse_link(`${SERVER}&R=${String(RATE)}&D=${String(requests / RATE)}`);
  stepper.begin({ ...scenario, 'scheduler.kind': scheduler });
  while (stepper.advance() < 1);
  const { steps: count } = stepper.finish().view;
  const ready_ms = performance.now() - begun;
  const timed = (way, number) => {
    const from = performance.now();
    stepper.go(way, number, '');
    return performance.now() - from;
  };
  const place = (i) => (i * 7919 * 104_729) % count;
  const printed = (name, times) => {
    times.sort((one, other) => one - other);
    console.log(`  ${name}: median ${times[times.length >> 1].toFixed(2)} ms, longest ${times.at(-1).toFixed(2)} ms`);
  };
  console.log(`${scheduler}: ${count} steps, ready after ${ready_ms.toFixed(0)} ms, memory ${(memory.buffer.byteLength / 1e6).toFixed(0)} MB`);
  const [any, forward, back] = [[], [], []];
  for (let i = 1; i < 50; i += 1) {
    any.push(timed('to', Math.max(1, place(i))));
    back.push(timed('by', -1));
    forward.push(timed('by', 1));
  }
  printed('to any place', any);
  printed('one step back', back);
  printed('one step on', forward);
  stepper.free();
}
