// What a language consists of. English is the key: another language has the same, checked by the compiler. What it says of
// the parameters is in the parameter table, and comes as a file.
import address from '../generated/parameter-text.json?url';
import type { FailureCode, ParameterId } from '../generated/parameters.js';
import { en, type Messages } from './en.js';
import type failuresEn from './failures-en.json';
import failuresAddress from './failures-en.json?url';
import { marksEn, outcomesEn } from './keys.js';
import type namesEn from './names-en.json';
import namesAddress from './names-en.json?url';

/** The modules' failures, and the page's own: a part of it that could not be fetched. */
export type PageFailureCode = FailureCode | 'missing_part';

export interface Tables {
  messages: Messages;
  /** Names and helps of the parameters. */
  parameters: Readonly<Partial<Record<ParameterId, { label: string; help: string }>>>;
  /** What is wrong, in words a newcomer understands; the module's own English names paths and files. */
  failures: Readonly<Partial<Record<PageFailureCode, string>>>;
  marks: Readonly<Record<keyof typeof marksEn, string>>;
  reasons: Readonly<Partial<Record<keyof (typeof namesEn)['reasons'], string>>>;
  /** Choices and outcomes whose own names say too little; the English name of another choice is shown as it is. */
  options: Readonly<Record<string, string>>;
  outcomes: Readonly<Record<string, string>>;
}

/** English as far as it is needed before anything else is read. */
export const english: Tables = {
  messages: en, parameters: {}, failures: {}, marks: marksEn, outcomes: outcomesEn, reasons: {}, options: {},
};

type Checked<T extends Record<PageFailureCode, string>> = T;

export async function loadEnglish(): Promise<Tables> {
  const [parameters, failures, names] = await Promise.all([
    fetchTable<Tables['parameters']>(address), fetchTable<Checked<typeof failuresEn>>(failuresAddress),
    fetchTable<Pick<Tables, 'reasons' | 'options'>>(namesAddress),
  ]);
  return { ...english, ...names, parameters, failures };
}

export async function fetchTable<T>(file: string): Promise<T> {
  const response = await fetch(new URL(file, import.meta.url));
  if (!response.ok) throw new Error(`${file}: HTTP ${String(response.status)}`);
  return await response.json() as T;
}
