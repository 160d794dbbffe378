// What the page knows of the capacity search: the newest scenario's answer, as far as it has come.
import type { App } from '../app/app.js';
import { whenIdle } from '../app/folded.js';
import type { ChartFeed } from '../draw/chart-feed.js';
import { Cancelled, Refusal } from '../simulation/worker-link.js';
import type { Capacity, CapacityChecked, CapacityEntry, CapacityStanding, ChartData, Diagnostic, ScenarioPatch } from '../simulation/types.js';
import { ownProfile } from '../app/own-profile.js';
import { chartMap, type Tab } from '../state/session.js';
import { sameValues, type Values } from '../simulation/values.js';
import { Topic } from '../lib/topic.js';
import { inputsOf } from '../pool/shared-pool.js';
import type { Inputs } from '../simulation/inputs.js';
import type { Found } from '../pool/capacity-calls.js';
import { gridToBeginWith } from '../simulation/module.js';
import { CapacityTasks } from './capacity-tasks.js';
import { capacity } from '../i18n/en/capacity.js';

/** A drag moves on before a search is worth its while. */
const SETTLE_MS = 120;
/** How often a grid under way is ranked anew. */
const RANK_EVERY_MS = 250;

export interface Row {
  place: number;
  values: readonly string[];
  scenario: ScenarioPatch;
  capacity: Capacity | null;
  /** The terminal's words for it. */
  described: Found['described'];
  charts: readonly ChartData[];
  errors: readonly Diagnostic[];
  standing: CapacityStanding | null;
  /** What was simulated at the load, in the order in which it was. */
  checks: readonly CapacityChecked[];
}

export interface Answer {
  state: 'running' | 'ready' | 'failed' | 'stopped';
  axes: readonly string[];
  /** Those of the ranking as CSV. */
  columns: readonly string[];
  /** In the order of the ranking, as far as it is known. */
  rows: readonly Row[];
  done: number;
  /** 0..1 of all configurations together. */
  progress: number;
  errors: readonly Diagnostic[];
  /** Axes without effect. */
  notes: readonly Diagnostic[];
}

const GRID = 'capacity.grid';
const NOTHING: Answer = { state: 'running', axes: [], columns: [], rows: [], done: 0, progress: 0, errors: [], notes: [] };

export class CapacityState {
  readonly answer = new Topic<Answer>(NOTHING);
  /** The configuration whose curve is shown: the best one where none was chosen. */
  readonly chosen = new Topic<number | null>(null);
  readonly charts = new Topic<ReadonlyMap<string, ChartData>>(new Map());
  readonly feed: ChartFeed;
  readonly #tasks = new CapacityTasks();
  #settling: ReturnType<typeof setTimeout> | undefined;
  #ranking: ReturnType<typeof setTimeout> | undefined;
  #stale = true;
  #turn = 0;
  /** Settings that the ranking is of: those of the search, and those taken from its rows. */
  #ranked: Values[] = [];
  #taking = false;
  #fronts: readonly ChartData[] = [];
  /** The GPUs to begin with, for the settings that they were asked for. */
  #current: { values: Values; grid: string } | null = null;

