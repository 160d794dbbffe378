import { beforeEach, describe, expect, it } from 'vitest';
import { pageError } from '../simulation/types.js';
import { Belonging, type Setting } from './belonging.js';

const cv = (value: number, missing: string | null = null): Setting => ({
  values: { 'workload.arrivals.cv': value }, traffic: { info: null, files: [], pipe: { join: 'concat', steps: [] } }, missing, drafts: new Map(),
});
const REFUSED = [pageError('out_of_range', 'too large', 'workload.arrivals.cv')];

let controls: Setting;
let belonging: Belonging;

function set(setting: Setting): void {
  controls = setting;
  belonging.began();
}

beforeEach(() => {
  belonging = new Belonging(() => controls);
  set(cv(1));
  belonging.answered(cv(1), true, true);
});

describe('Belonging', () => {
  it('says nothing of a result that is of the controls', () => {
    expect(belonging.stale.value).toBeNull();
    expect(belonging.agrees).toBe(true);
  });

  it('says nothing of a run under way, but takes the former result for none of it', () => {
    set(cv(4));
    expect(belonging.stale.value).toBeNull();
    expect(belonging.agrees).toBe(false);
    belonging.answered(cv(4), false, true);
    expect(belonging.stale.value).toBeNull();
    expect(belonging.agrees).toBe(false);
  });

  it('keeps what is shown and why the present settings have no result', () => {
    set(cv(4));
    belonging.ended('failed', REFUSED);
    expect(belonging.stale.value).toEqual({ reason: 'failed', errors: REFUSED, missing: null, shown: cv(1) });
  });

  it('keeps it until the next run ends, and lets go at once where the controls come back', () => {
    set(cv(4));
    belonging.ended('failed', REFUSED);
    set(cv(5));
    expect(belonging.stale.value?.reason).toBe('failed');
    belonging.answered(cv(5), true, true);
    expect(belonging.stale.value).toBeNull();
    set(cv(4));
    belonging.ended('cancelled');
    expect(belonging.stale.value?.reason).toBe('cancelled');
    set(cv(5));
    expect(belonging.stale.value).toBeNull();
  });

  it('goes back from a preview to the last whole result when the run is cancelled', () => {
    set(cv(4));
    belonging.answered(cv(4), false, true);
    belonging.ended('cancelled', [], cv(1));
    expect(belonging.stale.value).toMatchObject({ reason: 'cancelled', shown: cv(1) });
    // The worker answers the former run once more.
    belonging.answered(cv(1), true, true);
    expect(belonging.stale.value).toMatchObject({ reason: 'cancelled', shown: cv(1) });
  });

  it('takes a preview that nothing follows for no result of its settings', () => {
    set(cv(4));
    belonging.answered(cv(4), false, true);
    belonging.ended('cancelled');
    expect(belonging.stale.value).toMatchObject({ reason: 'cancelled', shown: cv(4) });
    expect(belonging.agrees).toBe(false);
  });

  it('names a file that is missing before anything else, also where nothing was shown', () => {
    belonging = new Belonging(() => controls);
    controls = cv(1, 'mine.csv');
    belonging.ended('file');
    expect(belonging.stale.value).toEqual({ reason: 'file', errors: [], missing: 'mine.csv', shown: null });
    belonging.ended('failed', REFUSED);
    expect(belonging.stale.value?.reason).toBe('file');
    set(cv(1));
    belonging.answered(cv(1), true, true);
    expect(belonging.stale.value).toBeNull();
  });

  it('is stale under other traffic, whatever the values', () => {
    controls = { ...cv(1), traffic: { ...cv(1).traffic, info: { name: 'mine.csv' } as Setting['traffic']['info'] } };
    belonging.began();
    belonging.ended('failed', REFUSED);
    expect(belonging.stale.value?.shown).toEqual(cv(1));
  });

  it('takes what was typed and cannot be run for a setting without a result', () => {
    const [error] = REFUSED;
    if (error === undefined) return;
    controls = { ...cv(1), drafts: new Map([['workload.arrivals.cv', { value: 99, error }]]) };
    belonging.look();
    expect(belonging.stale.value).toMatchObject({ reason: 'failed', errors: REFUSED, shown: cv(1) });
    expect(belonging.agrees).toBe(false);
    controls = cv(1);
    belonging.look();
    expect(belonging.stale.value).toBeNull();
  });

  it('does not take an answer for the end while a newer run is on its way', () => {
    set(cv(4));
    belonging.ended('failed', REFUSED);
    set(cv(5));
    belonging.answered(cv(3), true, false);
    expect(belonging.stale.value?.reason).toBe('failed');
    expect(belonging.agrees).toBe(false);
  });
});
