// Runs in the page: how many requests a second the module makes and simulates, near 0.8 of what the server can take.

/** What links before version 5 mean: S-LoRA's server with the linear model, which serves about 1.85 requests a second. */
const SERVER = 'v=4';
const RATE = 1.5;

/** @param {{ requests: number, repeats: number }} options */
export async function measureEngine({ requests, repeats }) {
  const { default: init, parse_link, Simulator } = await import('/pkg/servescope.js');
  await init();
  const simulator = new Simulator();
  const { scenario } = parse_link(`${SERVER}&R=${String(RATE)}&D=${String(requests / RATE)}`);
  const generated = [];
  const simulated = [];
  for (let repeat = 0; repeat <= repeats; repeat += 1) {
    const start = performance.now();
    simulator.begin(scenario);
    const made = performance.now();
    while (simulator.advance() < 1);
    const done = performance.now();
    // The first one warms the compiler up.
    if (repeat === 0) continue;
    generated.push(made - start);
    simulated.push(done - made);
  }
  const { summary } = simulator.finish({ columns: 600, window: null, split_by: 'adapter', in_sight: [] });
  simulator.free();
  const middle = (times) => times.sort((one, other) => one - other)[Math.floor(times.length / 2)];
  const per_second = (times) => (summary.requests.offered / Math.max(middle(times), 0.05)) * 1000;
  return { requests: summary.requests.offered, generate_rps: per_second(generated), simulate_rps: per_second(simulated), gpu_busy: summary.gpu.busy };
}
