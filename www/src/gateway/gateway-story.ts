// A story's text, and its numbers with and without the policy side by side. One column is the run that the page shows, the
// other is computed beside it by a thread of its own; both follow every control that the story itself does not set. Where one that
// it sets gets a third value, the column with the policy is of that, under the value's name. A story may show charts of both runs
// below, on the same axes.
import { html, nothing, type TemplateResult } from 'lit';
import type { App } from '../app/app.js';
import { LightElement } from '../app/element.js';
import { resolve } from '../simulation/module.js';
import { BesideRun } from '../simulation/beside-run.js';
import type { GroupRow, ParameterValue, RunOptions, ScenarioPatch, Summary } from '../simulation/types.js';
import type { NumberKind } from '../i18n/format.js';
import { presetOf, type Preset, type Story } from '../state/presets.js';
import { withoutDefaults } from '../state/store.js';
import { sameValue, sameValues, type Values } from '../simulation/values.js';
import { partsOf, type Watchable } from '../lib/topic.js';
import { gateway } from '../i18n/en/gateway.js';
import { tryAgain } from '../ui/try-again.js';
import { nameOf, SIDES, StoryCharts, type Side } from './story-charts.js';
import './gateway.css';

/** The other column has numbers alone, where the story has no charts. */
const NO_CHARTS: RunOptions = { columns: 2, window: null, split_by: 'adapter', in_sight: [] };

/** `good`: which of two numbers is the better one. */
interface Row { name: string; kind: NumberKind; id: string; good: 'more' | 'less'; of: (summary: Summary) => number | null }

/** What the story is about: of each of its parameters the value of either side. */
interface Sides { preset: Preset; story: Story; own: Record<Side, Values> }

export class GatewayStory extends LightElement {
  #sides: Sides | null = null;
  /** What the story's own parameters stand at where they do not stand as without the policy: the preset's values, or what was set last. */
  #with: Values = {};
  #charts: StoryCharts | undefined;
  /** The run that the page does not show. */
  readonly #other = new BesideRun();

