// The simulation's thread. A run goes in slices; between two slices messages are read, so that a newer scenario ends
// an older run at once. Questions about the finished run wait for the run in progress.
import engineAddress from '../../pkg/engine_bg.wasm?url';
import init, { Simulator } from '../../pkg/servescope.js';
import { readMessages, Wait } from './pause.js';
import { buffersOf, type EngineCall, type FromWorker, type Query, type QueryResult, type ToWorker } from './protocol.js';
import { failuresOf, isFailures, messageOf, type ChartData, type ScenarioPatch } from './types.js';

type Run = Extract<ToWorker, { kind: 'run' }>;

const PROGRESS_EVERY_MS = 100;
/** Charts out of sight let the page draw the others first. */
const DRAWN_AFTER_MS = 12;
/**
 * A browser compiles anew, and better, what runs often. Short runs are rehearsed for a while, so that the first drag
 * finds it done. The first of all takes ten times as long as the later ones.
 */
const SHORT_MS = 250;
const REHEARSED_MS = 400;
const REHEARSE_AFTER_MS = 150;

let simulator: Simulator | null = null;
/** Whether the simulator is the one with every scheduler. */
let whole = false;
/** Whether the next run is to have it in any case: somebody has asked for what only it knows. */
let enlarge = false;
/** What a larger simulator must be given again. */
let held: Extract<Query, { kind: 'load-trace' }> | null = null;
let wanted: Run | null = null;
let running = false;
/** The last run, if it was a short one over a generated trace. */
let short: Run | null = null;
let rehearsed_ms = 0;
const rest = new Wait();
const waiting: { ticket: number; query: Query }[] = [];

function post(message: FromWorker, transfer: Transferable[] = []): void {
  self.postMessage(message, { transfer });
}

/** Simulates `scenario`; false when a newer wish or a cancel came between. */
async function simulate(run: Run, scenario: ScenarioPatch, preview: boolean, sim: Simulator): Promise<boolean> {
  let compute = 0;
  let told = performance.now();
  const timed = <T>(work: () => T): T => {
    const from = performance.now();
    const value = work();
    compute += performance.now() - from;
    return value;
  };
  timed(() => { sim.begin(scenario); });
  for (;;) {
    const fraction = timed(() => sim.advance());
    if (fraction >= 1) break;
    await readMessages();
    if (wanted !== run) return false;
    if (!preview && performance.now() - told > PROGRESS_EVERY_MS) {
      told = performance.now();
      post({ kind: 'progress', revision: run.revision, fraction });
    }
  }
  const { summary, charts } = timed(() => sim.finish(run.options));
  if (!preview) short = compute < SHORT_MS && held === null ? run : null;
  const { revision, options } = run;
  const more = !preview && options.in_sight !== null;
  post({ kind: 'answer', revision, preview, summary, charts, options, more, compute_ms: compute }, buffersOf(charts));
  if (more) await tellOthers(run, sim);
  return true;
}

/** The charts out of sight, unless a newer wish makes others of them. */
async function tellOthers(run: Run, sim: Simulator): Promise<void> {
  await rest.for(DRAWN_AFTER_MS);
  if (wanted !== run && wanted !== null) return;
  const charts = sim.charts(run.options);
  post({ kind: 'others', revision: run.revision, charts }, buffersOf(charts));
}

/** The simulator with every scheduler, in a module of its own: what most scenarios need is there from the start. */
async function larger(): Promise<Simulator> {
  const { default: start, Simulator: Whole } = await import('../../pkg/engine.js');
  await start({ module_or_path: new URL(engineAddress, import.meta.url) });
  const next = new Whole();
  if (held !== null) next.load_columns(held.name, held.columns);
  simulator?.free();
  simulator = next;
  whole = true;
  rehearsed_ms = 0;
  return next;
}

