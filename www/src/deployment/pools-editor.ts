// More pools of a fleet: a row for each, with what pools mostly differ in, and a line for any other setting.
import { html, nothing, type TemplateResult } from 'lit';
import { inactive, isUsable } from '../controls/inactive.js';
import { LightElement } from '../app/element.js';
import type { Parameter } from '../simulation/types.js';
import type { Watchable } from '../lib/topic.js';
import { parsePools, poolsText, settingOf, withSetting, type FleetPool } from './pools.js';
import './pools-editor.css';
import { deployment } from '../i18n/en/deployment.js';

const POOLS = 'fleet.pools';
/** What has a field of its own. */
const FIELDS = ['fleet.gpu', 'fleet.tensor_parallel', 'fleet.replicas'] as const;

export class PoolsEditor extends LightElement {
  protected override watched(): Watchable[] {
    return [this.app.store.values];
  }

  get #pools(): FleetPool[] {
    return parsePools(String(this.app.store.resolved.values[POOLS] ?? ''));
  }

  protected override render(): TemplateResult {
    const say = this.app.text.say(deployment);
    const pools = this.#pools;
    return html`
      <div class="pools">${pools.map((pool, place) => this.#pool(pool, place))}</div>
      <button type="button" class="act" data-act="add-pool" @click=${() => { this.#add(); }}>${say('pools.add')}</button>`;
  }

  #pool(pool: FleetPool, place: number): TemplateResult {
    const { app } = this;
    const say = app.text.say(deployment);
    const title = pool.name === '' ? say('pools.pool', { number: place + 2 }) : pool.name;
    const others = pool.settings.filter(([id]) => !FIELDS.includes(id as (typeof FIELDS)[number]));
    return html`
      <fieldset class="pool" data-pool=${place + 2}>
        <legend>${title}</legend>
        <label><span>${say('pools.name')}</span><input type="text" autocomplete="off" maxlength="40" .value=${pool.name}
          @change=${(event: Event) => { this.#set(place, { ...pool, name: (event.target as HTMLInputElement).value.replace(/[,|=]/gu, ' ').trim() }); }}></label>
        ${FIELDS.map((id) => this.#field(pool, place, id))}
        <label class="wide"><span>${say('pools.others')}</span><input type="text" autocomplete="off" spellcheck="false"
          .value=${others.map(([id, value]) => `${id}=${value}`).join(', ')} @change=${(event: Event) => { this.#setOthers(place, pool, (event.target as HTMLInputElement).value); }}></label>
        <button type="button" class="quiet" aria-label=${say('pools.remove', { name: title })} title=${say('pools.remove', { name: title })}
          @click=${() => { this.#write(this.#pools.filter((_, other) => other !== place)); }}>×</button>
      </fieldset>`;
  }

  /** A setting of a pool; without a value it is that of the first pool, but for the number of replicas. */
  #field(pool: FleetPool, place: number, id: (typeof FIELDS)[number]): TemplateResult | typeof nothing {
    const { app } = this;
    const parameter = app.parameters.get(id);
    if (parameter === undefined || (id !== 'fleet.replicas' && !isUsable(inactive(app, parameter)))) return nothing;
    const value = settingOf(pool, id);
    const set = (event: Event): void => { this.#set(place, withSetting(pool, id, (event.target as HTMLInputElement | HTMLSelectElement).value.trim())); };
    return html`<label><span>${app.text.label(parameter)}</span>${parameter.type === 'choice' ? this.#choice(parameter, value, set)
      : html`<input type="text" inputmode="numeric" autocomplete="off" data-field=${id} placeholder=${id === 'fleet.replicas' ? '1' : String(app.store.resolved.values[id])} .value=${value} @change=${set}>`}</label>`;
  }

  #choice(parameter: Parameter, value: string, set: (event: Event) => void): TemplateResult {
    const { app } = this;
    const first = app.text.choice(parameter, String(app.store.resolved.values[parameter.id]));
    return html`<select data-field=${parameter.id} @change=${set}>
      <option value="" .selected=${value === ''}>${app.text.say(deployment)('pools.as_first', { value: first })}</option>
      ${parameter.options.map((option) => html`<option value=${option} .selected=${option === value}>${app.text.choice(parameter, option)}</option>`)}</select>`;
  }

  #setOthers(place: number, pool: FleetPool, text: string): void {
    const kept = pool.settings.filter(([id]) => FIELDS.includes(id as (typeof FIELDS)[number]));
    const [typed] = parsePools(text.replaceAll('|', ' '));
    this.#set(place, { ...pool, settings: [...kept, ...(typed?.settings ?? [])] });
  }

  #add(): void {
    this.#write([...this.#pools, { name: '', settings: [['fleet.replicas', '1']] }]);
  }

  #set(place: number, pool: FleetPool): void {
    this.#write(this.#pools.map((other, at) => (at === place ? pool : other)));
  }

  #write(pools: readonly FleetPool[]): void {
    this.app.editor.set(POOLS, pools.length === 0 ? null : poolsText(pools));
  }
}

customElements.define('pools-editor', PoolsEditor);
