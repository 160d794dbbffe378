// The headline numbers and the curves of the shown answer over further seeds: run in idle time of the pool, one after another, and let go as
// soon as anything else runs. Where the answer that changes are measured against lacks a seed, it is run too,
// so that the change can be judged seed by seed.
import type { App } from '../app/app.js';
import type { Given } from '../pool/worker-pool.js';
import { ownProfile } from '../app/own-profile.js';
import { seedBands, seedRanges, seedSpans } from '../simulation/module.js';
import type { ChartData, FittedProfile, SeedRange, SeedRun, SeedSpans, SourceInfo, Summary } from '../simulation/types.js';
import { Cancelled, Refusal } from '../simulation/worker-link.js';
import { due, DueNow } from '../lib/due.js';
import { chartMap } from '../state/session.js';
import type { Values } from '../simulation/values.js';
import { partsOf, Topic } from '../lib/topic.js';
import { METRICS } from './metrics.js';
import { part, unreached } from '../lib/part.js';

/** A drag goes on before this. */
const IDLE_MS = 400;
/** Beside the answer's own seed. */
const FURTHER_SEEDS = 7;
/** What is not done by then is left out. */
const BUDGET_MS = 2000;

export interface SeedAnswer {
  /** `alone`: no further seed could be run, or not within the time. */
  state: 'off' | 'waiting' | 'running' | 'done' | 'alone';
  /** How many there are, the answer's own among them. */
  seeds: number;
  ranges: Readonly<Record<string, SeedRange>> | null;
  /** Whether the answer that changes are measured against had requests at another rate. */
  hasOtherRate: boolean;
}

/** What sets the rate of requests. */
const RATES = ['workload.rate_rps', 'workload.trace.rate_scale', 'workload.trace.time_scale'] as const;

const WAITING: SeedAnswer = { state: 'waiting', seeds: 1, ranges: null, hasOtherRate: false };
const OFF: SeedAnswer = { ...WAITING, state: 'off' };
const NO_BANDS: ReadonlyMap<string, ChartData> = new Map();
const ALONE: SeedAnswer = { ...WAITING, state: 'alone' };

/** The runs of one setting by seed, with their curves on these axes; the answer's own curves are those of its charts. */
interface Runs { values: Values; info: SourceInfo | null; profile: FittedProfile | null; spans: SeedSpans | null; own: number; bySeed: Map<number, SeedRun> }

export class SeedRanges {
  readonly answer: Topic<SeedAnswer>;
  readonly #runs = new WeakMap<Summary, Runs>();
  #given: Given<SeedRun> | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #turn = 0;
  readonly #resting = new DueNow('ranges');

