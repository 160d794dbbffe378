// What a lesson says of its runs: a term is arithmetic over numbers and metrics, `main.ttft_s.p99 / beside.ttft_s.p99`, a claim
// compares terms, `main.preemptions > 0 and beside.preemptions = 0`; `given.` are numbers that a text brings along, such as measured
// ones. The same text fills the sentences and is checked by a test.
import type { NumberKind } from '../i18n/format.js';
import type { Summary } from '../simulation/types.js';

export const RUNS = ['main', 'beside'] as const;
export type Run = (typeof RUNS)[number];
/** Null while a run is not there. */
export type Runs = Readonly<Record<Run, Summary | null>> & { readonly given?: object };

const TOKEN = /\s*(\d+(?:\.\d+)?|[a-z_]\w*(?:\.\w+)*|[-+*/()])/y;
const METRIC = /^(main|beside|given)\.(.+)$/;

/** The value of a metric's path in a summary; of `per_user` and `per_adapter`, the next part is the row's id. */
function metricOf(summary: object, path: string): number | null {
  let at: unknown = summary;
  for (const part of path.split('.')) {
    if (Array.isArray(at)) at = at.find((row: { id?: unknown }) => row.id === Number(part));
    else at = typeof at === 'object' && at !== null ? (at as Record<string, unknown>)[part] : undefined;
  }
  return typeof at === 'number' ? at : null;
}

function tokens(text: string): string[] {
  const found: string[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.trimEnd().length) {
    const match = TOKEN.exec(text);
    if (match?.[1] === undefined) throw new Error(`not a term: ${text}`);
    found.push(match[1]);
  }
  return found;
}

/** The value of a term; null where a run, or a metric of it, is not there. */
export function valueOf(text: string, runs: Runs): number | null {
  const rest = tokens(text);
  const atom = (): number => {
    const token = rest.shift() ?? '';
    if (token === '(') {
      const inner = sum();
      if (rest.shift() !== ')') throw new Error(`no ")" in ${text}`);
      return inner;
    }
    const [, run, path] = METRIC.exec(token) ?? [];
    if (run === undefined || path === undefined) {
      if (!/^\d/.test(token)) throw new Error(`not a metric of a run: ${token} in ${text}`);
      return Number(token);
    }
    const summary = runs[run as keyof Runs] ?? null;
    return (summary === null ? null : metricOf(summary, path)) ?? NaN;
  };
  const product = (): number => {
    let value = atom();
    for (let sign = rest[0]; sign === '*' || sign === '/'; sign = rest[0]) {
      rest.shift();
      value = sign === '*' ? value * atom() : value / atom();
    }
    return value;
  };
  const sum = (): number => {
    let value = product();
    for (let sign = rest[0]; sign === '+' || sign === '-'; sign = rest[0]) {
      rest.shift();
      value = sign === '+' ? value + product() : value - product();
    }
    return value;
  };
  const value = sum();
  if (rest.length > 0) throw new Error(`not a term: ${text}`);
  return Number.isFinite(value) ? value : null;
}

const COMPARISON = /^(.*?)(<=|>=|<|>|=)(.*)$/;

/** Whether a claim holds; null where one of its metrics is not there. */
export function holds(claim: string, runs: Runs): boolean | null {
  let all = true;
  for (const part of claim.split(' and ')) {
    const [, left, sign, right] = COMPARISON.exec(part) ?? [];
    if (left === undefined || right === undefined) throw new Error(`not a claim: ${part}`);
    const [one, other] = [valueOf(left, runs), valueOf(right, runs)];
    if (one === null || other === null) return null;
    all &&= compare(one, sign ?? '', other);
  }
  return all;
}

function compare(one: number, sign: string, other: number): boolean {
  switch (sign) {
    case '<': return one < other;
    case '>': return one > other;
    case '<=': return one <= other;
    case '>=': return one >= other;
    default: return one === other;
  }
}

const SHARES = /\.(expected_error\.(?:ttft|tpot)|mean_usage|peak_usage|busy|attainment|attainment_all|hit_rate|hit_share|dummy_share|waited_share|rearranging_share|acceptance_rate|share)$/;

/** How a term's value is written: a metric in its unit, anything computed of several as a number. */
export function kindOf(text: string): NumberKind {
  const [metric = ''] = tokens(text);
  const isDifference = /^\S+( [-+] \S+)*$/.test(text.trim());
  if (!isDifference) return 'number';
  if (/_s(\.|$)/.test(metric)) return /output_tokens_per_s|total_tokens_per_s/.test(metric) ? 'count' : 'seconds';
  if (SHARES.test(metric)) return 'share';
  return /requests\.|preemptions|loads|attempts|tokens|\.rows/.test(metric) ? 'count' : 'number';
}

/** The runs that a term or a claim is about. */
export function runsIn(text: string): Run[] {
  return RUNS.filter((run) => new RegExp(`\\b${run}\\.`).test(text));
}