/** Goes through the last run again, on a simulator of its own, while there is nothing else to do. */
async function rehearse({ revision, scenario, options }: Run, sim: Simulator): Promise<void> {
  await rest.for(REHEARSE_AFTER_MS);
  try {
    const stage = new (sim.constructor as typeof Simulator)();
    while (rehearsed_ms < REHEARSED_MS && wanted === null && waiting.length === 0) {
      const from = performance.now();
      stage.begin(scenario);
      while (stage.advance() < 1);
      stage.finish(options);
      const compute_ms = performance.now() - from;
      rehearsed_ms += compute_ms;
      if (rehearsed_ms >= REHEARSED_MS) post({ kind: 'rehearsed', revision, compute_ms });
      await readMessages();
    }
    stage.free();
  } catch {
    // It needs what only the page's own simulator holds, a loaded profile say.
    short = null;
  }
}

async function serve(first: Simulator): Promise<void> {
  if (running) return;
  running = true;
  let sim = first;
  for (;;) {
    // Between two runs: a trace that was just loaded must be there before the run that asks for it.
    for (const { ticket, query } of waiting.splice(0)) answer(ticket, query, sim);
    if (wanted === null) {
      if (short === null || rehearsed_ms >= REHEARSED_MS) break;
      await rehearse(short, sim);
      continue;
    }
    const run: Run = wanted;
    try {
      if (enlarge && !whole) sim = await larger();
      if (run.preview !== null) {
        const shown = await simulate(run, run.preview, true, sim);
        if (shown) await readMessages();
      }
      if (wanted === run) await simulate(run, run.scenario, false, sim);
    } catch (thrown) {
      if (!whole && isFailures(thrown) && thrown.failures.some(({ code }) => code === 'needs_engine')) {
        try {
          sim = await larger();
          continue;
        } catch (missing) {
          post({ kind: 'failed', revision: run.revision, failures: failuresOf(missing) });
        }
      } else if (isFailures(thrown)) post({ kind: 'failed', revision: run.revision, failures: thrown.failures });
      else post({ kind: 'died', message: messageOf(thrown) });
    }
    if (wanted === run) wanted = null;
    else if (wanted === null) post({ kind: 'cancelled', revision: run.revision });
  }
  running = false;
}

function ask(query: Query, sim: Simulator): QueryResult[Query['kind']] {
  switch (query.kind) {
    case 'charts': return sim.charts(query.options);
    case 'request': return sim.request(query.id);
    case 'export': return sim.export(query.what);
    case 'load-trace':
      sim.load_columns(query.name, query.columns);
      held = query;
      return null;
    case 'clear-trace':
      sim.clear_trace();
      held = null;
      return null;
    case 'engine':
      enlarge ||= query.call === 'monitor';
      return (sim as unknown as Partial<Record<EngineCall, (...values: unknown[]) => unknown>>)[query.call]?.(...query.values) ?? null;
  }
}

function answer(ticket: number, query: Query, sim: Simulator): void {
  try {
    const value = ask(query, sim);
    post({ kind: 'reply', ticket, value }, query.kind === 'charts' ? buffersOf(value as ChartData[]) : []);
  } catch (thrown) {
    if (isFailures(thrown)) post({ kind: 'refused', ticket, failures: thrown.failures });
    else post({ kind: 'died', message: messageOf(thrown) });
  }
}

self.onmessage = ({ data }: MessageEvent<ToWorker>) => {
  rest.cut();
  if (data.kind === 'start') {
    init({ module_or_path: data.module }).then(() => {
      simulator = new Simulator();
      void serve(simulator);
    }, (thrown: unknown) => { post({ kind: 'died', message: messageOf(thrown) }); });
  } else if (data.kind === 'run') {
    wanted = data;
    if (simulator !== null) void serve(simulator);
  } else if (data.kind === 'cancel') {
    wanted = null;
  } else if (running || simulator === null) {
    waiting.push(data);
  } else {
    answer(data.ticket, data.query, simulator);
  }
};
