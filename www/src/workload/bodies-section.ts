// Request bodies as a file: a line for each request, with the sampling parameters of the settings.
import { html, type TemplateResult } from 'lit';
import { refused } from '../ui/belonging-words.js';
import { LightElement } from '../app/element.js';
import { download } from '../draw/export-chart.js';
import { Refusal } from '../simulation/worker-link.js';
import type { Watchable } from '../lib/topic.js';
import { workload } from '../i18n/en/workload.js';

const ENDPOINTS = ['chat', 'completions'] as const;
/** Forms that name a path of OpenAI's API. */
const WITH_PATHS: readonly string[] = ['openai', 'vllm'];
/** Forms in which names of models stand. */
const WITH_NAMES: readonly string[] = ['slora', 'openai', 'vllm'];

export class BodiesSection extends LightElement {
  static override properties = { ...LightElement.properties, forms: { state: true }, form: { state: true } };
  declare forms: readonly string[];
  declare form: string;

  constructor() {
    super();
    this.forms = [];
    this.form = 'slora';
  }

  protected override watched(): Watchable[] {
    return [];
  }

  override connectedCallback(): void {
    super.connectedCallback();
    void this.app.traceFile.studio().then((studio) => studio.call('forms', null)).then((forms) => { this.forms = forms; });
  }

  protected override render(): TemplateResult {
    const say = this.app.text.say(workload);
    const name = (form: string): string => this.app.text.find(workload, `bodies.form.${form}`) ?? form;
    return html`
      <p class="about">${say('bodies.about')}</p>
      <form class="choices" @submit=${(event: SubmitEvent) => { event.preventDefault(); void this.#save(event.target as HTMLFormElement); }}>
        <label>${say('bodies.form')} <select name="form" @change=${(event: Event) => { this.form = (event.target as HTMLSelectElement).value; }}>
          ${this.forms.map((form) => html`<option value=${form} ?selected=${form === this.form}>${name(form)}</option>`)}</select></label>
        <label ?hidden=${!WITH_PATHS.includes(this.form)}>${say('bodies.endpoint')} <select name="endpoint">
          ${ENDPOINTS.map((endpoint) => html`<option value=${endpoint}>${say(`bodies.endpoint.${endpoint}`)}</option>`)}</select></label>
        <label ?hidden=${!WITH_NAMES.includes(this.form)}>${say('bodies.model')} <input name="model" value="llama-7b" required></label>
        <label ?hidden=${!WITH_NAMES.includes(this.form)}>${say('bodies.adapter')} <input name="adapter" size="36" value="lora-{adapter}-rank-{rank}" required></label>
        <button data-export="bodies">${say('bodies.save')}</button>
      </form>`;
  }

  async #save(form: HTMLFormElement): Promise<void> {
    const { app } = this;
    if (refused(app, 'traffic')) return;
    const field = (name: string): string => {
      const value = new FormData(form).get(name);
      return typeof value === 'string' ? value : '';
    };
    const scenario = app.store.values.value;
    const studio = await app.traceFile.studio();
    try {
      await studio.call('select', { scenario });
      const { bytes } = await studio.call('bodies', {
        scenario, form: field('form'), endpoint: field('endpoint'), model: field('model'), adapterName: field('adapter'),
      });
      download('bodies.jsonl', new Blob([bytes], { type: 'application/jsonl' }));
    } catch (thrown) {
      if (!(thrown instanceof Refusal)) throw thrown;
      app.notices.error('export_failed', () => app.text.t('notice.export_failed', { message: app.text.diagnostics(thrown.errors) }));
    }
  }
}

customElements.define('bodies-section', BodiesSection);
