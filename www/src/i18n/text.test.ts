import { describe, expect, it } from 'vitest';
import { area } from './area.js';
import { pageError } from '../simulation/types.js';
import { english as before, Languages } from './languages.js';
import { Text } from './text.js';
import { wholeChinese } from './zh.js';

const zh = await wholeChinese();

describe('Text', () => {
  const english = new Text('en', before);
  const chinese = new Text('zh', zh);

  it('fills places with values', () => {
    expect(english.t('request.title', { id: '12' })).toBe('Request 12');
    expect(chinese.t('request.title', { id: '12' })).toBe('请求 12');
  });

  it('sets a space between Chinese and Latin letters', () => {
    const chart = area('sweep', { chart: '{metric}随{x}的变化（{by}）' });
    expect(english.say(chart)('chart', { metric: 'P99 TTFT', x: '突发性 cv', by: 'vLLM' })).toBe('P99 TTFT 随突发性 cv 的变化（vLLM）');
    expect(english.t('request.title', { id: '12' })).toBe('Request 12');
  });

  it('takes the form that goes with a number', () => {
    const rows = english.say(area('workload', { rows: '{rows} {rows|row|rows} of {file}' }));
    expect(rows('rows', { rows: 1, file: 'a.csv' })).toBe('1 row of a.csv');
    expect(rows('rows', { rows: '1', file: 'a.csv' })).toBe('1 row of a.csv');
    expect(rows('rows', { rows: 1200, file: 'a.csv' })).toBe('1,200 rows of a.csv');
    expect(rows('rows', { rows: '1,200', file: 'a.csv' })).toBe('1,200 rows of a.csv');
  });

  it('names what the module names, and says an unknown key as it is', () => {
    expect(english.named('role.', 'kv')).toBe('KV cache');
    expect(english.named('role.', 'new_thing')).toBe('new_thing');
    expect(english.named('', 'toString')).toBe('toString');
  });

  it('names a value of a choice by the parameter, where it means something of its own there', () => {
    expect(chinese.option('fixed')).toBe('固定');
    expect(chinese.option('fixed', 'gateway.window')).toBe('固定窗口（整分钟）');
    expect(english.option('new_thing', 'gateway.window')).toBe('new thing');
  });

  it('puts bounds into a diagnostic', () => {
    const diagnostic = pageError('out_of_range', 'seed: -1 is not between 0 and 9', 'seed', { value: -1, min: 0, max: 9 });
    expect(english.diagnostic(diagnostic)).toBe('Must be between 0 and 9 (got -1).');
    expect(chinese.diagnostic(diagnostic)).toBe('须在 0 与 9 之间（现为 -1）。');
  });

  it('names the pool that a diagnostic is of, once', () => {
    const diagnostic = pageError('out_of_range', 'fleet.pools: pool 2: fleet.replicas: 0 is not between 1 and 9', 'fleet.pools', { value: 0, min: 1, max: 9, pool: 2 });
    expect(english.diagnostic(diagnostic)).toBe('Pool 2: Must be between 1 and 9 (got 0).');
    expect(chinese.diagnostic(diagnostic)).toBe('资源池 2：须在 1 与 9 之间（现为 0）。');
    expect(english.diagnostic({ ...diagnostic, code: 'unheard_of', message: 'fleet.pools: pool 2: no room' })).toBe('Pool 2: no room');
    expect(english.diagnostic(pageError('bad_pool', '', 'fleet.pools', { pool: 3, reason: 'no settings' }))).toBe('Pool 3: no settings.');
  });

  it('falls back to the module’s English when it cannot fill a message', () => {
    const diagnostic = pageError('out_of_range', 'the module knows best', '', {});
    expect(chinese.diagnostic(diagnostic)).toBe('the module knows best');
    expect(english.diagnostic({ ...diagnostic, code: 'unheard_of' })).toBe('the module knows best');
  });
});

describe('Languages', () => {
  it('have each area once the script that shows it is there', async () => {
    const languages = new Languages();
    await languages.load('zh');
    const text = languages.of('zh');
    expect(text.t('page.skip')).toBe(zh.areas.page['page.skip']);
    const late = area('search', { label: 'Search' });
    expect(text.say(late)('label')).toBe('Search');
    await languages.complete();
    expect(text.say(late)('label')).toBe(zh.areas.search['label']);
  });
});
