// Chinese, as a file of its own that is read when somebody wants it. The compiler checks it against English: a key that
// is missing is an error here.
import type data from './zh.json';
import address from './zh.json?url';
import type { ParameterId } from '../generated/parameters.js';
import type { Tables } from './tables.js';

type Whole = Tables & { parameters: Record<ParameterId, { label: string; help: string }> };
type Checked<T extends Whole> = T;
export type Chinese = Checked<typeof data>;

export const chineseFile = new URL(address, import.meta.url).href;

export async function loadChinese(): Promise<Chinese> {
  const response = await fetch(chineseFile);
  if (!response.ok) throw new Error(`${address}: HTTP ${String(response.status)}`);
  return await response.json() as Chinese;
}
