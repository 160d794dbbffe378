// From the help of a parameter to the lesson that explains it.
import { html, nothing, type TemplateResult } from 'lit';
import type { App } from '../app/app.js';
import { lessons, wantLessons } from '../state/lessons.js';

/** Fetches what is needed; without it the help has no link. */
export function wantLessonLink(drawn: () => void): void {
  wantLessons().then(drawn, (thrown: unknown) => { console.warn('lessons:', thrown); });
}

export function lessonLink(app: App, parameter: string): TemplateResult | typeof nothing {
  const entry = lessons.value.find(({ explains }) => explains.includes(parameter));
  if (entry === undefined) return nothing;
  return html`<button type="button" class="act" data-explained=${entry.id} @click=${() => { app.learn({ id: entry.id, screen: 1 }); }}>${app.text.t('control.lesson', { title: entry.title[app.text.language] })}</button>`;
}
