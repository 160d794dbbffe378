// @vitest-environment happy-dom
// Configurations that cannot be run are told in one line, those with the same reason together.
import { render } from 'lit';
import { expect, it } from 'vitest';
import type { App } from '../app/app.js';
import { Text } from '../i18n/text.js';
import { pageError } from '../simulation/types.js';
import type { Row } from './capacity-state.js';
import { failuresLine } from './failures.js';

const app = { text: new Text('en', { areas: {}, parameters: {}, module: {} }) } as unknown as App;

function row(place: number, code: string, message: string): Row {
  return { place, values: [], scenario: {}, capacity: null, described: { priced: '', unpriced: '', binding: '' }, charts: [], errors: [pageError(code, message)], standing: null, checks: [] };
}

it('is one line, with each reason once', () => {
  const rows = [row(0, 'no_kernels', 'none on A10G; there is H100'), row(1, 'no_kernels', 'none on L4; there is H100'), row(2, 'unheard_of', 'It does not fit.')];
  const box = document.createElement('div');
  render(failuresLine(app, rows, ({ place }) => `GPU ${String(place)}`), box);
  expect(box.querySelectorAll('.failures')).toHaveLength(1);
  expect(box.querySelector('.failures')?.getAttribute('data-failures')).toBe('3');
  expect(box.textContent).toBe('GPU 0, GPU 1: no kernels were measured on this GPU; GPU 2: It does not fit.');
  render(failuresLine(app, [], () => ''), box);
  expect(box.querySelectorAll('.failures')).toHaveLength(0);
});
