// One language's words: the message table, and what the wasm module names by key.
import type { ChartData, Failure, Parameter, ParameterValue } from '../engine/types.js';
import type { Language } from '../state/settings.js';
import { en, type MessageKey } from './en.js';
import { Format } from './format.js';
import type { Tables } from './tables.js';

export type Params = Readonly<Record<string, string | number>>;

export class Text {
  readonly format: Format;
  readonly #tables: Tables;

  constructor(readonly language: Language, tables: Tables) {
    this.format = new Format(language);
    this.#tables = tables;
  }

  readonly t = (key: MessageKey, params: Params = {}): string => this.fill(this.#tables.messages[key], params);

  /** A message whose key came from the module; the key itself when the table has none. */
  named(prefix: string, key: string): string {
    const full = `${prefix}${key}`;
    return isKey(full) ? this.#tables.messages[full] : key;
  }

  label(parameter: Parameter): string {
    return lookUp(this.#tables.parameters, parameter.id)?.label ?? parameter.label;
  }

  help(parameter: Parameter): string {
    return lookUp(this.#tables.parameters, parameter.id)?.help ?? parameter.help;
  }

  option(value: string): string {
    return lookUp(this.#tables.options, value) ?? value.replaceAll('_', ' ');
  }

  mark(key: string): string {
    return lookUp<string>(this.#tables.marks, key) ?? key;
  }

  reason(key: string, params: Params): string {
    const template = lookUp<string>(this.#tables.reasons, key);
    return template === undefined ? key : this.fill(template, params);
  }

  /** The page's own words where they can be filled in, the module's English otherwise. */
  failure({ code, message, params }: Failure): string {
    const template = lookUp<string>(this.#tables.failures, code);
    if (template === undefined) return message;
    const filled = this.fill(template, this.#named(params));
    return /\{\w+\}/.test(filled) ? message : filled;
  }

  /** Reasons come as names with commas between them. */
  #named(params: Params): Params {
    const { reasons } = params;
    if (typeof reasons !== 'string') return params;
    const words = reasons.split(', ').map((reason) => this.outcome(reason));
    return { ...params, reasons: words.join(this.language === 'zh' ? '、' : ', ') };
  }

  failures(failures: readonly Failure[]): string {
    return failures.map((failure) => this.failure(failure)).join(this.language === 'zh' ? '；' : '; ');
  }

  outcome(outcome: string): string {
    return lookUp(this.#tables.outcomes, outcome) ?? outcome.replaceAll('_', ' ');
  }

  /** Name of a place on an index axis. */
  category(chart: ChartData, index: number): string {
    const name = chart.categories[index];
    if (name === 'base') return this.t('chart.base_model');
    if (name === 'others') return this.t('chart.others');
    if (name !== undefined && !/^\d+$/.test(name)) return name;
    if (name !== undefined) return `${this.t('axis.adapter')} ${name}`;
    return `${this.t(chart.name === 'shares' ? 'axis.adapter' : 'axis.category')} ${String(index)}`;
  }

  unit(unit: string): string {
    return this.named('unit.', unit);
  }

  value(parameter: Parameter, value: ParameterValue): string {
    if (parameter.type === 'boolean') return this.t(String(value) === 'true' ? 'control.on' : 'control.off');
    if (typeof value === 'boolean') return String(value);
    if (typeof value === 'string') return parameter.type === 'text' ? value || this.t('control.none') : this.option(value);
    if (Array.isArray(value)) return value.map((entry) => this.format.exact(entry)).join(', ');
    return this.format.withUnit(parameter.id === 'seed' ? String(value) : this.format.exact(value), this.unit(parameter.unit));
  }

  fill(template: string, params: Params): string {
    return template.replace(/\{(\w+)\}/g, (whole, name: string) => {
      const value = params[name];
      if (value === undefined) return whole;
      return typeof value === 'number' ? this.format.exact(value) : value;
    });
  }
}

function isKey(key: string): key is MessageKey {
  return Object.hasOwn(en, key);
}

function lookUp<V>(table: Readonly<Record<string, V>>, key: string): V | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}
