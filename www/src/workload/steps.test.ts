// A step's text: what is written is read back.
import { describe, expect, it } from 'vitest';
import type { StepField, StepKind } from '../simulation/types.js';
import { draftOf, parseStep, textOf } from './steps.js';

const field = (name: string, usual: string): StepField => ({
  name, help: '', unit: '', kind: 'number', min: 0, max: 1, default: usual, optional: usual === '', options: [],
});
const THIN: StepKind = { name: 'thin', help: '', fields: [field('keep', '0.5'), field('seed', '1')] };
const WINDOW: StepKind = { name: 'window', help: '', fields: [field('start_s', '0'), field('end_s', '')] };
const KINDS = [THIN, WINDOW];

describe('steps', () => {
  it('say only what differs from the defaults', () => {
    expect(textOf(draftOf(THIN), THIN)).toBe('thin');
    expect(textOf({ name: 'thin', values: { keep: '0.25', seed: '1' } }, THIN)).toBe('thin:keep=0.25');
    expect(textOf({ name: 'window', values: { start_s: '60', end_s: '120' } }, WINDOW)).toBe('window:start_s=60,end_s=120');
  });

  it('are read back to the same text', () => {
    for (const text of ['thin', 'thin:keep=0.25,seed=7', 'window:end_s=9']) {
      const draft = parseStep(text, KINDS);
      const kind = KINDS.find(({ name }) => name === draft?.name);
      expect(draft !== null && kind !== undefined && textOf(draft, kind)).toBe(text);
    }
  });

  it('that there are not are none', () => {
    expect(parseStep('fold:by=2', KINDS)).toBeNull();
    expect(parseStep('', KINDS)).toBeNull();
  });
});
