// The studio's own words, in both languages; the compiler compares the tables. Names of steps and fields come from the
// module in English and have their Chinese here.
import type { App } from '../app.js';
import type { Fact, Failure, FitRow, StepField, StepKind } from '../engine/types.js';
import type { FactCode, Loss, RefusalCode, StepFieldName, StepName } from '../generated/parameters.js';
import { ownWords, type SayOf } from '../i18n/own-words.js';
import type { Params } from '../i18n/text.js';
import { chinese, chineseNames } from './words-zh.js';

export const english = {
  'source.title': 'Where requests come from',
  'source.generated': 'The settings generate them: {requests} requests over {span}.',
  'source.file': '{name} ({format}): {requests} requests over {span}, {rate} req/s; on average {input} tokens in and {output} out (P:D ratio {pd}).',
  'source.open': 'Open a file…',
  'source.add': 'Add another file…',
  'source.freeze': 'Take the generated requests as a file',
  'source.close': 'Back to generated requests',
  'source.cancel': 'Cancel',
  'source.generated_name': 'generated, seed {seed}',
  'source.join': 'Several files become one by',
  'source.bad_rows': '{bad} rows of {name} could not be read and were left out. The first are listed:',
  'source.any_output': 'Output length of {requests} requests whose own the file does not have, tokens (empty: the median of the others)',
  'source.leave_out': 'Read {name} without its bad rows',
  'source.row': 'Row',
  'source.column': 'Column',
  'source.reason': 'Reason',

  'map.about': '{name} is in no format that is known here. Say what its columns are, and it is read all the same.',
  'map.start': 'Say what the columns of {name} are',
  'map.none': '(none)',
  'map.read': 'Read the file',
  'map.unit': '{role}: unit',
  'map.missing': 'A column is needed for: {roles}.',
  'map.role.arrival': 'Time of arrival',
  'map.role.input': 'Prompt',
  'map.role.output': 'Answer',
  'map.role.user': 'User',
  'map.role.adapter': 'Adapter',
  'map.role.session': 'Session',
  'map.role.max_tokens': 'max_tokens',

  'draw.title': 'Draw the rate over time',
  'draw.about': 'Press and drag: the rate at each time becomes what you draw, as a multiple of R. The settings on the left have the same points as numbers.',
  'draw.clear': 'Back to a constant rate',
  'draw.value': '{rate} req/s at {time}',
  'draw.label': 'Rate over time, {points} points. Arrow keys move along it and change it.',
  'draw.file': 'A file decides when requests arrive; the curve shapes generated ones only.',

  'steps.title': 'Change them step by step',
  'steps.none': 'No steps: requests stay as they come.',
  'steps.add': 'Add a step',
  'steps.remove': 'Remove {step}',
  'steps.up': 'Move {step} up',
  'steps.down': 'Move {step} down',
  'steps.needs_file': 'Steps change a file. Open one, or take the generated requests as one.',
  'steps.command': 'The same in a terminal',
  'steps.requests': '{before} → {after} requests',
  'steps.rate': '{before} → {after} req/s',
  'steps.cv': 'cv {before} → {after}',

  'charts.title': 'What they look like',
  'charts.before': 'before the steps',
  'chart.traffic_rate': 'Requests per second over time',
  'chart.traffic_rate.about': 'Arrivals per second in columns of equal width.',
  'chart.traffic_input_tokens': 'Prompt tokens per second over time',
  'chart.traffic_input_tokens.about': 'Prompt tokens of the requests that arrive in each column, per second.',
  'chart.traffic_output_tokens': 'Output tokens per second over time',
  'chart.traffic_output_tokens.about': 'Output tokens of the requests that arrive in each column, per second, counted at their arrival.',
  'chart.traffic_sessions': 'Sessions over time',
  'chart.traffic_sessions.about': 'One row per session, from its first to its last request, with a point at each request. At most 200 sessions are shown, evenly chosen. Turns that wait for an output are shown at the earliest possible time.',
  'chart.traffic_gaps': 'Gaps between arrivals',
  'chart.traffic_gaps.about': 'For each length of time, the part of the gaps that are no longer. Gaps of exactly 0 lie at the left edge: many of them mean that a clock with coarse ticks stamped the requests.',
  'chart.traffic_dispersion': 'Burstiness by time scale',
  'chart.traffic_dispersion.about': 'Requests are counted in windows of each width; the variance of the counts over their mean is drawn (index of dispersion). Poisson traffic is 1 at every width; a curve that rises means bursts inside bursts.',
  'chart.traffic_input': 'Prompt lengths',
  'chart.traffic_input.about': 'For each length, the part of the prompts that are no longer.',
  'chart.traffic_output': 'Answer lengths',
  'chart.traffic_output.about': 'For each length, the part of the answers that are no longer.',
  'chart.traffic_users': 'Share of requests by user',
  'chart.traffic_users.about': 'Users from the busiest on, each with its part of all requests.',
  'role.poisson': 'Poisson',

  'fit.title': 'Fit and compare',
  'fit.about': 'A law is fitted to these requests and draws a twin of them with fresh chances. How far the twin is from the source says how far the law can be trusted.',
  'fit.run': 'Fit and draw a twin',
  'fit.again': 'Another twin',
  'fit.model': 'Law of the arrivals',
  'fit.distance': 'Largest difference of the distributions (Kolmogorov)',
  'fit.dispersion': 'Index of dispersion, twin over source',
  'fit.use': 'Simulate the twin in place of the source',
  'fit.working': 'Fitting…',
  'fit.gaps': 'Gaps',
  'fit.input': 'Prompts',
  'fit.output': 'Answers',
  'fit.users': 'Users',
  'fit.window': '{window} s',
  'fit.twin_name': 'twin ({model}, seed {seed})',
  'fit.law.rate': 'Rate, req/s',
  'fit.law.cv': 'cv of the gaps',
  'fit.law.cv_minutes': 'cv within minutes, median',
  'fit.law.gamma': 'Gamma shape, by likelihood',
  'fit.law.weibull': 'Weibull shape, by likelihood',
  'fit.law.dispersion': 'Index of dispersion at 1 / 10 / 60 s',
  'fit.law.input': 'Prompt lengths',
  'fit.law.output': 'Answer lengths',
  'fit.law.length': '{law}, off by {distance}',
  'fit.law.correlation': 'Rank correlation of the two',
  'fit.law.users': 'Users',

  'export.title': 'Take them along',
  'export.about': 'The requests as they are now, in the formats of other tools.',
  'export.format': 'Save as {format}',
  'export.lost': 'The format {format} does not hold everything. Left out: {lost}.',
  'bodies.title': 'Request bodies',
  'bodies.about': 'One line per request: time, path, headers and body, with synthetic prompts of the right length and the settings under “Sampling in request bodies”.',
  'bodies.form': 'Form',
  'bodies.form.slora': 'S-LoRA',
  'bodies.form.openai': 'OpenAI API',
  'bodies.form.vllm': 'vLLM',
  'bodies.form.aibrix': 'AIBrix workload',
  'bodies.form.vllm_custom': 'vLLM custom dataset',
  'bodies.endpoint': 'Endpoint',
  'bodies.endpoint.chat': 'chat completions',
  'bodies.endpoint.completions': 'completions',
  'bodies.model': 'Base model',
  'bodies.adapter': 'Adapter names',
  'bodies.save': 'Save bodies.jsonl',
  'loss.requests': 'some requests',
  'loss.start': 'the time before the first request',
  'loss.times': 'times to the microsecond',
  'loss.lengths': 'lengths',
  'loss.max_tokens': 'max_tokens',
  'loss.users': 'users',
  'loss.adapters': 'adapters and ranks',
  'loss.cancellations': 'clients that went away',
  'loss.waits': 'who waits for whom',
  'loss.sessions': 'sessions',
  'loss.prefixes': 'prefix blocks',
  'loss.models': 'models and kinds',
  'loss.details': 'agents’ events',
  'loss.unknown_outputs': 'which output lengths are unknown',
} as const;

