// A series of a chart that the page makes itself.
import type { Series } from '../simulation/types.js';

const NONE = new Float64Array();

/** `more`: the columns that few series have. */
export function series(role: string, mark: Series['mark'], x: readonly number[], y: readonly number[], more: Partial<Series> = {}): Series {
  return { role, mark, x: Float64Array.from(x), y: Float64Array.from(y), y0: NONE, x2: NONE, id: NONE, label: '', ...more };
}
