// The Learn tab: the essay, the lessons, and below them every preset with what it shows. A preset opens in Explore, a lesson here.
import { html, type TemplateResult } from 'lit';
import type { App } from '../app/app.js';
import { LightElement } from '../app/element.js';
import { lessons as words } from '../i18n/en/lessons.js';
import { fetchLesson, type Lesson } from './lesson.js';
import { lessonIcon } from './lesson-icon.js';
import { lessons, progressOf, wantLessons, type LessonEntry } from '../state/lessons.js';
import { presetOf, presetWords, PRESET_GROUPS } from '../state/presets.js';
import { partsOf, type Watchable } from '../lib/topic.js';
import { isScreen } from '../state/lesson-place.js';
import { Parts } from '../ui/parts.js';
import './lesson-view.js';

/** `essay` fetches what stands at the top. */
export function learnPage(app: App, essay: () => Promise<HTMLElement>): LearnPage {
  return LearnPage.of(app, { essay });
}

export class LearnPage extends LightElement {
  static override properties = { ...LightElement.properties, opened: { state: true }, failed: { state: true }, large: { state: true } };
  /** The lesson that was fetched last. */
  declare opened: { id: string; lesson: Lesson } | null;
  /** What could not be fetched: the list, or a lesson by its id. */
  declare failed: string | null;
  /** Whether it is shown on a projector. */
  declare large: boolean;
  declare essay: () => Promise<HTMLElement>;
  #fetching: string | null = null;
  readonly #parts = new Parts<'essay', HTMLElement>(() => { this.requestUpdate(); });

  protected override watched(): Watchable[] {
    return [this.app.shown, lessons, partsOf(this.app.view, ({ tab }) => tab, ({ lesson }) => lesson)];
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#fetchList();
  }

  protected override look(): string {
    const { id = '' } = this.app.view.value.lesson ?? {};
    return `${this.app.view.value.tab} ${id} ${String(lessons.value.length)} ${presetOf(this.app.presets, this.app.store.values.value)?.id ?? ''}`;
  }

  #fetchList(): void {
    this.failed = null;
    wantLessons().catch((thrown: unknown) => {
      console.warn('lessons:', thrown);
      this.failed = 'list';
    });
  }

  async #fetch(id: string): Promise<void> {
    if (this.#fetching === id) return;
    this.#fetching = id;
    try {
      const lesson = await fetchLesson(id);
      if (this.#fetching === id) this.opened = { id, lesson };
    } catch (thrown) {
      console.warn(`lesson ${id}:`, thrown);
      if (this.#fetching === id) this.failed = id;
    } finally {
      if (this.#fetching === id) this.#fetching = null;
    }
  }

  protected override render(): TemplateResult {
    const { view } = this.app;
    const { lesson } = view.value;
    if (isScreen(lesson) && view.value.tab === 'learn') return this.#lesson(lesson.id);
    if (this.app.embed !== null) return this.#top();
    return html`${this.#top()}${this.#list()}${this.#presets()}`;
  }

  /** Asked for when Learn is looked at. */
  #top(): TemplateResult {
    const { t } = this.app.text;
    if (this.app.view.value.tab === 'learn') this.#parts.want('essay', this.essay);
    const state = this.#parts.state('essay');
    if (state === 'missing') return html`<p class="notice error" role="alert" data-missing="essay"><span>${t('tab.missing')}</span> <button type="button" @click=${() => { this.#parts.again('essay'); }}>${t('tab.again')}</button></p>`;
    return state === 'there' ? html`${this.#parts.value('essay')}` : html`<p role="status">${t('tab.loading')}</p>`;
  }

  #lesson(id: string): TemplateResult {
    const say = this.app.text.say(words);
    const place = lessons.value.findIndex((entry) => entry.id === id);
    const entry = lessons.value[place];
    if (this.failed === 'list') return this.#missing(say('list.failed'), () => { this.#fetchList(); });
    if (lessons.value.length === 0) return html`<p role="status">${say('fetching')}</p>`;
    if (entry === undefined) return html`<p class="notice error" role="alert" data-unknown=${id}>${say('unknown', { id })}</p>${this.#list()}`;
    if (this.failed === id) return this.#missing(say('failed'), () => { this.failed = null; });
    if (this.opened?.id !== id) {
      void this.#fetch(id);
      return html`<p role="status">${say('fetching')}</p>`;
    }
    return html`<lesson-view .app=${this.app} .entry=${entry} .lesson=${this.opened.lesson} .next=${lessons.value[place + 1] ?? null}></lesson-view>`;
  }

  #missing(what: string, again: () => void): TemplateResult {
    return html`<p class="notice error" role="alert" data-missing="lesson"><span>${what}</span> <button type="button" @click=${again}>${this.app.text.say(words)('again')}</button></p>`;
  }

  #list(): TemplateResult {
    const say = this.app.text.say(words);
    return html`
      <section aria-labelledby="learn-lessons">
        <h2 id="learn-lessons">${say('list')} <small>${say('list.about')}</small></h2>
        ${this.failed === 'list' ? this.#missing(say('list.failed'), () => { this.#fetchList(); }) : html`<ol class="lessons">${lessons.value.map((entry) => this.#card(entry))}</ol>`}
        <p class="class-room"><a href="./docs/lessons.html#for-a-class">${say('class')}</a>
          <button type="button" class="quiet" data-action="presenter" aria-pressed=${this.large === true} @click=${() => { this.large = this.large !== true; document.documentElement.classList.toggle('presenter', this.large); }}>${say('presenter')}</button></p>
      </section>`;
  }

  #card({ id, title, about }: LessonEntry): TemplateResult {
    const { language } = this.app.text;
    const say = this.app.text.say(words);
    const { screen, passed } = progressOf(id);
    const state = passed ? html`<small class="passed">✓ ${say('passed')}</small>` : screen > 1 ? html`<small>${say('begun', { screen })}</small>` : '';
    return html`<li><button type="button" data-lesson=${id} @click=${() => { this.app.learn({ id, screen: passed ? 1 : Math.max(1, screen) }); }}>
      ${lessonIcon(id)}<b>${title[language]}</b> <small>${about[language]}</small> ${state}</button></li>`;
  }

  #presets(): TemplateResult {
    const { app } = this;
    const { t } = app.text;
    const chosen = presetOf(app.presets, app.store.values.value)?.id;
    return html`
      <section aria-labelledby="learn-presets">
        <h2 id="learn-presets">${app.text.say(words)('presets')} <small>${t('learn.about')}</small></h2>
        ${PRESET_GROUPS.map((group) => html`
          <section aria-labelledby="learn-${group}" data-preset-group=${group}>
            <h3 id="learn-${group}">${t(`learn.${group}`)}</h3>
            <ul class="presets">${app.presets.filter((preset) => preset.group === group).map((preset) => {
              const { title, about } = presetWords(app.text, preset);
              return html`<li><button type="button" data-preset=${preset.id} aria-pressed=${chosen === preset.id} @click=${() => { app.take(preset); }}>
                <b>${title}</b> <small>${about}</small></button></li>`;
            })}</ul>
          </section>`)}
      </section>`;
  }
}

customElements.define('learn-page', LearnPage);
