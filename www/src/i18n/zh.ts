// Chinese, as a file of its own that is read when somebody wants it. The compiler checks it against English: a key that
// is missing is an error here.
import type data from './zh.json';
import address from './zh.json?url';
import type { ParameterId } from '../generated/parameters.js';
import { fetchTable, type PageFailureCode, type Tables } from './tables.js';

type Whole = Tables & { parameters: Record<ParameterId, { label: string; help: string }>; failures: Record<PageFailureCode, string> };
type Checked<T extends Whole> = T;
export type Chinese = Checked<typeof data>;

export function loadChinese(): Promise<Chinese> {
  return fetchTable<Chinese>(address);
}
