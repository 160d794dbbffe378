// What a language consists of. English is the key: another language has the same, checked by the compiler.
import type { FailureCode, ParameterId } from '../generated/parameters.js';
import { en, type Messages } from './en.js';
import { failuresEn } from './failures.js';
import { marksEn, optionsEn, outcomesEn, reasonsEn } from './keys.js';

export interface Tables {
  messages: Messages;
  /** Names and helps of the parameters; English ones come with the parameter table itself. */
  parameters: Readonly<Partial<Record<ParameterId, { label: string; help: string }>>>;
  failures: Readonly<Record<FailureCode, string>>;
  marks: Readonly<Record<keyof typeof marksEn, string>>;
  reasons: Readonly<Record<keyof typeof reasonsEn, string>>;
  /** Choices and outcomes whose own names say too little. */
  options: Readonly<Record<string, string>>;
  outcomes: Readonly<Record<string, string>>;
}

export const english: Tables = {
  messages: en, parameters: {}, failures: failuresEn, marks: marksEn, reasons: reasonsEn, options: optionsEn, outcomes: outcomesEn,
};
