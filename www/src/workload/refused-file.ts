// A file that was refused: its bad rows can be left out, and columns of no known format can be named.
import { html, nothing, type TemplateResult } from 'lit';
import type { App } from '../app/app.js';
import { LightElement } from '../app/element.js';
import { Refusal } from '../simulation/worker-link.js';
import { codesOf, type Peeked } from '../simulation/types.js';
import type { Watchable } from '../lib/topic.js';
import type { Refused } from '../studio/trace-file.js';
import type { Say } from '../i18n/area.js';
import { workload } from '../i18n/en/workload.js';

/** Codes of a single row's trouble. */
const OF_A_ROW = ['cell_count', 'bad_cell', 'cell_out_of_range', 'rank_conflict'];

type Role = Peeked['roles'][number];

export class RefusedFile extends LightElement {
  static override properties = { ...LightElement.properties, peeked: { state: true } };
  declare peeked: Peeked | null;
  #of: Refused | null = null;

  protected override watched(): Watchable[] {
    return [this.app.traceFile.refused];
  }

  protected override render(): TemplateResult | typeof nothing {
    const { app } = this;
    const refused = app.traceFile.refused.value;
    if (refused !== this.#of) this.peeked = null;
    this.#of = refused;
    if (refused === null) return nothing;
    const say = app.text.say(workload);
    const { file, add, errors } = refused;
    const { name } = file;
    const ofRow = errors.some(({ code }) => OF_A_ROW.includes(code));
    const unknown = errors.some(({ code }) => code === 'unknown_format' || code === 'no_column');
    return html`
      <div class="refused">
        <p class="control-error" role="alert" data-code=${codesOf(errors)}>${app.text.diagnostics(errors)}</p>
        <button type="button" class="leave-out" ?hidden=${!ofRow} @click=${() => { void app.traceFile.load(file, add, { mapping: '', leaveOut: true, anyOutput: 0 }); }}>${say('source.leave_out', { name })}</button>
        ${unknown && this.peeked === null ? html`<button type="button" class="map-start" @click=${() => { void this.#peek(file); }}>${say('map.start', { name })}</button>` : nothing}
        ${this.peeked === null ? nothing : this.#form(say, this.peeked, refused)}
      </div>`;
  }

  async #peek(file: File): Promise<void> {
    try {
      this.peeked = await (await this.app.traceFile.studio()).call('peek', { file });
    } catch (thrown) {
      if (!(thrown instanceof Refusal)) throw thrown;
      this.app.notices.error(codesOf(thrown.errors), () => this.app.text.diagnostics(thrown.errors));
    }
  }

  #form(say: Say<typeof workload>, peeked: Peeked, { file, add }: Refused): TemplateResult {
    const { columns, roles } = peeked;
    const change = (role: Role, to: Partial<Role>): void => {
      this.peeked = { ...peeked, roles: roles.map((other) => (other === role ? { ...role, ...to } : other)) };
    };
    const missing = roles.filter(({ required, column }) => required && column === '').map(({ name }) => roleName(this.app, name));
    const mapping = roles.filter(({ column }) => column !== '').map(({ name, column, unit }) => `${name}=${column}:${unit}`).join(',');
    return html`
      <p class="about">${say('map.about', { name: file.name })}</p>
      <div class="fields mapping">${roles.map((role) => html`
        <div class="field" data-role-of=${role.name}>
          <label for="map-${role.name}" title=${role.help}>${roleName(this.app, role.name)}</label>
          <select id="map-${role.name}" @change=${(event: Event) => { change(role, { column: (event.target as HTMLSelectElement).value }); }}>
            <option value="" .selected=${role.column === ''}>${say('map.none')}</option>
            ${columns.map(({ name, values }) => html`<option value=${name} .selected=${role.column === name}>${name} (${values.slice(0, 2).join(', ')})</option>`)}</select>
          ${role.units.length < 2 ? nothing : html`
            <select data-unit-of=${role.name} aria-label=${say('map.unit', { role: roleName(this.app, role.name) })} @change=${(event: Event) => { change(role, { unit: (event.target as HTMLSelectElement).value }); }}>
              ${role.units.map((unit) => html`<option value=${unit} .selected=${role.unit === unit}>${unit}</option>`)}</select>`}
        </div>`)}</div>
      <p class="control-error" ?hidden=${missing.length === 0}>${say('map.missing', { roles: missing.join(', ') })}</p>
      <button type="button" class="map-read" ?disabled=${missing.length > 0} @click=${() => { void this.app.traceFile.load(file, add, { mapping, leaveOut: true, anyOutput: 0 }); }}>${say('map.read')}</button>`;
  }
}

function roleName({ text }: App, role: string): string {
  return text.find(workload, `map.role.${role}`) ?? role;
}

customElements.define('refused-file', RefusedFile);