  constructor(readonly app: App) {
    this.feed = {
      topic: () => this.charts,
      zooms: false,
      of: 'traffic',
      chart: (name) => this.charts.value.get(name),
      ghost: () => null,
      title: (name) => this.#word(this.charts.value.get(name)?.x.unit === 'GPU s' ? `chart.${name}.gpu` : `chart.${name}`),
      about: (name) => this.#word(`chart.${name}.about`),
      role: (chart, role) => {
        const own = `role.${chart}.${role}`;
        return app.text.find(capacity, own) ?? app.text.named('role.', role);
      },
    };
    app.store.values.subscribe(() => {
      const { value } = app.store.values;
      if (this.#taking) this.#ranked.push(value);
      else if (!this.#ranked.some((values) => sameValues(values, value))) this.#changed();
    });
    app.traceFile.info.subscribe(() => { this.#changed(); });
    ownProfile.subscribe(() => { this.#changed(); });
    app.view.subscribe(() => { this.#goOn(); });
    this.chosen.subscribe(() => { this.#draw(); });
    this.#changed();
  }

  #word(key: string): string {
    return this.app.text.find(capacity, key) ?? key;
  }

  /** What was found is of other settings from now on: it goes at once, not when the next search begins. */
  #changed(): void {
    this.#stale = true;
    this.#ranked = [];
    this.#letGo();
    this.chosen.set(null);
    this.answer.set(NOTHING);
    this.#goOn();
  }

  /** Takes over settings of a row, which the ranking then is of too; the Back button leads back. */
  take(row: Row, values: ScenarioPatch, tab: Tab): void {
    const { app } = this;
    this.#taking = true;
    app.adopt({ ...values, [GRID]: this.#ownGrid }, tab);
    this.#taking = false;
    this.chosen.set(row.place);
  }

  /** Ends the search under way; none of its answers comes any more. */
  #letGo(): void {
    this.#turn += 1;
    this.#tasks.stop();
    clearTimeout(this.#settling);
    clearTimeout(this.#ranking);
    this.#ranking = undefined;
  }

  #goOn(): void {
    if (!this.#stale || this.app.view.value.tab !== 'plan') return;
    clearTimeout(this.#settling);
    const turn = this.#turn;
    this.#settling = setTimeout(() => {
      // A comparison that was not asked for waits until the page has nothing else to do.
      if (this.isChosen) void this.search();
      else whenIdle(() => { if (turn === this.#turn) void this.search(); });
    }, SETTLE_MS);
  }

  /** Whether the scenario has a grid of its own. */
  get isChosen(): boolean {
    return this.#ownGrid !== '';
  }

  /** What is compared: the scenario's grid, or what a comparison begins with where it has none. */
  get grid(): string {
    return this.isChosen ? this.#ownGrid : this.usualGrid;
  }

  /** What a comparison begins with, as a grid: splits of the fleet, or GPUs; empty where there is nothing to compare. */
  get usualGrid(): string {
    const { value } = this.app.store.values;
    if (this.#current?.values !== value) this.#current = { values: value, grid: gridToBeginWith(value) ?? '' };
    return this.#current.grid;
  }

  /** The scenario whose configurations are searched. */
  get searched(): Values {
    return { ...this.app.store.values.value, [GRID]: this.grid };
  }

  get #ownGrid(): string {
    return String(this.app.store.values.value[GRID] ?? '');
  }

  /** Stops where it is; what was found stays. */
  stop(): void {
    this.#letGo();
    this.answer.update({ state: 'stopped' });
  }

  async search(): Promise<void> {
    this.#stale = false;
    this.#letGo();
    const turn = this.#turn;
    this.#ranked = [this.app.store.values.value];
    try {
      const { axes, columns, notes, configurations } = await this.#tasks.grid(this.searched);
      const inputs = await inputsOf(this.app);
      if (turn !== this.#turn) return;
      const rows = configurations.map(({ values, scenario }, place): Row => ({
        place, values, scenario, capacity: null, described: { priced: '', unpriced: '', binding: '' }, charts: [], errors: [], standing: null, checks: [],
      }));
      this.chosen.set(null);
      this.answer.set({ ...NOTHING, axes, columns, notes, rows });
      await this.#searchAll(turn, rows, inputs);
    } catch (thrown) {
      if (thrown instanceof Cancelled) return;
      if (!(thrown instanceof Refusal)) throw thrown;
      if (turn === this.#turn) this.answer.set({ ...NOTHING, state: 'failed', errors: thrown.errors });
    }
  }

  async #searchAll(turn: number, rows: Row[], inputs: Inputs): Promise<void> {
    const shares = rows.map(() => 0);
    let done = 0;
    const reported = (): void => {
      this.answer.update({ done, progress: shares.reduce((sum, share) => sum + share, 0) / rows.length });
    };
    const over = await this.#tasks.search(rows.map(({ scenario }) => scenario), inputs, {
      progress: (place, fraction) => {
        shares[place] = fraction;
        reported();
      },
      found: (place, result) => {
        const row = rows[place];
        if (row === undefined) return;
        if ('capacity' in result) Object.assign(row, result);
        else row.errors = result;
        shares[place] = 1;
        done += 1;
        reported();
        this.#ranking ??= setTimeout(() => { void this.#rank(turn, rows); }, RANK_EVERY_MS);
      },
    });
    if (!over) return;
    clearTimeout(this.#ranking);
    await this.#rank(turn, rows);
    while (turn === this.#turn && await this.#check(turn, rows, inputs)) await this.#rank(turn, rows);
    if (turn === this.#turn) this.answer.update({ state: 'ready' });
  }

  /** Simulates those that the ranking asks for at the load; whether there were some. */
  async #check(turn: number, rows: readonly Row[], inputs: Inputs): Promise<boolean> {
    const next = this.answer.value.rows.flatMap(({ place, scenario, standing, capacity }) => {
      const replicas = standing?.need?.replicas;
      return standing?.is_next === true && replicas !== undefined
        ? [{ place, scenario, replicas, requests: capacity?.measures?.requests ?? 0, missed: capacity?.missed_rps ?? null }] : [];
    });
    await this.#tasks.check(next, inputs, (place, result) => {
      const row = rows[place];
      if (turn !== this.#turn || row === undefined) return;
      if ('miss' in result) row.checks = [...row.checks, result];
      else row.errors = result;
    });
    return next.length > 0;
  }

  /** Puts what was found so far in order. */
  async #rank(turn: number, rows: readonly Row[]): Promise<void> {
    this.#ranking = undefined;
    const { standings, charts } = await this.#tasks.standings(rows.map((row) => entryOf(row, this.answer.value.axes)));
    if (turn !== this.#turn) return;
    const ranked = standings.flatMap((standing) => {
      const row = rows[standing.place];
      return row === undefined ? [] : [{ ...row, standing }];
    });
    this.#fronts = charts;
    this.answer.update({ rows: ranked });
    this.#draw();
  }

  /** The row whose curve is shown. */
  get shown(): Row | undefined {
    const { rows } = this.answer.value;
    return rows.find(({ place }) => place === this.chosen.value) ?? rows[0];
  }

  #draw(): void {
    this.charts.set(chartMap([...(this.shown?.charts ?? []), ...this.#fronts]));
    this.app.scheduler.invalidateAll();
  }
}

/** The simulation with the replicas that the load needs. */
export function checkOf({ checks, standing }: Row): CapacityChecked | null {
  const last = checks.at(-1);
  return last?.replicas === standing?.need?.replicas ? last ?? null : null;
}

/** What serves the load, as it was simulated: opened in Explore, it is the run with the digest of the check. */
export function chosenOf(row: Row): ScenarioPatch {
  const scenario = Object.fromEntries(Object.entries(row.scenario).filter(([id]) => id !== GRID));
  const check = checkOf(row);
  return { ...scenario, ...plannedReplicas(row), ...(check === null ? {} : { 'workload.duration_s': check.duration_s }) };
}

/** The larger of the expected errors of TTFT and TPOT. */
export function larger(error: Capacity['expected_error']): number | null {
  return error === null ? null : Math.max(error.ttft, error.tpot);
}

/** The replicas that the load needs; nothing of a fleet that is taken as it is. */
export function plannedReplicas({ capacity, standing }: Row): ScenarioPatch {
  const replicas = standing?.need?.replicas;
  return replicas === undefined || capacity?.price.is_fixed === true ? {} : { 'fleet.replicas': replicas };
}

/** Configurations of one workload are compared with each other. */
function entryOf({ capacity, checks, errors, values }: Row, axes: readonly string[]): CapacityEntry {
  const workload = values.filter((_, place) => axes[place]?.startsWith('workload.') === true);
  const [ttft_s = null, tbt_s = null] = capacity?.measures?.quantile_s ?? [];
  const { gpus = 0, replicas = 0, is_fixed = false, gpu = '', usd_per_gpu_hour = null } = capacity?.price ?? {};
  const simulated = checks.map(({ replicas: of, miss }) => ({ replicas: of, holds: miss === null }));
  const tried = capacity !== null && errors.length > 0 ? [...simulated, { replicas: 0, holds: null }] : simulated;
  return {
    workload, rate_rps: capacity?.rate_rps ?? null, load_rps: capacity?.load_rps ?? 0, gpus, replicas, is_fixed, gpu, usd_per_gpu_hour,
    tokens_per_request: capacity?.measures?.tokens_per_request ?? null, error: larger(capacity?.expected_error ?? null), ttft_s, tbt_s, tried,
  };
}
