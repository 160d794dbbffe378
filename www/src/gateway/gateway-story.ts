// A story's text, and its numbers with and without the policy side by side. One column is the run that the page shows, the
// other is computed beside it by a thread of its own; both follow every control that the story itself does not set.
import { html, nothing, type TemplateResult } from 'lit';
import type { App } from '../app.js';
import { LightElement } from '../element.js';
import { resolve } from '../simulation/module.js';
import { BesideRun } from '../simulation/beside-run.js';
import type { GroupRow, ParameterValue, RunOptions, ScenarioPatch, Summary } from '../simulation/types.js';
import type { NumberKind } from '../i18n/format.js';
import { presetOf, type Preset, type Story } from '../state/presets.js';
import { sameValues, withoutDefaults, type Values } from '../state/store.js';
import type { Watchable } from '../state/topic.js';
import { gateway } from '../i18n/en/gateway.js';
import './gateway.css';

/** The other column has numbers alone. */
const NO_CHARTS: RunOptions = { columns: 2, window: null, split_by: 'adapter', in_sight: [] };

type Side = 'without' | 'with';
const SIDES: readonly Side[] = ['without', 'with'];

interface Row { name: string; kind: NumberKind; id: string; of: (summary: Summary) => number | null }

/** What the story is about: of each of its parameters the value of either side. */
interface Sides { preset: Preset; story: Story; own: Record<Side, Values> }

export class GatewayStory extends LightElement {
  #sides: Sides | null = null;
  /** The run that the page does not show. */
  readonly #other = new BesideRun();

  protected override watched(): Watchable[] {
    return [this.app.store.values, this.app.session, this.app.traceFile.info, this.#other.shown];
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#other.end();
  }

  /** The scenario of a side, as the controls are now. */
  #scenario({ own }: Sides, side: Side): Values {
    const values = { ...this.app.store.values.value, ...own[side] };
    return withoutDefaults(values, resolve(values));
  }

  /** Which side the page shows; null when a control of the story itself was changed. */
  #shown(sides: Sides): Side | null {
    return SIDES.find((side) => sameValues(this.#scenario(sides, side), this.app.store.values.value)) ?? null;
  }

  /** A story goes on while its run is changed, until another preset is chosen. */
  protected override willUpdate(): void {
    super.willUpdate();
    const { app } = this;
    const values = app.store.values.value;
    const exact = sidesOf(app).find((sides) => SIDES.some((side) => sameValues(withSide(sides, side), values)));
    if (exact !== undefined) this.#sides = exact;
    else if (presetOf(app.presets, values) !== undefined || Object.keys(values).length === 0 || app.traceFile.info.value !== null) this.#sides = null;
  }

  protected override updated(): void {
    if (this.#sides === null) return;
    const shown = this.#shown(this.#sides);
    if (shown !== null) void this.#other.ask(this.#scenario(this.#sides, shown === 'with' ? 'without' : 'with'), NO_CHARTS);
  }

  protected override render(): TemplateResult | typeof nothing {
    const sides = this.#sides;
    if (sides === null) return nothing;
    const { app } = this;
    const say = app.text.say(gateway);
    const { story } = sides;
    const words = story.words[app.text.language];
    const shown = this.#shown(sides);
    const { answer, state } = app.session.value;
    const current = answer === null || state !== 'ready' || app.belonging.stale.value !== null ? null : answer.summary;
    const other = shown === null ? null : this.#other.of(this.#scenario(sides, shown === 'with' ? 'without' : 'with'));
    const beside = other?.answer?.summary ?? null;
    const summaries: Record<Side, Summary | null> = {
      without: shown === 'without' ? current : beside,
      with: shown === 'with' ? current : beside,
    };
    return html`
      <section class="story" aria-labelledby="story-title" data-story=${sides.preset.id}>
        <h2 id="story-title">${words.title}</h2>
        <p class="story-text">${words.text}</p>
        <table class="story-table">
          <caption class="visually-hidden">${say('story.label', { name: words.title })}</caption>
          <thead><tr><th scope="col">${say('story.number')}</th>${SIDES.map((side) => html`<th scope="col" data-side=${side}>${words[side]}
            <button type="button" class="quiet" aria-pressed=${shown === side} aria-label=${`${say('story.show')}: ${words[side]}`}
              @click=${() => { app.editor.replace(this.#scenario(sides, side), `story ${side}`); }}>${say(shown === side ? 'story.shown' : 'story.show')}</button></th>`)}</tr></thead>
          <tbody>${this.#rows(story).map((row) => html`<tr data-row=${row.id}><th scope="row">${row.name}</th>${SIDES.map((side) => html`<td data-side=${side}>${this.#cell(summaries[side], row)}</td>`)}</tr>`)}</tbody>
        </table>
        ${other !== null && other.failures.length > 0 ? html`<p class="control-error" role="alert">${app.text.failures(other.failures)}</p>` : nothing}
      </section>`;
  }

  #cell(summary: Summary | null, { kind, of }: Row): string {
    return summary === null ? this.app.text.say(gateway)('story.waiting') : this.app.text.format.of(kind, of(summary));
  }

  #rows({ clients }: Story): Row[] {
    const say = this.app.text.say(gateway);
    const { language } = this.app.text;
    const ofClient = clients.flatMap(({ user, ...names }): Row[] => {
      const client = names[language];
      const row = (summary: Summary): GroupRow | undefined => summary.per_user.find(({ id }) => id === user);
      return [
        { id: `ttft_mean.${String(user)}`, name: say('story.client_mean', { client }), kind: 'seconds', of: (summary) => row(summary)?.ttft_mean_s ?? null },
        { id: `ttft_p99.${String(user)}`, name: say('story.client_p99', { client }), kind: 'seconds', of: (summary) => row(summary)?.ttft_p99_s ?? null },
      ];
    });
    const ofGateway: Row[] = this.app.store.resolved.values['gateway.kind'] === 'proxy'
      ? [{ id: 'attempts', name: say('story.attempts'), kind: 'count', of: ({ gateway }) => gateway?.attempts ?? null }] : [];
    const ofUsers: Row[] = clients.length === 0
      ? [] : [{ id: 'jain', name: say('story.jain'), kind: 'number', of: ({ per_user }) => jain(per_user.map(({ attainment_all }) => attainment_all ?? 0)) }];
    return [
      { id: 'served', name: say('story.served'), kind: 'count', of: ({ requests }) => requests.completed },
      { id: 'refused', name: say('story.refused'), kind: 'count', of: ({ requests }) => requests.rejected_total + requests.timed_out },
      ...ofGateway,
      { id: 'ttft_p50', name: say('story.ttft_p50'), kind: 'seconds', of: ({ ttft_s }) => ttft_s.p50 },
      { id: 'ttft_p99', name: say('story.ttft_p99'), kind: 'seconds', of: ({ ttft_s }) => ttft_s.p99 },
      ...ofClient,
      { id: 'attainment', name: say('story.attainment'), kind: 'share', of: ({ slo }) => slo.attainment_all },
      ...ofUsers,
    ];
  }
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
    return [{ preset, story, own: { without, with: Object.fromEntries(Object.keys(without).map((id) => [id, values[id] ?? 0])) } }];
  });
  known.set(app, all);
  return all;
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
