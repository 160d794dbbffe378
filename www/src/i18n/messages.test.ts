import { describe, expect, it } from 'vitest';
import { en, type MessageKey } from './en.js';
import { PARAMETER_IDS } from '../generated/parameters.js';
import failures from './failures-en.json';
import names from './names-en.json';
import { english } from './tables.js';
import { Text } from './text.js';
import zh from './zh.json';

const tables = { ...english, ...names, failures };

const placeholders = (template: string): string[] => [...template.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '').sort();

const TABLES: [string, Readonly<Record<string, string>>, Readonly<Record<string, string>>][] = [
  ['messages', en, zh.messages],
  ['failures', tables.failures, zh.failures],
  ['marks', tables.marks, zh.marks],
  ['reasons', tables.reasons, zh.reasons],
];

describe.each(TABLES)('%s', (_name, english, chinese) => {
  it('have the same keys in both languages', () => {
    expect(Object.keys(chinese).sort()).toEqual(Object.keys(english).sort());
  });

  it('have the same placeholders in both languages', () => {
    for (const [key, template] of Object.entries(english)) {
      expect(placeholders(chinese[key] ?? ''), key).toEqual(placeholders(template));
    }
  });

  it('are never empty', () => {
    for (const [key, template] of [...Object.entries(english), ...Object.entries(chinese)]) expect(template.trim(), key).not.toBe('');
  });
});

describe('parameters in Chinese', () => {
  it('are all there, and no others', () => {
    expect(Object.keys(zh.parameters).sort()).toEqual([...PARAMETER_IDS].sort());
  });

  it('have a help that is a sentence', () => {
    for (const [id, { label, help }] of Object.entries(zh.parameters)) {
      expect(label, id).not.toBe('');
      expect(help, id).toMatch(/。$/);
    }
  });
});

describe('Text', () => {
  const english = new Text('en', tables);
  const chinese = new Text('zh', zh);

  it('fills placeholders', () => {
    expect(english.t('request.title', { id: '12' })).toBe('Request 12');
    expect(chinese.t('request.title', { id: '12' })).toBe('请求 12');
  });

  it('names what the module names, and says an unknown key as it is', () => {
    expect(english.named('role.', 'kv')).toBe('KV cache');
    expect(english.named('role.', 'new_thing')).toBe('new_thing');
    expect(english.named('', 'toString')).toBe('toString');
  });

  it('puts bounds into a failure', () => {
    const failure = { code: 'out_of_range', path: 'seed', message: 'seed: -1 is not between 0 and 9', params: { value: -1, min: 0, max: 9 } };
    expect(english.failure(failure)).toBe('This must lie between 0 and 9; -1 does not.');
    expect(chinese.failure(failure)).toBe('应在 0 与 9 之间，-1 超出了范围。');
  });

  it('falls back to the module’s English when it cannot fill a message', () => {
    const failure = { code: 'out_of_range', path: '', message: 'the module knows best', params: {} };
    expect(chinese.failure(failure)).toBe('the module knows best');
    expect(english.failure({ ...failure, code: 'unheard_of' })).toBe('the module knows best');
  });

  it('has a label and an explanation for each headline number', () => {
    const keys = Object.keys(en).filter((key) => key.startsWith('metric.') && key.endsWith('.about'));
    expect(keys.length).toBeGreaterThanOrEqual(9);
    for (const key of keys) expect(english.t(key.replace(/\.about$/, '') as MessageKey)).not.toBe('');
  });
});
