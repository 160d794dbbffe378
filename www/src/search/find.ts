// Which entries a query finds, the best first.

export type Kind = 'parameter' | 'chart' | 'preset' | 'term' | 'limit' | 'section' | 'lesson' | 'docs';

export interface Entry {
  kind: Kind;
  /** What it is called in the document: a path, a chart's name, a preset's, a lesson's or a section's id, a term in English, a page. */
  id: string;
  label: string;
  about: string;
  /** Other words by which it is found: names of options, what other systems call it. */
  also: string;
}

const MOST = 20;
const MISSED = Infinity;

/** The entries in which every word of the query occurs. Where two fit alike, the earlier one comes first. */
export function find(entries: readonly Entry[], query: string): Entry[] {
  const words = plain(query).split(/\s+/).filter((word) => word !== '');
  if (words.length === 0) return [];
  return entries
    .map((entry, place) => ({ entry, place, distance: distanceOf(entry, words) }))
    .filter(({ distance }) => distance < MISSED)
    .sort((one, other) => one.distance - other.distance || one.place - other.place)
    .slice(0, MOST)
    .map(({ entry }) => entry);
}

/** Names of flags, of fields and of things differ by what stands between their words. */
function plain(text: string): string {
  return text.toLowerCase().replace(/[-_]/g, ' ');
}

/** 0 where the label begins with the query; more the further away from the label its words occur. */
function distanceOf({ id, label, about, also }: Entry, words: readonly string[]): number {
  const [name, path, other, text] = [label, id, also, about].map(plain) as [string, string, string, string];
  if (name.startsWith(words.join(' '))) return 0;
  let sum = 0;
  for (const word of words) {
    if (name.split(/[\s(]/).some((part) => part.startsWith(word))) sum += 1;
    else if (name.includes(word)) sum += 2;
    else if (path.includes(word) || other.includes(word)) sum += 4;
    else if (text.includes(word)) sum += 8;
    else return MISSED;
  }
  return sum;
}
