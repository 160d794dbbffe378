// What was typed into a box, as the parameter's type wants it. Bounds are not checked here: they are the module's.
import type { Parameter, ParameterValue } from '../simulation/types.js';

export type Typed = { value: ParameterValue } | { wrong: 'not_a_number' | 'not_a_list' };

export function parseTyped(parameter: Pick<Parameter, 'type'>, text: string, badInput: boolean): Typed {
  if (parameter.type === 'text') return { value: text };
  if (parameter.type === 'list') return parseList(text);
  // A comma of decimals, as half the world writes it; one of thousands is none.
  const written = /^\s*-?\d*,\d+\s*$/.test(text) && !/^\s*-?\d{1,3},\d{3}\s*$/.test(text) ? text.replace(',', '.') : text;
  const value = written.trim() === '' || badInput ? NaN : Number(written);
  return Number.isFinite(value) ? { value } : { wrong: 'not_a_number' };
}

function parseList(text: string): Typed {
  const entries = text.split(/[\s,，、;]+/).filter((entry) => entry !== '').map(Number);
  return entries.every((entry) => Number.isFinite(entry)) ? { value: entries } : { wrong: 'not_a_list' };
}