export type WordKey = keyof typeof english;
export type Words = Readonly<Record<WordKey, string>>;

/** What the module says in English, in the other language. */
export interface Named {
  steps: Readonly<Record<StepName, { label: string; help: string }>>;
  fields: Readonly<Record<StepFieldName, string>>;
  facts: Readonly<Record<FactCode, string>>;
  refusals: Readonly<Record<RefusalCode, string>>;
  models: Readonly<Record<string, { label: string; about: string }>>;
  notices: Readonly<Record<string, string>>;
}

export type Say = SayOf<WordKey>;

export const { wordsOf, isWord } = ownWords<WordKey>(english, chinese);

function isChinese(app: App): boolean {
  return app.settings.value.language === 'zh';
}

/** The Chinese of what the module names; undefined in English and for what it does not know. */
function inChinese<T>(app: App, table: Readonly<Record<string, T>>, key: string): T | undefined {
  return isChinese(app) && Object.hasOwn(table, key) ? table[key] : undefined;
}

export function stepLabel(app: App, name: string): string {
  return inChinese(app, chineseNames.steps, name)?.label ?? name.replaceAll('_', ' ');
}

export function stepHelp(app: App, kind: StepKind): string {
  return inChinese(app, chineseNames.steps, kind.name)?.help ?? kind.help;
}

export function fieldWords(app: App, step: string, field: StepField): string {
  return inChinese(app, chineseNames.fields, `${step}.${field.name}`) ?? field.help;
}

export function factWords(app: App, fact: Fact): string {
  return filled(app, inChinese(app, chineseNames.facts, fact.code), fact);
}

export function noticeWords(app: App, fact: Fact): string {
  return filled(app, inChinese(app, chineseNames.notices, fact.code), fact);
}

/** A step's refusal has a code of the studio's own. */
export function refusalWords(app: App, failure: Failure): string {
  const code = failure.code.replace(/^step\./, '');
  if (code === failure.code) return app.text.failure(failure);
  return filled(app, inChinese(app, chineseNames.refusals, code), failure);
}

/** What an export left out. The compiler checks that every loss has a word. */
export function lossWords(app: App, lost: readonly string[]): string {
  const words = lost.map((loss) => {
    const key: WordKey = `loss.${loss as Loss}`;
    return wordsOf(app)(key);
  });
  return words.join(isChinese(app) ? '、' : ', ');
}

export function modelLabel(app: App, model: string): string {
  return inChinese(app, chineseNames.models, model)?.label ?? model.replaceAll('_', ' ').replace('mle', '(likelihood)');
}

export function modelAbout(app: App, row: FitRow): string {
  return inChinese(app, chineseNames.models, row.model)?.about ?? row.about;
}

function filled(app: App, template: string | undefined, { message, params }: { message: string; params: Params }): string {
  if (template === undefined) return message;
  const short = Object.fromEntries(Object.entries(params).map(([name, value]) => [name, typeof value === 'number' ? app.text.format.short(value) : value]));
  return app.text.fill(template, short);
}
