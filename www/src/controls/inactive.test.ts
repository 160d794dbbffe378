// Why a control does nothing, for every parameter: no reader should meet a long, doubled or mixed-up condition.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { initSync } from '../../pkg/servescope.js';
import parameterText from '../generated/parameter-text.json';
import { Text, type Tables } from '../i18n/text.js';
import { zh } from '../i18n/zh.js';
import { resolve, schema } from '../simulation/module.js';
import type { ScenarioPatch } from '../simulation/types.js';
import { inactive, inactiveReason, remedyOf, remedyWords, whyOf, type Situation } from './inactive.js';

initSync({ module: readFileSync(join(import.meta.dirname, '../../pkg/servescope_bg.wasm')) });

const TABLE = schema();
const PARAMETERS = new Map(TABLE.parameters.map((parameter) => [parameter.id, parameter]));
const ENGLISH: Tables = { areas: {}, parameters: parameterText, module: {} };

function situation(language: 'en' | 'zh', values: ScenarioPatch): Situation {
  const text = new Text(language, language === 'zh' ? zh : ENGLISH, () => PARAMETERS);
  return { parameters: PARAMETERS, schema: TABLE, text, store: { values: { value: values }, resolved: resolve(values) }, traceFile: { info: { value: null } } } as unknown as Situation;
}

const SETTINGS: readonly ScenarioPatch[] = [
  {},
  { 'scheduler.kind': 'vllm_v1', 'cost.kind': 'roofline' },
  { 'gateway.kind': 'proxy' },
  { 'gateway.kind': 'proxy', 'gateway.checks': 'none', 'workload.users.count': 4, 'workload.adapters.count': 0 },
  { 'cost.kind': 'kernels', 'scheduler.kind': 'vllm_v1', 'scheduler.order': 'vtc', 'fleet.replicas': 4 },
];

/** Hundreds of searches for a remedy on a machine that does other things too. */
const SLOW_MS = 60_000;
/** A key of a file, or a place that was not filled. */
const RAW = /[a-z0-9]_[a-z0-9]|[{}]|[a-z]\.[a-z]|\|/;

describe.each(['en', 'zh'] as const)('why a parameter does nothing (%s)', (language) => {
  it.each(SETTINGS.map((values) => [JSON.stringify(values), values] as const))('is short, plain and single with %s', (_, values) => {
    const app = situation(language, values);
    for (const parameter of TABLE.parameters.filter((one) => inactive(app, one) !== null)) {
      const sentence = [inactiveReason(app, parameter), remedyWords(app, remedyOf(app, parameter))].filter((part) => part !== null).join(' ');
      expect(sentence.length, `${parameter.id}: ${sentence}`).toBeLessThanOrEqual(160);
      expect(sentence, parameter.id).not.toMatch(RAW);
      const why = whyOf(app, parameter);
      if (why === null) continue;
      const lines = [...why.all, ...why.any];
      const reported = `${parameter.id}: ${lines.join(' | ')}`;
      expect(lines.length, reported).toBeLessThanOrEqual(3);
      expect(new Set(lines).size, reported).toBe(lines.length);
      expect(lines.join('').length, reported).toBeLessThanOrEqual(160);
      for (const line of lines) expect(line, reported).not.toMatch(RAW);
      // What must hold in any case is not said again in each of the ways.
      for (const line of why.any) for (const common of why.all) expect(line, reported).not.toContain(common);
    }
  }, SLOW_MS);

  it('names a remedy for every parameter that settings can give an effect', () => {
    const app = situation(language, {});
    const without = TABLE.parameters.filter((one) => inactive(app, one)?.key === 'control.no_effect' && remedyWords(app, remedyOf(app, one)) === null);
    expect(without.map(({ id }) => id)).toEqual([]);
  }, SLOW_MS);
});

it('says the remedy first, and the conditions as a list', () => {
  const app = situation('en', {});
  const of = (id: string): [string | null, ReturnType<typeof whyOf>] => {
    const parameter = PARAMETERS.get(id);
    if (parameter === undefined) throw new Error(id);
    return [remedyWords(app, remedyOf(app, parameter)), whyOf(app, parameter)];
  };
  expect(of('gateway.window')[0]).toMatch(/^Set Admission gateway to /);
  expect(of('workload.input_tokens.mixture.low')[1]?.all.filter((line) => line.startsWith('Prompt lengths ='))).toHaveLength(1);
  const [, retry] = of('gateway.retry.kind');
  expect(retry?.all.length).toBeGreaterThan(0);
  expect((retry?.any.length ?? 0) + (retry?.more ?? 0)).toBeGreaterThan(1);
});