  protected override watched(): Watchable[] {
    return [this.app.store.values, this.app.session, this.app.belonging.stale, this.app.traceFile.info, this.#other.shown, partsOf(this.app.view, ({ window }) => window, ({ splitBy }) => splitBy)];
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#other.end();
    this.#charts?.first.end();
  }

  /** The scenario of a side, as the controls are now. */
  #scenario({ own }: Sides, side: Side): Values {
    const values = { ...this.app.store.values.value, ...(side === 'with' ? this.#with : own.without) };
    return withoutDefaults(values, resolve(values));
  }

  /** Which side the page shows. */
  #shown(sides: Sides): Side {
    return sameValues(this.#scenario(sides, 'without'), this.app.store.values.value) ? 'without' : 'with';
  }

  /** What the two runs are called: one with other values than the preset's by those that it does not share with the run without. */
  #names({ story, own }: Sides): Record<Side, string> {
    const { parameters, store: { resolved: { defaults } }, text } = this.app;
    const words = story.words[text.language];
    if (sameValues(this.#with, own.with)) return words;
    const differing = Object.entries(this.#with).filter(([id, value]) => !sameValue(value, own.without[id]));
    // One of several that is at its default, such as no limit, would say nothing.
    const telling = differing.filter(([id, value]) => !sameValue(value, defaults[id]));
    const told = telling.length > 0 ? telling : differing;
    const named = told.flatMap(([id, value]): string[] => {
      const parameter = parameters.get(id);
      if (parameter === undefined) return [];
      const reported = text.value(parameter, value);
      // The name of an option stands for itself.
      const isPlain = told.length === 1 && parameter.options.length > 0;
      return [isPlain ? reported : text.say(gateway)('story.setting', { name: text.label(parameter), value: reported })];
    });
    return { without: words.without, with: text.list(named) };
  }

  /** A story goes on while its run is changed, until another preset is chosen. */
  protected override willUpdate(): void {
    super.willUpdate();
    const { app } = this;
    const values = app.store.values.value;
    const exact = sidesOf(app).find((sides) => SIDES.some((side) => sameValues(withSide(sides, side), values)));
    if (exact !== undefined) {
      // What was set last goes on beside the run without, also where that is the preset's own.
      if (exact !== this.#sides) [this.#sides, this.#with] = [exact, exact.own.with];
    } else if (presetOf(app.presets, values) !== undefined || Object.keys(values).length === 0 || app.traceFile.info.value !== null) this.#sides = null;
    if (this.#sides !== null && this.#shown(this.#sides) === 'with') this.#with = valuesAt(this.#sides.own.without, app.store.resolved.values);
  }

  protected override updated(): void {
    if (this.#sides === null) return;
    const shown = this.#shown(this.#sides);
    const charts = this.#sides.story.view?.charts;
    const options = charts === undefined ? NO_CHARTS : { ...this.app.options, in_sight: [...charts] };
    this.#other.ask(this.#scenario(this.#sides, shown === 'with' ? 'without' : 'with'), options);
    if (charts !== undefined) this.#charts?.first.look(this.#scenario(this.#sides, 'without'), this.#scenario(this.#sides, 'with'));
  }

  protected override render(): TemplateResult | typeof nothing {
    const sides = this.#sides;
    if (sides === null) return nothing;
    const { app } = this;
    const say = app.text.say(gateway);
    const { story } = sides;
    const { title, text } = story.words[app.text.language];
    const names = this.#names(sides);
    const shown = this.#shown(sides);
    const { answer, state } = app.session.value;
    const current = answer === null || state !== 'ready' || app.belonging.stale.value !== null ? null : answer.summary;
    const other = this.#other.of(this.#scenario(sides, shown === 'with' ? 'without' : 'with'));
    const beside = other?.answer?.summary ?? null;
    const summaries: Record<Side, Summary | null> = {
      without: shown === 'without' ? current : beside,
      with: shown === 'with' ? current : beside,
    };
    const isDue = { own: state === 'running', other: other === null || other.errors.length === 0 };
    const cell = (side: Side, row: Row): string => this.#cell(summaries[side], row, side === shown ? isDue.own : isDue.other);
    const all = this.#rows(story).map((row) => ({ row, values: SIDES.map((side) => ofSide(summaries[side], row)) }));
    const rows = [...all.filter(({ values }) => !isEqual(values)), ...all.filter(({ values }) => isEqual(values))];
    const charts = story.view?.charts ?? [];
    (this.#charts ??= new StoryCharts(app)).show(shown, current === null ? null : (answer?.charts ?? null), other?.answer?.charts ?? null);
    return html`
      <section class="story" aria-labelledby="story-title" data-story=${sides.preset.id}>
        <h2 id="story-title">${title}</h2>
        <p class="story-text">${text}</p>
        <table class="story-table">
          <caption class="visually-hidden">${say('story.label', { name: title })}</caption>
          <thead><tr><th scope="col">${say('story.number')}</th>${SIDES.map((side) => html`<th scope="col" data-side=${side}>${names[side]}
            <button type="button" class="quiet" aria-pressed=${shown === side} aria-label=${`${say('story.show')}: ${names[side]}`}
              @click=${() => { app.editor.replace(this.#scenario(sides, side), `story ${side}`); }}>${say(shown === side ? 'story.shown' : 'story.show')}</button></th>`)}</tr></thead>
          <tbody>${rows.map(({ row, values }) => html`<tr data-row=${row.id}><th scope="row">${row.name}</th>${SIDES.map((side, place) => html`<td data-side=${side} class=${isBetter(row, values, place) ? 'better' : ''}>${cell(side, row)}</td>`)}</tr>`)}</tbody>
        </table>
        ${charts.length === 0 ? nothing : html`<div class="story-charts">${charts.map((name) => SIDES.map((side) => html`
          <chart-view .app=${app} .name=${nameOf(name, side)} .feed=${this.#charts?.feed(names)}></chart-view>`))}</div>`}
        ${other !== null && other.errors.length > 0 ? tryAgain(app, other.errors, () => { this.#other.again(); }) : nothing}
      </section>`;
  }

  /** A run that was refused or cancelled has no numbers to wait for. */
  #cell(summary: Summary | null, { kind, of }: Row, isDue: boolean): string {
    const { text } = this.app;
    if (summary === null && isDue) return text.say(gateway)('story.waiting');
    return text.format.of(kind, summary === null ? null : of(summary));
  }

  /** Those that the story names, in its order; otherwise the usual ones. */
  #rows(story: Story): Row[] {
    const all = this.#allRows(story);
    return story.rows === undefined ? all.filter(({ id }) => !EXTRA.has(id)) : story.rows.flatMap((id) => all.find((row) => row.id === id) ?? []);
  }

  #allRows({ clients }: Story): Row[] {
    const say = this.app.text.say(gateway);
    const { language } = this.app.text;
    const ofClient = clients.flatMap(({ user, ...names }): Row[] => {
      const client = names[language];
      const row = (summary: Summary): GroupRow | undefined => summary.per_user.find(({ id }) => id === user);
      return [
        { id: `ttft_mean.${String(user)}`, name: say('story.client_mean', { client }), kind: 'seconds', good: 'less', of: (summary) => row(summary)?.ttft_mean_s ?? null },
        { id: `ttft_p99.${String(user)}`, name: say('story.client_p99', { client }), kind: 'seconds', good: 'less', of: (summary) => row(summary)?.ttft_p99_s ?? null },
      ];
    });
    const ofGateway: Row[] = this.app.store.resolved.values['gateway.kind'] === 'proxy'
      ? [{ id: 'attempts', name: say('story.attempts'), kind: 'count', good: 'less', of: ({ gateway }) => gateway?.attempts ?? null }] : [];
    const ofUsers: Row[] = clients.length === 0
      ? [] : [{ id: 'jain', name: say('story.jain'), kind: 'number', good: 'more', of: ({ per_user }) => jain(per_user.map(({ attainment_all }) => attainment_all ?? 0)) }];
    return [
      { id: 'served', name: say('story.served'), kind: 'count', good: 'more', of: ({ requests }) => requests.completed },
      { id: 'refused', name: say('story.refused'), kind: 'count', good: 'less', of: ({ requests }) => requests.rejected_total + requests.timed_out },
      ...ofGateway,
      { id: 'ttft_p50', name: say('story.ttft_p50'), kind: 'seconds', good: 'less', of: ({ ttft_s }) => ttft_s.p50 },
      { id: 'ttft_p99', name: say('story.ttft_p99'), kind: 'seconds', good: 'less', of: ({ ttft_s }) => ttft_s.p99 },
      { id: 'queue_mean', name: say('story.queue_mean'), kind: 'seconds', good: 'less', of: ({ queue_s }) => queue_s.mean },
      { id: 'tpot_mean', name: say('story.tpot_mean'), kind: 'seconds', good: 'less', of: ({ tpot_s }) => tpot_s.mean },
      { id: 'tbt_max', name: say('story.tbt_max'), kind: 'seconds', good: 'less', of: ({ tbt_s }) => tbt_s.max },
      { id: 'gpu_hours', name: say('story.gpu_hours'), kind: 'number', good: 'less', of: ({ gpu_s }) => gpu_s / 3600 },
      ...ofClient,
      { id: 'attainment', name: say('story.attainment'), kind: 'share', good: 'more', of: ({ slo }) => slo.attainment_all },
      ...ofUsers,
    ];
  }
}

/** Rows that only a story that names them has. */
const EXTRA = new Set(['queue_mean', 'tpot_mean', 'tbt_max', 'gpu_hours']);

function ofSide(summary: Summary | null, { of }: Row): number | null {
  return summary === null ? null : of(summary);
}

/** Whether both numbers are there and differ by a hundredth at most: such rows come last. */
function isEqual(values: readonly (number | null)[]): boolean {
  const [one, other] = [values[0] ?? null, values[1] ?? null];
  return one !== null && other !== null && Math.abs(one - other) <= 0.01 * Math.max(Math.abs(one), Math.abs(other));
}

/** Whether the number of this side is better by more than a hundredth than that of the other. */
function isBetter({ good }: Row, values: readonly (number | null)[], place: number): boolean {
  const [own, other] = [values[place] ?? null, values[1 - place] ?? null];
  if (own === null || other === null || isEqual(values)) return false;
  return good === 'more' ? own > other : own < other;
}

/** By dotted path; values that are defaults stay, since the other side differs by them. */
function flat(nested: unknown, path = ''): ScenarioPatch {
  if (typeof nested !== 'object' || nested === null || Array.isArray(nested)) return { [path]: nested as ParameterValue };
  return Object.assign({}, ...Object.entries(nested).map(([name, value]) => flat(value, path === '' ? name : `${path}.${name}`))) as ScenarioPatch;
}

const known = new WeakMap<App, Sides[]>();

function sidesOf(app: App): Sides[] {
  const before = known.get(app);
  if (before !== undefined) return before;
  const all = app.presets.flatMap((preset): Sides[] => {
    const { story } = preset;
    if (story === undefined) return [];
    const without = flat(story.without);
    const { values } = resolve(preset.values);
    return [{ preset, story, own: { without, with: valuesAt(without, values) } }];
  });
  known.set(app, all);
  return all;
}

/** What the story's own parameters stand at. */
function valuesAt(own: Values, values: Values): Values {
  return Object.fromEntries(Object.keys(own).map((id) => [id, values[id] ?? 0]));
}

function withSide({ preset, own }: Sides, side: Side): Values {
  const values = { ...preset.values, ...own[side] };
  return withoutDefaults(values, resolve(values));
}

/** Jain's index: 1 when all have the same, 1/n when one has all. Jain, Chiu, Hawe 1984. */
function jain(shares: readonly number[]): number | null {
  const sum = shares.reduce((total, share) => total + share, 0);
  const squares = shares.reduce((total, share) => total + share * share, 0);
  return squares > 0 ? (sum * sum) / (shares.length * squares) : null;
}

customElements.define('gateway-story', GatewayStory);
