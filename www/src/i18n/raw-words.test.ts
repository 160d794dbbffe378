// No sentence that a person reads has a key of a file in it, a place that was not filled, or a value of a choice as it is written
// in files: every message of both languages, with every parameter, every choice and every metric.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { initSync } from '../../pkg/servescope.js';
import { nameOfMetric, valueOf } from '../compare/metric-words.js';
import { COLUMNS, METRICS } from '../generated/metrics.js';
import parameterText from '../generated/parameter-text.json';
import { DIAGNOSTIC_CODES } from '../generated/parameters.js';
import { schema } from '../simulation/module.js';
import type { Diagnostic, Parameter } from '../simulation/types.js';
import { area, placesOf, type Area, type Table } from './area.js';
import { diagnostics } from './en/diagnostics.js';
import { gateway } from './en/gateway.js';
import { page } from './en/page.js';
import { replicas } from './en/replicas.js';
import { Text, type Tables } from './text.js';
import { wholeChinese } from './zh.js';

const zh = await wholeChinese();

initSync({ module: readFileSync(join(import.meta.dirname, '../../pkg/servescope_bg.wasm')) });

const PARAMETERS = new Map(schema().parameters.map((parameter) => [parameter.id, parameter]));
const ENGLISH: Tables = { areas: {}, parameters: parameterText, module: {} };
const TEXTS = [new Text('en', ENGLISH, () => PARAMETERS), new Text('zh', zh, () => PARAMETERS)];
const areas = Object.values(import.meta.glob<Record<string, Area<Table>>>('./en/*.ts', { eager: true })).flatMap((module) => Object.values(module));

/** Names that readers know as they are: files, commands with their flags, and the field of a request. */
const KNOWN = /\b[\w-]+\.(?:csv|jsonl?|dev|org)\b|\bservescope [\w -]+|--[\w-]+|\bmax_tokens\b|\bvllm serve\b/g;
const SNAKE = /[a-z0-9]_[a-z0-9]/;

function rawIn(sentence: string): string | null {
  const prose = sentence.replace(KNOWN, ' ').replace(/“[^”]*”/g, ' ');
  const key = [...prose.matchAll(/[a-z]\w*(?:\.\w+)+/g)].map(([found]) => found).find((found) => PARAMETERS.has(found));
  return key ?? SNAKE.exec(prose)?.[0] ?? /[{}]/.exec(prose)?.[0] ?? null;
}

/** Places of a message whose value depends on the parameter that it is about. */
const OF_PARAMETER: ReadonlySet<string> = new Set(['nearest', 'path', 'options', 'reason', 'why', 'known']);

/** What the module gives for the places of a message, of one parameter. */
function given(code: string, place: string, { id, options }: Parameter): string | number {
  const choices = (of: string): string => (PARAMETERS.get(of)?.options ?? []).join(', ');
  switch (`${code} ${place}`) {
    case 'unknown_parameter nearest':
    case 'repeated_key path': return id;
    case 'unknown_option options': return options.join(', ');
    case 'order_needs_slora order':
    case 'order_not_trtllm order':
    case 'order_not_sglang order': return 'cluster';
    case 'policy_without_priority policy': return choices('scheduler.schedule_policy');
    case 'order_needs_slora names': return choices('scheduler.order');
    case 'order_needs_slora kind':
    case 'not_vllm scheduler':
    case 'not_trtllm scheduler':
    case 'not_sglang scheduler': return choices('scheduler.kind');
    case 'unknown_check names': return 'rpm, tpm, concurrency, queue, kv, ttft';
    case 'no_kernels_of_format value':
    case 'no_kernels_of_format known': return choices('fleet.weights');
    case 'no_kernels_of_model table': return 'generation_attention';
    case 'no_step_of_kind kind':
    case 'no_more_steps kind': return 'swapped_out';
    case 'all_refused reasons':
    case 'some_refused reasons': return 'input_too_long, token_quota, late_first_token';
    case 'limits_too_low settings': return 'scheduler.max_input_tokens=4096 scheduler.max_request_tokens=8192';
    default: return OF_PARAMETER.has(place) ? `${id}: a range runs upwards` : ['file', 'part', 'value', 'name', 'first', 'column', 'found', 'expected', 'model', 'gpu', 'table', 'degrees', 'system'].includes(place) ? 'x' : 3;
  }
}

