// What is shown of the measured deployments: the rows that pass the filter, the one that is looked at, and the charts of both.
import type { App } from '../app/app.js';
import type { ChartFeed } from '../draw/chart-feed.js';
import type { ReadOut } from '../draw/read-out.js';
import { measured as texts } from '../i18n/en/measured.js';
import { relativeErrors } from '../simulation/module.js';
import { messageOf, type ChartData } from '../simulation/types.js';
import { Topic } from '../lib/topic.js';
import { signedError } from '../measured-run/errors.js';
import { answeredOf, errorTable, fetchDeployments, FIRST, halfOf, HALVES, passes, ROLES, rowsOf, scatter, type File, type Filter, type Group, type Deployment, type Measure, type Row, type Workers } from './deployments.js';

export interface Shown {
  filter: Filter;
  /** Rows that pass the filter, and of these the answered ones in the order in which they are leafed through. */
  passed: readonly Row[]; answered: readonly Row[]; table: readonly Group[];
  picked: Row | null;
}

const NOTHING: Shown = { filter: FIRST, passed: [], answered: [], table: [], picked: null };
const MEASURES: readonly Measure[] = ['ttft', 'tpot'];

export class DeploymentsState {
  readonly file = new Topic<File | null>(null);
  readonly failure = new Topic('');
  readonly shown = new Topic<Shown>(NOTHING);
  readonly charts = new Topic<ReadonlyMap<string, ChartData>>(new Map());
  readonly feed: ChartFeed;
  rows: readonly Row[] = [];

  constructor(readonly app: App) {
    const say = (key: string): string => app.text.find(texts, key) ?? key;
    this.feed = {
      topic: () => this.charts,
      zooms: false,
      chart: (name) => this.charts.value.get(name),
      ghost: () => null,
      title: (name) => say(`chart.${name}`),
      about: () => say('chart.about'),
      role: (_chart, role) => say(`role.${HALVES.find((half) => ROLES[half] === role) ?? role}`),
      xName: () => say('axis.x'),
      yName: () => say('axis.y'),
      point: (chart, id) => this.#readOut(chart, id),
      pick: (_chart, id) => { this.pick(this.rows.find((row) => row.id === id) ?? null); },
      empty: say,
    };
    void this.#read();
  }

  choose(change: Partial<Filter>): void {
    const filter = { ...this.shown.value.filter, ...change };
    const passed = this.rows.filter((row) => passes(filter, row));
    const answered = answeredOf(passed);
    const { picked } = this.shown.value;
    this.shown.set({ filter, passed, answered, table: errorTable(passed, filter, relativeErrors), picked: picked !== null && answered.includes(picked) ? picked : null });
    this.#draw();
  }

  pick(picked: Row | null): void {
    this.shown.update({ picked });
    this.#draw();
  }

  /** To the deployment that lies this many further; the first or the last where none is picked. */
  leaf(by: number): void {
    const { answered, picked } = this.shown.value;
    const place = picked === null ? (by > 0 ? -1 : answered.length) : answered.indexOf(picked);
    this.pick(answered[(place + by + answered.length) % answered.length] ?? null);
  }

  /** A deployment in words. */
  nameOf({ deployment, in_flight }: Row): string {
    const { format } = this.app.text;
    const { model, gpu, backend, version, input_tokens, output_tokens, workers } = deployment;
    const gpus = workers === null ? gpusOf(gpu, deployment) : this.app.text.say(texts)('workers', {
      prefill: `${workers[0].count === null ? '?' : format.whole(workers[0].count)} × ${gpusOf(gpu, workers[0])}`,
      decode: `${workers[1].count === null ? '?' : format.whole(workers[1].count)} × ${gpusOf(gpu, workers[1])}`,
    });
    const flight = in_flight === null ? '' : `, ${this.app.text.say(texts)('in_flight', { in_flight: format.whole(in_flight) })}`;
    const tokens = this.app.text.say(texts)('tokens', { input: format.whole(input_tokens), output: format.whole(output_tokens) });
    return `${model}${deployment.format === '' ? '' : ` ${deployment.format}`}, ${gpus}, ${this.backendName(backend)} ${version}, ${tokens}${flight}`;
  }

  backendName(backend: string): string {
    return BACKENDS[backend] ?? backend;
  }

  #readOut(chart: string, id: number): ReadOut {
    const row = this.rows.find((other) => other.id === id);
    const measure = MEASURES.find((one) => chart.endsWith(one));
    if (row === undefined || measure === undefined) return { at: '', rows: [] };
    const { format } = this.app.text;
    const say = this.app.text.say(texts);
    const measured = row.measured[measure];
    const beside = (value: number): string => `${format.seconds(value)} (${signedError(format, value / measured - 1)})`;
    const { own, aiconfigurator } = row;
    return {
      at: this.nameOf(row),
      rows: [
        { role: 'expected', label: say('measured'), value: format.seconds(measured) },
        ...(own === null ? [] : [{ role: ROLES[halfOf(row)], label: say('own'), value: beside(own[measure]) }]),
        ...(aiconfigurator === null ? [] : [{ role: 'host', label: say('aiconfigurator'), value: beside(aiconfigurator[measure]) }]),
      ],
    };
  }

  async #read(): Promise<void> {
    try {
      const file = await fetchDeployments();
      this.rows = rowsOf(file);
      this.file.set(file);
      this.choose({});
    } catch (thrown) {
      this.failure.set(messageOf(thrown));
    }
  }

  #draw(): void {
    const { answered, picked } = this.shown.value;
    this.charts.set(new Map(MEASURES.map((measure) => [`deployments_${measure}`, scatter(measure, answered, picked)])));
    this.app.scheduler.invalidateAll();
  }
}

/** The GPUs of one server, and how the model lies on them. */
function gpusOf(gpu: string, { tensor_parallel: tp, attention_data_parallel: dp, expert_parallel: ep }: Workers | Deployment): string {
  const layout = [tp > 1 ? `TP${String(tp)}` : '', dp > 1 ? `DP${String(dp)}` : '', ep > 1 ? `EP${String(ep)}` : ''].filter((part) => part !== '').join(' ');
  return `${String(tp * dp)} × ${gpu}${layout === '' ? '' : ` (${layout})`}`;
}

const BACKENDS: Readonly<Record<string, string>> = { vllm: 'vLLM', sglang: 'SGLang', trtllm: 'TensorRT-LLM' };
