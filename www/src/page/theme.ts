// Puts language and theme on the document, at once; the roles' colours when the module is there, since they are its own.
import type { App } from '../app/app.js';
import type { Settings } from '../state/settings.js';
import type { Topic } from '../lib/topic.js';

const root = document.documentElement;

export function showSettings(settings: Topic<Settings>): void {
  const show = ({ dark, language }: Settings): void => {
    root.lang = language === 'zh' ? 'zh-CN' : 'en';
    root.dataset['theme'] = dark ? 'dark' : 'light';
  };
  show(settings.value);
  settings.subscribe(show);
}

export function showRoles(app: App): void {
  const show = (): void => {
    document.title = app.text.t('page.title');
    for (const [role, colour] of Object.entries(app.paper())) root.style.setProperty(`--role-${role}`, colour);
  };
  show();
  app.settings.subscribe(show);
}