describe.each(TEXTS.map((text) => [text.language, text] as const))('in %s', (language, text) => {
  const table = (of: Area<Table>): Table => (language === 'en' ? of.english : zh.areas[of.name]);

  it.each(areas.map((of) => [of.name, of] as const))('the texts of %s have no raw words', (_, of) => {
    for (const [key, sentence] of Object.entries(table(of))) {
      const values = Object.fromEntries([...placesOf(sentence)].map((place) => [place, 'x']));
      expect(rawIn(text.fill(sentence, values)), `${key}: ${sentence}`).toBeNull();
    }
  });

  it('every message names every parameter and its choices as the page does', () => {
    for (const code of DIAGNOSTIC_CODES.filter((one) => !one.startsWith('config_'))) {
      const template = table(diagnostics)[code] ?? '';
      expect(template, code).not.toBe('');
      const places = [...placesOf(template)];
      // The others say the same of every parameter.
      const some = places.some((place) => OF_PARAMETER.has(place)) ? [...PARAMETERS.values()] : [...PARAMETERS.values()].slice(0, 1);
      for (const parameter of some) {
        const params = Object.fromEntries(places.map((place) => [place, given(code, place, parameter)]));
        const diagnostic: Diagnostic = { severity: 'error', code, path: parameter.id, message: 'not filled_in', params };
        const sentence = `${text.label(parameter)}: ${text.diagnostic(diagnostic)}`;
        expect(rawIn(sentence), `${code}: ${sentence}`).toBeNull();
      }
    }
  });

  it('a message of the module without words of the page names its parameter', () => {
    for (const { id } of PARAMETERS.values()) {
      const sentence = text.diagnostic({ severity: 'error', code: 'internal', path: id, message: `${id}: 3 is too much beside ${id} of 4`, params: {} });
      expect(rawIn(sentence), sentence).toBeNull();
    }
  });

  it('every parameter, every value of a choice and every help is in words', () => {
    for (const parameter of PARAMETERS.values()) {
      for (const sentence of [text.label(parameter), ...parameter.options.map((option) => text.value(parameter, option))]) expect(rawIn(sentence), `${parameter.id}: ${sentence}`).toBeNull();
      // A help names flags of the systems that have the setting; its grid is typed with keys.
      const keys = [...text.help(parameter).matchAll(/[a-z]\w*(?:\.\w+)+/g)].map(([found]) => found).filter((found) => PARAMETERS.has(found));
      if (parameter.id !== 'capacity.grid') expect(keys, parameter.id).toEqual([]);
    }
  });

  it('every metric has a name of its own, and a unit where it has one', () => {
    const paths = [
      ...METRICS.flatMap(({ path, keys }) => (keys.length === 0 ? [path] : keys.map((key) => `${path}.${key}`))),
      ...COLUMNS.flatMap(({ path }) => [`per_user.3.${path}`, `per_adapter.17.${path}`, `per_adapter.-1.${path}`]),
    ];
    const seen = new Map<string, string>();
    for (const path of paths) {
      const name = nameOfMetric(text, path);
      expect(rawIn(name), path).toBeNull();
      expect(seen.get(name), `${path}: ${name}`).toBeUndefined();
      seen.set(name, path);
      const index = /^per_\w+\.(\d+)/.exec(path)?.[1];
      if (index !== undefined) expect(name).toContain(index);
    }
  });

  it('a value has the unit of the metric table', () => {
    const { format } = text;
    expect(valueOf(text, 'output_tokens_per_s', 353)).toBe(format.withUnit('353', text.unit('tokens/s')));
    expect(valueOf(text, 'throughput_rps', 2.18)).toBe(format.withUnit('2.18', text.unit('req/s')));
    expect(valueOf(text, 'slo.goodput_rps', 2)).toBe(format.withUnit('2', text.unit('req/s')));
    expect(valueOf(text, 'slo.attainment_all', 0.5)).toBe(format.share(0.5));
    expect(valueOf(text, 'per_user.1.ttft_mean_s', 2.6)).toBe(format.seconds(2.6));
    expect(valueOf(text, 'per_user.1.rate_rps', 2.6)).toBe(format.withUnit('2.6', text.unit('req/s')));
    expect(valueOf(text, 'preemptions', 3)).toBe('3');
    for (const row of [...METRICS, ...COLUMNS].filter(({ unit }) => unit !== '' && unit !== 'share')) expect(text.named('unit.', row.unit), row.path).not.toBe(`unit.${row.unit}`);
  });

  it('every chart of the service has a title and an explanation', () => {
    const source = ['views.rs', 'views/gateway.rs', 'views/replicas.rs'].map((file) => readFileSync(join(import.meta.dirname, '../../../crate/output/src', file), 'utf8')).join('');
    const names = [...source.matchAll(/(?:OF_ANY|NAMES): \[&str; \d+\] =\s*\[([^\]]*)\]/g)].flatMap(([, list = '']) => [...list.matchAll(/"(\w+)"/g)].map(([, name = '']) => name));
    expect(names.length).toBe(22);
    const found = (key: string): string | undefined => [page, gateway, replicas].map((of) => text.find(of, key)).find((one) => one !== undefined);
    for (const name of names) for (const key of [`chart.${name}`, `chart.${name}.about`]) expect(found(key), key).toBeDefined();
  });
});

describe('one concept has one form', () => {
  /** What must not come back, and what stands in its place. */
  const FORMER: Readonly<Record<'en' | 'zh', readonly (readonly [RegExp, string])[]>> = {
    en: [
      [/\bp(?:50|90|95|99)\b/, 'P99 TTFT, median TTFT'],
      [/, (?:mean|median)$/, 'mean TTFT, median TTFT'],
      [/SLO attainment|TTFT in time/, 'SLO met'],
      [/\bnear overload/, 'nearly overloaded'],
      [/utilisation|[Aa]geing/, 'utilization, aging'],
      [/[0-9}] %/, 'a narrow space before the sign, which no line breaks'],
    ],
    zh: [
      [/\bp(?:50|90|95|99)\b/, 'P99 TTFT'],
      [/嵌入框/, '嵌入代码'],
      [/(?<!随机)种子/, '随机种子'],
      [/，秒$/, '（秒）'],
      [/(?<!^)显存池/, 'KV 池'],
    ],
  };

  it.each(areas.map((of) => [of.name, of] as const))('in %s', (_, of) => {
    for (const [language, table] of [['en', of.english], ['zh', zh.areas[of.name]]] as const) {
      for (const [key, sentence] of Object.entries<string>(table)) for (const [former, now] of FORMER[language]) expect(former.test(sentence.replace(/\{[^}]*\}/g, '{}')), `${key}: “${sentence}” (${now})`).toBe(false);
    }
  });
});

it('raw words are found where they are', () => {
  const text = TEXTS[0] ?? new Text('en', ENGLISH);
  for (const sentence of ['workload.rate_rps is 3', 'the file has scheduler.kind', 'User {index}', 'slo_x']) expect(rawIn(sentence), sentence).not.toBeNull();
  expect(rawIn(text.fill(area('page', { a: 'Open mlp.csv with servescope generate --bodies' }).english.a, {}))).toBeNull();
});
