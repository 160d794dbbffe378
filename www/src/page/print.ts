// What a printed page has that the screen has not: at its head the settings and the digest by which the run can be had again, every
// section open, and every chart drawn.
import type { App } from '../app/app.js';
import { originLines } from '../ui/run-origin.js';

export function preparePrints(app: App): void {
  let closed: HTMLDetailsElement[] = [];
  addEventListener('beforeprint', () => {
    closed = [...document.querySelectorAll<HTMLDetailsElement>('details.section:not([open]), details.headline-rest:not([open])')];
    for (const details of closed) details.open = true;
    app.scheduler.drawAll();
    colophon().replaceChildren(...originLines(app).map((line) => Object.assign(document.createElement('p'), { textContent: line })));
  });
  addEventListener('afterprint', () => {
    for (const details of closed) details.open = false;
  });
}

function colophon(): HTMLElement {
  const known = document.querySelector<HTMLElement>('.colophon');
  if (known !== null) return known;
  const made = document.createElement('section');
  made.className = 'colophon';
  document.querySelector('main')?.prepend(made);
  return made;
}
