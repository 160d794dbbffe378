// What the simulation's thread does. A run goes in slices; between two slices messages are read, so that a newer scenario
// ends an older run at once. Questions about the finished run wait for the run in progress.
import type { Simulator } from '../../pkg/servescope.js';
import type { OperatorTables } from './operator-tables.js';
import { readMessages, Wait } from './pause.js';
import { buffersOf, type FromWorker, type Query, type QueryResult, type SimulatorCall, type ToWorker } from './protocol.js';
import { isCallErrors, messageOf, type ChartData, type ScenarioPatch } from './types.js';

type Run = Extract<ToWorker, { kind: 'run' }>;
type SimulatorMethods = Record<SimulatorCall, (...values: unknown[]) => unknown>;

const PROGRESS_EVERY_MS = 100;
/** Charts out of sight let the page draw the others first. */
const DRAWN_AFTER_MS = 12;

export class Serving {
  #simulator: Simulator | null = null;
  #wanted: Run | null = null;
  #running = false;
  /** The run that is carried out. */
  #current: Run | null = null;
  readonly #rest = new Wait();
  readonly #waiting: { ticket: number; query: Query }[] = [];

  constructor(private readonly post: (message: FromWorker, transfer?: Transferable[]) => void, private readonly tables: OperatorTables) {}

  start(simulator: Simulator): void {
    this.#simulator = simulator;
    void this.#serve(simulator);
  }

  receive(message: Exclude<ToWorker, { kind: 'start' | 'expect' }>): void {
    this.#rest.cut();
    const simulator = this.#simulator;
    if (message.kind === 'run' || message.kind === 'cancel') this.tables.letGo();
    if (message.kind === 'run') {
      this.#wanted = message;
      if (simulator !== null) void this.#serve(simulator);
    } else if (message.kind === 'cancel') {
      const dropped = this.#wanted;
      this.#wanted = null;
      // One that has begun says so itself when it ends.
      if (dropped !== null && dropped !== this.#current) this.post({ kind: 'cancelled', revision: dropped.revision });
    } else if (this.#running || simulator === null) {
      this.#waiting.push(message);
    } else {
      this.#answer(message.ticket, message.query, simulator);
    }
  }

  async #serve(sim: Simulator): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    for (;;) {
      // Between two runs: a trace that was just loaded must be there before the run that asks for it.
      for (const { ticket, query } of this.#waiting.splice(0)) this.#answer(ticket, query, sim);
      const run = this.#wanted;
      if (run === null) break;
      this.#current = run;
      await this.#run(run, sim);
      this.#current = null;
      if (this.#wanted === run) this.#wanted = null;
      else if (this.#wanted === null) this.post({ kind: 'cancelled', revision: run.revision });
    }
    this.#running = false;
  }

  async #run(run: Run, sim: Simulator): Promise<void> {
    try {
      await this.#simulateBoth(run, sim);
    } catch (thrown) {
      if (isCallErrors(thrown)) this.post({ kind: 'failed', revision: run.revision, errors: thrown.errors });
      else this.post({ kind: 'died', message: messageOf(thrown) });
    }
  }

  async #simulateBoth(run: Run, sim: Simulator): Promise<void> {
    if (run.preview !== null) {
      const shown = await this.#simulate(run, run.preview, true, sim);
      if (shown) await readMessages();
    }
    if (this.#wanted === run) await this.#simulate(run, run.scenario, false, sim);
  }

  /** Simulates `scenario`; false when a newer wish or a cancel came between. */
  async #simulate(run: Run, scenario: ScenarioPatch, preview: boolean, sim: Simulator): Promise<boolean> {
    let compute = 0;
    let reported = performance.now();
    const timed = <T>(work: () => T): T => {
      const from = performance.now();
      const value = work();
      compute += performance.now() - from;
      return value;
    };
    const begun = await this.tables.have(() => { timed(() => { sim.begin(scenario); }); }, () => this.#wanted === run);
    if (!begun) return false;
    for (;;) {
      const fraction = timed(() => sim.advance());
      if (fraction >= 1) break;
      await readMessages();
      if (this.#wanted !== run) return false;
      if (!preview && performance.now() - reported > PROGRESS_EVERY_MS) {
        reported = performance.now();
        this.post({ kind: 'progress', revision: run.revision, fraction });
      }
    }
    const { summary, charts, traffic_end_s } = timed(() => sim.finish(run.options));
    const { revision, options } = run;
    const more = !preview && options.in_sight !== null;
    this.post({ kind: 'answer', revision, preview, summary, traffic_end_s, charts, options, more, compute_ms: compute }, buffersOf(charts));
    if (more) await this.#tellOthers(run, sim);
    return true;
  }

  /** The charts out of sight, unless a newer wish makes others of them. */
  async #tellOthers(run: Run, sim: Simulator): Promise<void> {
    await this.#rest.for(DRAWN_AFTER_MS);
    if (this.#wanted !== run && this.#wanted !== null) return;
    const charts = sim.charts(run.options);
    this.post({ kind: 'others', revision: run.revision, charts }, buffersOf(charts));
  }

  #answer(ticket: number, query: Query, sim: Simulator): void {
    try {
      const value = this.#ask(query, sim);
      this.post({ kind: 'reply', ticket, value }, query.kind === 'charts' ? buffersOf(value as ChartData[]) : []);
    } catch (thrown) {
      if (isCallErrors(thrown)) this.post({ kind: 'refused', ticket, errors: thrown.errors });
      else this.post({ kind: 'died', message: messageOf(thrown) });
    }
  }

  #ask(query: Query, sim: Simulator): QueryResult[Query['kind']] {
    switch (query.kind) {
      case 'charts': return sim.charts(query.options);
      case 'request': return sim.request(query.id);
      case 'export': return sim.export(query.what);
      case 'load-trace':
        sim.load_columns(query.name, query.columns);
        return null;
      case 'clear-trace':
        sim.clear_trace();
        return null;
      case 'call': return (sim as unknown as SimulatorMethods)[query.call](...query.values);
    }
  }
}
