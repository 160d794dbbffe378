// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Address, pageKeys, withPageKeys, type Codec, type PageKeys } from './address.js';

const NO_KEYS: PageKeys = { lang: null, preset: null, zoom: null, by: null, file: null, tab: null, pipe: null, pins: [], metrics: [], sweep: null, crossover: null, step: null, embed: null };
const codec: Codec = {
  encode: (values) => ['v=1', ...Object.entries(values).map(([id, value]) => `${id}=${String(value)}`)].join('&'),
  parse: (hash) => ({ scenario: { read: hash.length }, problems: [] }),
};

describe('page keys', () => {
  it('survive the round trip', () => {
    const keys: PageKeys = { lang: 'zh', preset: 's1', zoom: [12.5, 80], by: 'length', file: 'a trace & more.csv', tab: 'workload', pipe: { join: 'concat:gap_s=2', steps: ['thin:keep=0.5,seed=1', 'sort'] }, pins: [{ name: 'first & best', seeds: 20, link: 'v=2&R=1.5;x+y%20z' }, { name: '', seeds: 100, link: 'v=2' }], metrics: ['per_user.3.ttft_s_p99', 'per_adapter.-1.service'], sweep: { seeds: 5, metrics: ['ttft_s.p99', 'e2e_s.mean'], link: 'v=4&R=1.5&capgrid=a%7Cb', over: ['workload.rate_rps=1:8:4:log', 'workload.adapters.ranks=8,8;64'] }, crossover: { over: 'workload.arrivals.cv=0.5:4:log', metric: 'ttft_s.p90' }, step: 128, embed: { chart: 'latency_cdf', controls: ['workload.arrivals.cv', 'workload.rate_rps'] } };
    expect(pageKeys(withPageKeys('v=1&R=3', keys))).toEqual(keys);
  });

  it('leave the link alone when there are none', () => {
    expect(withPageKeys('v=1&R=3', NO_KEYS)).toBe('#v=1&R=3');
  });

  it.each(['', '5', '5|ttft_s.p99|v=4', 'many|ttft_s.p99|v=4|workload.rate_rps=1,2', '-1|a|b|c'])('drop the sweep %s', (sweep) => {
    expect(pageKeys(`#sweep=${encodeURIComponent(sweep)}`).sweep).toBeNull();
  });

  it('take each metric once, and none of an older link', () => {
    expect(pageKeys('#metrics=a,,b,a').metrics).toEqual(['a', 'b']);
    expect(pageKeys('#v=4&pin=;20;v=4').metrics).toEqual([]);
  });

  it.each(['9-3', 'a-b', '5', '-1-4', '1-1'])('drop the zoom %s', (zoom) => {
    expect(pageKeys(`#zoom=${zoom}`).zoom).toBeNull();
  });
});

describe('Address', () => {
  beforeEach(() => { vi.useFakeTimers(); location.hash = ''; });
  afterEach(() => { vi.useRealTimers(); });

  it('writes once after a pause, in place', () => {
    let rate = 0;
    const replace = vi.spyOn(history, 'replaceState');
    const address = new Address(codec, () => ({ values: { R: rate }, keys: NO_KEYS }), () => undefined);
    for (rate = 1; rate < 10; rate += 1) {
      address.schedule();
      vi.advanceTimersByTime(50);
    }
    expect(replace).not.toHaveBeenCalled();
    vi.advanceTimersByTime(300);
    expect(replace).toHaveBeenCalledTimes(1);
    expect(location.hash).toBe('#v=1&R=10');
    replace.mockRestore();
  });

  it('gives the link as it is now', () => {
    const address = new Address(codec, () => ({ values: { R: 7 }, keys: NO_KEYS }), () => undefined);
    expect(address.link()).toMatch(/#v=1&R=7$/);
  });

  it('hears of a foreign change and not of its own', () => {
    const foreign = vi.fn();
    const address = new Address(codec, () => ({ values: { R: 7 }, keys: NO_KEYS }), foreign);
    address.write();
    dispatchEvent(new Event('hashchange'));
    expect(foreign).not.toHaveBeenCalled();
    history.replaceState(null, '', '#v=1&R=8');
    dispatchEvent(new Event('hashchange'));
    expect(foreign).toHaveBeenCalledTimes(1);
  });

  it('overwrites no entry of the history that Back has come to before it says so', () => {
    const foreign = vi.fn();
    const address = new Address(codec, () => ({ values: { R: 7 }, keys: NO_KEYS }), foreign);
    address.write();
    address.schedule();
    history.replaceState(null, '', '#v=1&R=8');
    vi.advanceTimersByTime(1000);
    expect(location.hash).toBe('#v=1&R=8');
    dispatchEvent(new Event('hashchange'));
    expect(foreign).toHaveBeenCalledTimes(1);
    address.schedule();
    vi.advanceTimersByTime(1000);
    expect(location.hash).toBe('#v=1&R=7');
  });
});
