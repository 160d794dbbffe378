// One check of all texts of the page, whichever area they stand in.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import english from '../generated/parameter-text.json';
import { EN, NAMES, ZH } from '../generated/glossary.js';
import { OPTIONS, PARAMETER_IDS, REASONS } from '../generated/parameters.js';
import { placesOf, type Area, type Table } from './area.js';
import type { Diagnostic, Parameter } from '../simulation/types.js';
import { options } from './en/options.js';
import { Text, type Tables } from './text.js';
import { wholeChinese } from './zh.js';

const zh = await wholeChinese();

const SOURCE = join(import.meta.dirname, '..');
const CRATES = join(SOURCE, '../../crate');

const areas = Object.values(import.meta.glob<Record<string, Area<Table>>>('./en/*.ts', { eager: true })).flatMap((module) => Object.values(module));
const chinese: Readonly<Record<string, Table>> = zh.areas;
const PARAMETERS = Object.entries(zh.parameters).flatMap(([id, { label, help }]): [string, string][] => [[`${id} label`, label], [`${id} help`, help]]);

/** Lower-case words of the field that Chinese engineers use as they are. */
const FIELD = new Set([
  'abort', 'adapter', 'aging', 'all-gather', 'all-reduce', 'alpha', 'cache-aware', 'chat', 'chunked', 'completions', 'concurrency', 'cv', 'early', 'exp', 'false', 'gamma', 'graph', 'gzip', 'interval-ms', 'kernel', 'kv', 'kvaware', 'llm-d', 'lmetric', 'load', 'low',
  'max', 'none', 'of', 'prefill', 'prefix-cache', 'prefixaware', 'production-stack', 'profile', 'prompt', 'queue', 'rank', 'reduce-scatter', 'rpm', 'session', 'shedding', 'theta', 'token', 'tpm', 'trace', 'true', 'ttft', 'twin', 'vtc-basic', 'watermark',
]);

/** Whether it reads as English: a word in small letters that is neither the field's nor a part of a name or of code. */
function strayWords(text: string): string[] {
  const prose = text.replace(/\{[^}]*\}/g, ' ').replace(/\S*[\w-][._/=|:][\w-]\S*|--[\w-]+|\bservescope [\w -]+|[A-Z][\w-]*(?: [A-Z][\w-]*)*/g, ' ');
  return [...prose.matchAll(/[a-z]{2,}(?:-[a-z]+)*/g)].map(([word]) => word).filter((word) => !FIELD.has(word));
}

describe.each(areas.map((area) => [area.name, area] as const))('the texts of %s', (name, { english: table }) => {
  const other = chinese[name] ?? {};

  it('are there in both languages, none empty', () => {
    expect(Object.keys(other)).toEqual(Object.keys(table));
    for (const [key, text] of [...Object.entries(table), ...Object.entries(other)]) expect(text === '' || (text.trim() === '' && !key.startsWith('control.')), key).toBe(false);
  });

  it('have the same places for values', () => {
    for (const [key, text] of Object.entries(table)) expect(placesOf(other[key] ?? ''), key).toEqual(placesOf(text));
  });

  it('have no other braces', () => {
    for (const [key, text] of [...Object.entries(table), ...Object.entries(other)]) expect(text.replace(/\{\w+(\|[^{}|]*\|[^{}|]*)?\}/g, ''), key).not.toMatch(/[{}]/);
  });

  it('have no English in Chinese', () => {
    expect(Object.entries(other).filter(([, text]) => strayWords(text).length > 0)).toEqual([]);
  });
});

describe('the texts of the modules in Chinese', () => {
  it('are those of the parameters, each with a label and a help that is a sentence', () => {
    expect(Object.keys(zh.parameters).sort()).toEqual([...PARAMETER_IDS].sort());
    expect(Object.keys(english).sort()).toEqual([...PARAMETER_IDS].sort());
    for (const [key, text] of PARAMETERS) expect(text, key).toMatch(key.endsWith(' help') ? /。$/ : /./);
  });

  it('are in Chinese', () => {
    expect([...PARAMETERS, ...Object.entries(zh.module)].filter(([, text]) => strayWords(text).length > 0)).toEqual([]);
  });
});

