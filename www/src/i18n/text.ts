// One language's texts: those of the page by area and key, and what the modules name.
import type { ChartData, Diagnostic, Parameter, ParameterValue } from '../simulation/types.js';
import type { FactCode, ParameterId, ReasonCode, RefusalCode, RuleCode, SentenceCode, StepFieldName, StepName } from '../generated/parameters.js';
import type { Language } from './format.js';
import { CHAIN, NONE, USUAL } from '../simulation/gateway-checks.js';
import { fill, placesOf, type Area, type AreaName, type Params, type PlainKey, type Say, type Table } from './area.js';
import { shownParams, withLabels, type Parameters } from './diagnostic-values.js';
import { diagnostics } from './en/diagnostics.js';
import { names } from './en/names.js';
import { options } from './en/options.js';
import { page } from './en/page.js';
import { Format, LOCALE } from './format.js';

export type MessageKey = PlainKey<typeof page>;

export type ParameterTexts = Readonly<Record<ParameterId, { label: string; help: string }>>;

/** What the modules say in English themselves, so that the page has it in other languages only. */
export type ModuleTexts = Readonly<Record<
  `step.${StepName}` | `step.${StepName}.about` | `field.${StepFieldName}` | `fact.${FactCode}` | `refusal.${RefusalCode}` | `reason.${ReasonCode}` | 'reason_at' | `expected.${string}` | `sentence.${SentenceCode}` | `rule.${RuleCode}` | `model.${string}` | `note.${string}`,
  string>>;

/** What a language has beside the English that is in the scripts. */
export interface Tables {
  areas: Readonly<Partial<Record<AreaName, Table>>>;
  parameters: Readonly<Partial<ParameterTexts>>;
  module: Table;
}

const MOST_DIAGNOSTICS = 3;
const NO_PARAMETERS: Parameters = new Map();

export class Text {
  readonly format: Format;
  /** Says a text of the page's own area. */
  readonly t: Say<typeof page>;
  readonly #plural: Intl.PluralRules;

  /** `parameters` knows the parameter table once it is there. */
  constructor(readonly language: Language, private readonly tables: Tables, private readonly parameters: () => Parameters = () => NO_PARAMETERS) {
    this.format = new Format(language);
    this.#plural = new Intl.PluralRules(LOCALE[language]);
    this.t = this.say(page);
  }

  say<A extends Area<Table>>(area: A): Say<A> {
    const table = this.#table(area);
    return (key, ...[values]) => this.fill(table[key] ?? key, values ?? {});
  }

  /** The text of a key that is put together of what a module names; undefined where the area has none. */
  find(area: Area<Table>, key: string): string | undefined {
    return lookUp(this.#table(area), key);
  }

  /** The page's text for a name that came from a module; the name itself where there is none. */
  named(prefix: string, name: string): string {
    return this.find(page, `${prefix}${name}`) ?? name;
  }

  /** What a module says in English, in another language; undefined in English. */
  ofModule(key: string): string | undefined {
    return lookUp(this.tables.module, key);
  }

  label(parameter: Parameter): string {
    return lookUp(this.tables.parameters, parameter.id)?.label ?? parameter.id;
  }

  help(parameter: Parameter): string {
    return lookUp(this.tables.parameters, parameter.id)?.help ?? '';
  }

  /** The name of a choice; a value may mean something else for one parameter than for the others. */
  option(value: string, parameter = ''): string {
    return this.find(options, `${parameter}=${value}`) ?? this.find(options, value) ?? value.replaceAll('_', ' ');
  }

  /** What an option of a parameter is called: GPUs and models by their own names. */
  choice({ id, options: all, names: own }: Parameter, value: string): string {
    const name = own[all.indexOf(value)] ?? '';
    return name === '' ? this.option(value, id) : name;
  }

  mark(key: string): string {
    return this.find(names, key) ?? key;
  }

  /** A check of the gateway. */
  check(check: string): string {
    return this.find(names, `held_by.${check}`) ?? check.replaceAll('_', ' ');
  }

  outcome(outcome: string): string {
    return this.find(names, `outcome.${outcome}`) ?? outcome.replaceAll('_', ' ');
  }

  /** The page's own words where they can be filled in, the module's English otherwise. */
  diagnostic(diagnostic: Diagnostic): string {
    const { pool } = diagnostic.params;
    const words = this.#reported(diagnostic);
    // A text that names the pool itself needs no name before it.
    if (pool === undefined || placesOf(this.find(diagnostics, diagnostic.code) ?? '').has('pool')) return words;
    const own = `pool ${String(pool)}: `;
    return this.t('list.of_pool', { pool: String(pool), words: words.startsWith(own) ? words.slice(own.length) : words });
  }

  #reported(diagnostic: Diagnostic): string {
    const template = this.find(diagnostics, diagnostic.code);
    const filled = template === undefined ? undefined : this.fill(template, shownParams(this, this.parameters(), diagnostic));
    if (filled !== undefined && placesOf(filled).size === 0) return filled;
    // The place that stands before it is named by the code that shows it.
    const { message, path } = diagnostic;
    return withLabels(this, this.parameters(), message.startsWith(`${path}: `) ? message.slice(path.length + 2) : message);
  }

