// One language's texts: those of the page by area and key, and what the modules name.
import type { ChartData, Diagnostic, Parameter, ParameterValue } from '../simulation/types.js';
import type { FactCode, ParameterId, RefusalCode, RuleCode, SentenceCode, StepFieldName, StepName } from '../generated/parameters.js';
import type { Language } from '../state/settings.js';
import { fill, placesOf, type Area, type AreaName, type Params, type PlainKey, type Say, type Table } from './area.js';
import { diagnostics } from './en/diagnostics.js';
import { names } from './en/names.js';
import { options } from './en/options.js';
import { page } from './en/page.js';
import { Format, LOCALE } from './format.js';

export type MessageKey = PlainKey<typeof page>;

export type ParameterTexts = Readonly<Record<ParameterId, { label: string; help: string }>>;

/** What the modules say in English themselves, so that the page has it in other languages only. */
export type ModuleTexts = Readonly<Record<
  `step.${StepName}` | `step.${StepName}.about` | `field.${StepFieldName}` | `fact.${FactCode}` | `refusal.${RefusalCode}` | `sentence.${SentenceCode}` | `rule.${RuleCode}` | `model.${string}` | `note.${string}`,
  string>>;

/** What a language has beside the English that is in the scripts. */
export interface Tables {
  areas: Readonly<Partial<Record<AreaName, Table>>>;
  parameters: Readonly<Partial<ParameterTexts>>;
  module: Table;
}

const MOST_DIAGNOSTICS = 3;

export class Text {
  readonly format: Format;
  /** Says a text of the page's own area. */
  readonly t: Say<typeof page>;
  readonly #plural: Intl.PluralRules;

  constructor(readonly language: Language, private readonly tables: Tables) {
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

  outcome(outcome: string): string {
    return this.find(names, `outcome.${outcome}`) ?? outcome.replaceAll('_', ' ');
  }

  /** The page's own words where they can be filled in, the module's English otherwise. */
  diagnostic({ code, message, params }: Diagnostic): string {
    const template = this.find(diagnostics, code);
    if (template === undefined) return message;
    const filled = this.fill(template, this.#named(params));
    return placesOf(filled).size > 0 ? message : filled;
  }

  /** Reasons come as names with commas between them, a check by its name. */
  #named(params: Params): Params {
    const { check, reasons } = params;
    if (typeof check === 'string') return { ...params, check: this.find(names, `held_by.${check}`) ?? check };
    if (typeof reasons !== 'string') return params;
    return { ...params, reasons: this.list(reasons.split(', ').map((reason) => this.outcome(reason))) };
  }

  /** What is wrong, of more than a reader takes in the first only. */
  diagnostics(diagnostics: readonly Diagnostic[], words: (diagnostic: Diagnostic) => string = (diagnostic) => this.diagnostic(diagnostic)): string {
    const more = diagnostics.length - MOST_DIAGNOSTICS;
    const told = diagnostics.slice(0, MOST_DIAGNOSTICS).map(words);
    return [...told, ...(more > 0 ? [this.t('list.more', { count: more })] : [])].join(this.language === 'zh' ? '' : ' ');
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
    return `${this.t(chart.name === 'shares' ? 'axis.adapter' : 'axis.category')} ${String(index)}`;
  }

  unit(unit: string): string {
    return this.named('unit.', unit);
  }

  value(parameter: Parameter, value: ParameterValue): string {
    if (parameter.type === 'boolean') return this.t(String(value) === 'true' ? 'control.on' : 'control.off');
    if (typeof value === 'boolean') return String(value);
    if (typeof value === 'string') return parameter.type === 'text' ? value || this.t('control.none') : this.choice(parameter, value);
    if (Array.isArray(value)) return value.map((entry) => this.format.exact(entry)).join(', ');
    return this.format.withUnit(parameter.id === 'seed' ? String(value) : this.format.exact(value), this.unit(parameter.unit));
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