describe('the reasons of the modules', () => {
  const chinese: Readonly<Record<string, string>> = zh.module;

  it.each(Object.entries(REASONS))('%s has its values in Chinese, and no other place', (code, values) => {
    expect([...placesOf(chinese[`reason.${code}`] ?? '')].sort()).toEqual([...values].sort());
  });

  it('have in Chinese what the reader of a file expects in a cell', () => {
    const folder = join(CRATES, 'workload/src/formats');
    const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.rs') && !name.endsWith('tests.rs'))
      .map((name) => readFileSync(join(folder, name), 'utf8').split('#[cfg(test)]')[0] ?? '').join('\n');
    const expected = [...sources.matchAll(/bad\([^;"]*?(?:"[^"]*"(?:\[0\])?, ?)?"([^"]+)"\)|expected: "([^"]+)"/g)].map(([, one, other]) => one ?? other ?? '');
    expect(expected.length).toBeGreaterThan(20);
    expect(expected.filter((phrase) => !Object.hasOwn(chinese, `expected.${phrase}`))).toEqual([]);
  });

  it('stand for the module’s sentence in Chinese alone', () => {
    const error: Diagnostic = { severity: 'error', code: 'bad_sweep', path: '', message: 'raw', params: { reason: 'workload.rate_rps=2:1:4: a range runs upwards, got 2 to 1', at: 'workload.rate_rps', reason_code: 'range_downwards', from: 2, to: 1 } };
    const parameters = new Map([['workload.rate_rps', { id: 'workload.rate_rps' } as Parameter]]);
    const say = (language: 'en' | 'zh', tables: Tables): string => new Text(language, tables, () => parameters).diagnostic(error);
    expect(say('en', { areas: {}, parameters: english, module: {} })).toContain('a range runs upwards, got 2 to 1');
    expect(say('zh', zh)).toBe(`参数扫描无效：${zh.parameters['workload.rate_rps'].label}：范围应从小到大，现为 2 到 1。`);
  });
});

describe('the glossary', () => {
  it('has the same rows in both languages, the Chinese without English but for the word itself', () => {
    expect([ZH.length, NAMES.length]).toEqual([EN.length, EN.length]);
    for (const [word, about] of EN) expect(about, word).toMatch(/^[A-Z].*\.$/);
    for (const [word, about] of ZH) expect(about, word).toMatch(/。$/);
    const stray = ZH.flatMap((row, index) => row.flatMap(strayWords).filter((word) => EN[index]?.[0].toLowerCase().includes(word) !== true));
    expect(stray).toEqual([]);
  });
});

describe('the names of options', () => {
  /** Products are named as their makers name them. */
  const named = (parameter: string): boolean => ['fleet.gpu', 'fleet.model', 'fleet.weights', 'fleet.kv_format', 'cost.speculation.draft_model', 'cost.speculation.table'].includes(parameter);

  it('are there for every value of every choice', () => {
    for (const [parameter, values] of Object.entries(OPTIONS)) {
      for (const value of named(parameter) ? [] : values) {
        expect([`${parameter}=${value}`, value].some((key) => Object.hasOwn(options.english, key)), `${parameter}=${value}`).toBe(true);
      }
    }
  });

  it('belong to a parameter that has the value, where they name one', () => {
    for (const key of Object.keys(options.english).filter((name) => name.includes('='))) {
      const [parameter = '', value = ''] = key.split('=');
      expect((OPTIONS as Readonly<Record<string, readonly string[]>>)[parameter], key).toContain(value);
    }
  });
});

describe('every text is used', () => {
  const files = (folder: string, extension: string): string[] => readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(extension) && !/(^|\/)(target|tests|generated|en|zh)\/|\.test\.ts$/.test(name)).map((name) => readFileSync(join(folder, name), 'utf8'));
  const scripts = files(SOURCE, '.ts');
  const quoted = (sources: readonly string[], form: RegExp): Set<string> => new Set(sources.flatMap((source) => [...source.matchAll(form)].map(([, text = '']) => text)));
  const modules = quoted(files(CRATES, '.rs'), /"([\w.-]+)"/g);

  /** Keys stand in a script whole, as `prefix.${…}`, or as the prefix that is given to `named`. */
  function users(area: string): (key: string) => boolean {
    const shown = scripts.filter((source) => source.includes(`i18n/en/${area}.js`));
    // What text.ts looks up by itself may be named by any script.
    const own = ['page', 'diagnostics', 'names', 'options'].includes(area) ? scripts : shown;
    const whole = quoted(own, /'([\w./-]+)'/g);
    const patterns = [...quoted(own, /`((?:[\w.-]|\$\{[^`]*?\})+)`/g)].filter((text) => text.includes('${') && /\w{3}\.|\.\w{3}/.test(text.replace(/\$\{[^}]*\}/g, ' ')))
      .concat([...whole].filter((text) => text.endsWith('.')).map((text) => `${text}\${}`))
      .map((text) => new RegExp(`^${text.split(/\$\{[^}]*\}/).map((part) => part.replaceAll('.', '\\.')).join('.+')}$`));
    return (key) => whole.has(key) || modules.has(key) || patterns.some((pattern) => pattern.test(key));
  }

  it.each(areas.map(({ name, english: table }) => [name, table] as const))('in %s', (name, table) => {
    const isUsed = users(name);
    const unused = Object.keys(table).filter((key) => !isUsed(key) && !modules.has(key.replace(/^outcome\.|^[\w.]+=/, '')));
    expect(unused).toEqual([]);
  });
});