  /** What is wrong, of more than a reader takes in the first only. */
  diagnostics(diagnostics: readonly Diagnostic[], words: (diagnostic: Diagnostic) => string = (diagnostic) => this.diagnostic(diagnostic)): string {
    const more = diagnostics.length - MOST_DIAGNOSTICS;
    const reported = diagnostics.slice(0, MOST_DIAGNOSTICS).map(words);
    return [...reported, ...(more > 0 ? [this.t('list.more', { count: more })] : [])].join(this.language === 'zh' ? '' : ' ');
  }

  list(items: readonly string[]): string {
    return items.join(this.t('list.items'));
  }

  /** Name of a place on an index axis. */
  category(chart: ChartData, index: number): string {
    const name = chart.categories[index];
    if (name === 'base') return this.t('chart.base_model');
    if (name === 'others') return this.t('chart.others');
    if (name !== undefined && !/^\d+$/.test(name)) return name;
    if (name !== undefined) return `${this.t(chart.x.unit === 'user' ? 'axis.user' : 'axis.adapter')} ${name}`;
    const place = chart.name === 'shares' ? 'axis.adapter' : chart.x.unit === 'draft' ? 'axis.draft' : 'axis.category';
    return `${this.t(place)} ${String(index)}`;
  }

  unit(unit: string): string {
    return this.named('unit.', unit);
  }

  value(parameter: Parameter, value: ParameterValue): string {
    if (parameter.type === 'boolean') return this.t(String(value) === 'true' ? 'control.on' : 'control.off');
    if (typeof value === 'boolean') return String(value);
    if (typeof value === 'string') return parameter.type === 'text' ? this.#typedText(parameter, value) : this.choice(parameter, value);
    if (Array.isArray(value)) return value.map((entry) => this.format.exact(entry)).join(', ');
    return this.format.withUnit(parameter.id === 'seed' ? String(value) : this.format.exact(value), this.unit(parameter.unit));
  }

  /** What was typed, and of the chain of checks their names. */
  #typedText({ id }: Parameter, value: string): string {
    if (id === CHAIN && value !== NONE) return this.list((value === '' ? USUAL : value).split('|').map((check) => this.find(names, `check.${check.trim()}`) ?? check));
    return value === NONE || value === '' ? this.t('control.none') : value;
  }

  fill(template: string, params: Params): string {
    return fill(template, params, (value) => this.format.exact(value), this.#plural);
  }

  #table(area: Area<Table>): Table {
    return this.tables.areas[area.name] ?? area.english;
  }
}

function lookUp<V>(table: Readonly<Record<string, V>>, key: string): V | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}
