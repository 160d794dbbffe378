// Runs in the page: where the time of a run goes, and how long its prompts are.

const AXES = { columns: 600, window: null, split_by: 'adapter' };

/** The operator table that a scenario asks for is fetched, as the page's thread does. */
async function begin(simulator, scenario, take) {
  for (;;) {
    try {
      simulator.begin(scenario);
      return;
    } catch (thrown) {
      const file = thrown.errors?.find(({ code }) => code === 'needs_table')?.params.file;
      if (file === undefined) throw thrown;
      take(file, await (await fetch(`/profiles/${file}.txt`)).text());
    }
  }
}

/** @param {{ scenario: object, repeats: number }} options `scenario`: as the page gives it to its thread. */
export async function measureParts({ scenario, repeats }) {
  const { default: init, Simulator, take_table } = await import('/pkg/servescope.js');
  await init();
  const simulator = new Simulator();
  const rounds = [];
  for (let repeat = 0; repeat <= repeats; repeat += 1) {
    const times = {};
    const timed = (name, work) => {
      const from = performance.now();
      const value = work();
      times[name] = performance.now() - from;
      return value;
    };
    // The first one fetches what is missing, and warms the compiler up.
    if (repeat === 0) await begin(simulator, scenario, take_table);
    timed('generate', () => { simulator.begin(scenario); });
    timed('simulate', () => { while (simulator.advance() < 1); });
    timed('summary', () => simulator.finish({ ...AXES, in_sight: [] }));
    timed('charts', () => simulator.charts({ ...AXES, in_sight: [] }));
    if (repeat > 0) rounds.push(times);
  }
  const [head, ...rows] = simulator.export('requests.csv').trim().split('\n').map((line) => line.split(','));
  simulator.free();
  const column = (name) => rows.map((row) => Number(row[head.indexOf(name)]));
  const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
  const prompts = column('input_tokens');
  return {
    rounds, prompts, outputs: column('output_tokens'),
    cached: sum(column('cached_tokens')) / sum(prompts), from_host: sum(column('host_tokens')) / sum(prompts),
  };
}
