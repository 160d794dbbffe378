// What was typed into a box, as the parameter's type wants it. Bounds are not checked here: they are the module's.
import type { Parameter, ParameterValue } from '../simulation/types.js';

export type Typed = { value: ParameterValue } | { wrong: 'not_a_number' | 'not_a_list' };

/** Its amounts may have a unit of their own behind the number, which the module reads. */
const MEMORY = 'GiB';

export function parseTyped(parameter: Pick<Parameter, 'type' | 'unit'>, text: string, badInput: boolean): Typed {
  if (parameter.type === 'text') return { value: text };
  if (parameter.type === 'list') return parseList(text);
  // A comma of decimals, as half the world writes it; one of thousands is none.
  const unit = parameter.unit === MEMORY ? /[a-z]+\s*$/i.exec(text)?.[0] ?? '' : '';
  const number = text.slice(0, text.length - unit.length);
  const written = (/^\s*-?\d*,\d+\s*$/.test(number) && !/^\s*-?\d{1,3},\d{3}\s*$/.test(number) ? number.replace(',', '.') : number) + unit;
  const value = written.trim() === '' || badInput ? NaN : Number(written);
  if (Number.isFinite(value)) return { value };
  return unit !== '' && /\d/.test(number) ? { value: written.trim() } : { wrong: 'not_a_number' };
}

function parseList(text: string): Typed {
  const entries = text.split(/[\s,，、;]+/).filter((entry) => entry !== '').map(Number);
  return entries.every((entry) => Number.isFinite(entry)) ? { value: entries } : { wrong: 'not_a_list' };
}
