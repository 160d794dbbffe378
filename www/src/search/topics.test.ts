// The rows of the search are those of the documentation, and what people type finds something.
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { find, type Entry } from './find.js';
import { DOCS, LESSON_WORDS, LIMITS, PARAMETER_WORDS, PRESET_WORDS, SECTIONS } from './topics.js';

const docs = (name: string): string => readFileSync(new URL(`../../../docs/${name}`, import.meta.url), 'utf8');
const source = (name: string): string => readFileSync(new URL(`../${name}`, import.meta.url), 'utf8');

describe('what is not simulated', () => {
  it('is what the documentation says, row by row', () => {
    const [, table = ''] = docs('limits.md').split('## What is not simulated');
    const rows = (table.split('\n## ')[0] ?? '').split('\n').filter((line) => line.startsWith('| ')).slice(1).map((line) => line.split(' | ')[0]?.slice(2));
    expect([...LIMITS.map(({ row }) => row)].sort()).toEqual([...rows].sort());
  });
});

describe('pages of the documentation', () => {
  it('are all there, by their own titles', () => {
    // The start page leads to the others; that of the checks is for contributors.
    const names = readdirSync(new URL('../../../docs/', import.meta.url)).filter((name) => name.endsWith('.md') && !['README.md', 'checks.md'].includes(name));
    expect(DOCS.map(({ page }) => `${page}.md`).sort()).toEqual(names.sort());
    for (const { page, title } of DOCS) {
      const heading = /^# (.*)$/m.exec(docs(`${page}.md`))?.[1] ?? '';
      expect(title.en.startsWith(heading), `${page}: ${heading}`).toBe(true);
    }
  });
});

describe('the page on citing', () => {
  it('has the title and the version of the release', () => {
    const cff = docs('../CITATION.cff');
    const of = (key: string): string => new RegExp(`^${key}: "?(.*?)"?$`, 'm').exec(cff)?.[1] ?? 'missing';
    const text = docs('citing.md');
    expect(text).toContain(`{${of('title')}}`);
    expect(text).toContain(`{${of('version')}}`);
  });
});

describe('sections and parameters', () => {
  it('are on the page', () => {
    const page = ['page/servescope-page.ts', 'page/sections.ts', 'lessons/learn-page.ts', 'capacity/capacity-page.ts', 'validation/validation-page.ts'].map(source).join('');
    for (const { selector } of SECTIONS) {
      const name = /[\w-]+(?=\]?$)/.exec(selector)?.[0] ?? '';
      expect(page, selector).toContain(name);
    }
    const table = source('generated/parameters.ts');
    for (const id of Object.keys(PARAMETER_WORDS)) expect(table, id).toContain(`"${id}"`);
  });
});

describe('further words', () => {
  const served = (name: string): unknown => JSON.parse(readFileSync(new URL(`../../../static/${name}`, import.meta.url), 'utf8'));

  it('are of presets and lessons that there are, and of every question’s preset', () => {
    const presets = served('presets/index.json') as string[];
    expect(Object.keys(PRESET_WORDS).filter((id) => !presets.includes(id))).toEqual([]);
    const questions = presets.filter((id) => (served(`presets/${id}.json`) as { group?: string }).group === 'will_it');
    expect(questions.filter((id) => !/, .*\p{Script=Han}/u.test(PRESET_WORDS[id] ?? ''))).toEqual([]);
    const lessons = (served('lessons/index.json') as { id: string }[]).map(({ id }) => id);
    expect(Object.keys(LESSON_WORDS).filter((id) => !lessons.includes(id))).toEqual([]);
  });
});

/** As the page makes them, of what this file has. */
function entries(language: 'en' | 'zh'): Entry[] {
  return [
    ...LIMITS.map(({ id, title, instead, words }): Entry => ({ kind: 'limit', id, label: title[language], about: instead[language], also: words })),
    ...SECTIONS.map(({ id, words }): Entry => ({ kind: 'section', id, label: id, about: '', also: words })),
    ...Object.entries(PARAMETER_WORDS).map(([id, words]): Entry => ({ kind: 'parameter', id, label: id, about: '', also: words })),
    ...DOCS.map(({ page, title, words }): Entry => ({ kind: 'docs', id: page, label: title[language], about: '', also: words })),
  ];
}

describe('what people type', () => {
  it.each([
    ['disaggregat', 'disaggregation'], ['prefill decode split', 'disaggregation'], ['autoscal', 'autoscaling'], ['cold start', 'autoscaling'], ['speculative', 'speculation'], ['EAGLE', 'speculation'],
    ['agent', 'contents'], ['tool call', 'contents'], ['RadixAttention', 'sglang'], ['radix cache', 'sglang'], ['SGLang', 'sglang'], ['lpm', 'sglang'], ['retraction', 'sglang'], ['new token ratio', 'sglang'], ['mem_fraction_static', 'sglang'], ['schedule conservativeness', 'sglang'], ['EPLB', 'expert_balance'], ['DP attention', 'fleet.data_parallel_size'], ['HiCache', 'lower_tiers'], ['TensorRT', 'tensorrt-llm'], ['quantiz', 'fleet.weights'], ['benchmark', 'validation'],
    ['import', 'source'], ['compare', 'compare'], ['cite', 'citing'], ['BibTeX', 'citing'], ['引用', 'citing'], ['cheapest', 'plan'], ['why', 'why'], ['command line', 'terminal'], ['own policy', 'orders'], ['pip', 'python'],
    ['分离', 'disaggregation'], ['扩容', 'autoscaling'], ['投机', 'speculation'], ['基数树', 'sglang'], ['撤回', 'sglang'], ['智能体', 'contents'], ['量化', 'fleet.weights'], ['导入', 'source'], ['最便宜', 'plan'], ['为什么', 'why'], ['命令行', 'terminal'],
  ])('“%s” finds %s', (query, id) => {
    const language = /\p{Script=Han}/u.test(query) ? 'zh' : 'en';
    expect(find(entries(language), query).slice(0, 3).map((entry) => entry.id)).toContain(id);
  });
});
