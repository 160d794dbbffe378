// The requests as they are now, as a file of another tool's format.
import { html, type TemplateResult } from 'lit';
import { refused } from '../ui/belonging-words.js';
import { LightElement } from '../app/element.js';
import { formatName } from '../i18n/format-names.js';
import { download } from '../draw/export-chart.js';
import { Refusal } from '../simulation/worker-link.js';
import type { Watchable } from '../lib/topic.js';
import { workload } from '../i18n/en/workload.js';
import { lossWords } from './step-texts.js';

const JSON_LINES = ['servescope_jsonl', 'aibrix', 'bailian', 'aiperf', 'timed_trace', 'mooncake', 'agent_sessions', 'wildchat'];

export class ExportSection extends LightElement {
  static override properties = { ...LightElement.properties, formats: { state: true } };
  declare formats: readonly string[];

  protected override watched(): Watchable[] {
    return [];
  }

  override connectedCallback(): void {
    super.connectedCallback();
    void this.app.traceFile.studio().then((studio) => studio.call('formats', null)).then((formats) => { this.formats = formats; });
  }

  protected override render(): TemplateResult {
    const say = this.app.text.say(workload);
    return html`
      <p class="about">${say('export.about')}</p>
      <div class="choices">${(this.formats ?? []).map((format) => html`
        <button type="button" data-export=${format} aria-label=${say('export.format', { format: formatName(format) })} @click=${() => { void this.#save(format); }}>${formatName(format)}</button>`)}</div>`;
  }

  async #save(format: string): Promise<void> {
    const { app } = this;
    if (refused(app, 'traffic')) return;
    const studio = await app.traceFile.studio();
    try {
      await studio.call('select', { scenario: app.store.values.value });
      const { bytes, lost } = await studio.call('export', { format });
      const lines = JSON_LINES.includes(format);
      const say = app.text.say(workload);
      if (lost.length > 0) app.notices.info('export_lost', () => say('export.lost', { format: formatName(format), lost: lossWords(app, lost) }));
      download(`workload-${format}.${lines ? 'jsonl' : 'csv'}`, new Blob([bytes], { type: lines ? 'application/jsonl' : 'text/csv' }));
    } catch (thrown) {
      if (!(thrown instanceof Refusal)) throw thrown;
      app.notices.error('export_failed', () => app.text.t('notice.export_failed', { message: app.text.diagnostics(thrown.errors) }));
    }
  }
}

customElements.define('export-section', ExportSection);