  constructor(readonly app: App) {
    this.answer = new Topic(app.settings.value.seeds ? WAITING : OFF);
    const look = (): void => { this.#look(false); };
    partsOf(app.session, ({ state }) => state, ({ answer }) => answer?.summary, ({ former }) => former?.summary).subscribe(look);
    partsOf(app.settings, ({ seeds }) => seeds).subscribe(look);
    ownProfile.subscribe(look);
    // Other axes of the same answer: its ranges stay.
    partsOf(app.session, ({ answer }) => answer?.charts).subscribe(() => { if (this.answer.value.state === 'done') this.#look(true); });
    document.addEventListener('visibilitychange', () => { if (this.answer.value.state === 'waiting') this.#look(false); });
    look();
  }

  /** Nothing of it is under way or about to be. */
  get isOver(): boolean {
    return !['waiting', 'running'].includes(this.answer.value.state);
  }

  #look(keepsRanges: boolean): void {
    this.#turn += 1;
    clearTimeout(this.#timer);
    this.#resting.set(false);
    this.#given?.cancel();
    this.#given = null;
    const { seeds } = this.app.settings.value;
    if (!keepsRanges) this.#tell(seeds ? WAITING : OFF);
    const summary = this.#settled;
    if (summary === null) return;
    this.#keep(summary);
    if (!seeds) return;
    this.#resting.set(true);
    this.#timer = setTimeout(() => {
      this.#resting.set(false);
      if (this.#settled !== null) void due.during('ranges', () => this.#run());
    }, IDLE_MS);
  }

  /** Bands are shown with ranges, and are removed with them. */
  #tell(answer: SeedAnswer, bands = NO_BANDS): void {
    this.answer.set(answer);
    if (this.app.bands.value === bands) return;
    const names = new Set([...this.app.bands.value.keys(), ...bands.keys()]);
    this.app.bands.set(bands);
    this.app.scheduler.invalidateNamed(names);
  }

  /** The answer, where it is that of the settings in the controls and nothing runs. */
  get #settled(): Summary | null {
    const { state, answer } = this.app.session.value;
    const isStill = state === 'ready' && answer?.preview === false && this.app.belonging.agrees && document.visibilityState === 'visible';
    return isStill ? answer.summary : null;
  }

  #keep(summary: Summary): void {
    if (this.#runs.has(summary)) return;
    const own = Object.fromEntries(METRICS.map((metric) => [metric.id, metric.of(summary)]));
    this.#runs.set(summary, { values: this.app.store.values.value, info: this.app.traceFile.info.value, profile: ownProfile.value, spans: null, own: this.#seed, bySeed: new Map([[this.#seed, { headline: own, curves: [] }]]) });
  }

  get #seed(): number {
    return Number(this.app.store.resolved.values['seed']);
  }

  async #run(): Promise<void> {
    const turn = this.#turn;
    const { answer, former } = this.app.session.value;
    const runs = answer === null ? undefined : this.#runs.get(answer.summary);
    if (runs === undefined) return;
    if (answer !== null) onAxes(runs, seedSpans([...answer.charts.values()]));
    const before = former === null ? undefined : this.#runs.get(former.summary);
    const both = before === undefined || before === runs || before.info !== runs.info || before.profile !== runs.profile ? [runs] : [runs, before];
    const seeds = Array.from({ length: FURTHER_SEEDS + 1 }, (_, place) => this.#seed + place);
    if (this.answer.value.state !== 'done') this.#tell({ ...WAITING, state: 'running' });
    const until = performance.now() + BUDGET_MS;
    const tooLong = setTimeout(() => { if (turn === this.#turn && performance.now() >= until) this.#given?.cancel(); }, BUDGET_MS);
    try {
      await this.#simulate(both, seeds, () => turn === this.#turn && performance.now() < until);
    } catch (thrown) {
      if (!(thrown instanceof Cancelled || thrown instanceof Refusal)) {
        if (turn === this.#turn) this.#tell(ALONE);
        throw thrown;
      }
    } finally {
      clearTimeout(tooLong);
    }
    if (turn !== this.#turn || answer === null) return;
    const of = ({ bySeed }: Runs): SeedRun[] => seeds.flatMap((seed) => bySeed.get(seed) ?? []);
    const numbers = ({ bySeed }: Runs): (SeedRun['headline'] | null)[] => seeds.map((seed) => bySeed.get(seed)?.headline ?? null);
    const { length: count } = of(runs);
    if (count < 2) {
      this.#tell(ALONE);
      return;
    }
    const curves = of(runs).map((run) => run.curves).filter((run) => run.length > 0);
    const bands = runs.spans === null ? [] : seedBands([...answer.charts.values()], curves);
    const hasOtherRate = before !== undefined && RATES.some((id) => before.values[id] !== runs.values[id]);
    this.#tell({ state: 'done', seeds: count, hasOtherRate, ranges: seedRanges(numbers(runs), both[1] === undefined ? [] : numbers(both[1])) }, chartMap(bands));
  }

  /** Seed by seed, so that what the time allows is in pairs. */
  async #simulate(settings: readonly Runs[], seeds: readonly number[], isWanted: () => boolean): Promise<void> {
    const pool = await part(() => import('../pool/shared-pool.js')).catch(unreached);
    if (pool === null) return;
    const inputs = await pool.inputsOf(this.app);
    for (const seed of seeds) {
      for (const { values, spans, bySeed } of settings) {
        if (bySeed.has(seed)) continue;
        if (!isWanted()) return;
        this.#given = pool.sharedPool().give({ kind: 'seed', scenario: values, seed, spans }, { priority: 'idle', inputs });
        bySeed.set(seed, await this.#given.done);
      }
    }
  }
}

/** On other axes than before, the further seeds have no curves yet. */
function onAxes(runs: Runs, spans: SeedSpans | null): void {
  if (JSON.stringify(runs.spans) === JSON.stringify(spans)) return;
  runs.spans = spans;
  for (const seed of [...runs.bySeed.keys()]) if (seed !== runs.own) runs.bySeed.delete(seed);
}

const RANGES = new WeakMap<App, SeedRanges>();

/** The page's one. */
export function seedRangesOf(app: App): SeedRanges {
  const known = RANGES.get(app) ?? new SeedRanges(app);
  RANGES.set(app, known);
  return known;
}
