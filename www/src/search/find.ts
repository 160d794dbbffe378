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
  /** Those of `also` that are as good as its label where a query is one of them, to the letter. */
  names?: readonly string[];
}

const MOST = 20;
const MISSED = Infinity;

/** Words that make a question of what is looked for: texts have them anywhere, or not at all. */
const ASKING = new Set([
  'a', 'an', 'the', 'i', 'my', 'me', 'we', 'our', 'it', 'for', 'which', 'why', 'on', 'what', 'how', 'is', 'are', 'do', 'does', 'can', 'should', 'would', 'will',
  'and', 'if', 'when', 'happens', 'worth', 'best', 'better', 'good', 'help', 'need', 'use',
  '哪个', '哪种', '哪些', '什么', '怎么', '怎样', '如何', '是否', '应该', '会', '能', '我', '我的', '的', '吗', '呢', '值得', '值得吗', '最好', '更好', '如果', '和', '需要', '有用', '有用吗',
]);

/** The words of a query that an entry has to have: of a question, what it is about. */
interface Query { typed: string; words: readonly string[]; isQuestion: boolean }

function queryOf(text: string): Query {
  const all = plain(text).replace(/[?？]/g, ' ').split(/\s+/).filter((word) => word !== '');
  const telling = all.filter((word) => !ASKING.has(word));
  const words = telling.length > 0 ? telling : all;
  return { typed: all.join(' '), words, isQuestion: words.length < all.length };
}

/** The entries in which every word of the query occurs. Where two fit alike, the earlier one comes first. */
export function find(entries: readonly Entry[], text: string): Entry[] {
  const query = queryOf(text);
  if (query.words.length === 0) return [];
  return entries
    .map((entry, place) => ({ entry, place, distance: distanceOf(entry, query) }))
    .filter(({ distance }) => distance < MISSED)
    .sort((one, other) => one.distance - other.distance || one.place - other.place)
    .slice(0, MOST)
    .map(({ entry }) => entry);
}

/** Names of flags, of fields and of things differ by what stands between their words. */
function plain(text: string): string {
  return text.toLowerCase().replace(/[-_]/g, ' ');
}

const NAMED = 0.25;
const ASKED = 0.4;
const BEGINS = 0.5;

/**
 * 0 where the label is the query. Then come those that have it among their names, those in which a question
 * stands as typed and those whose label begins with it; and behind these more the further away from the label the words occur.
 */
function distanceOf({ id, label, about, also, names = [] }: Entry, { typed, words, isQuestion }: Query): number {
  const [name, path, other, text] = [label, id, also, about].map(plain) as [string, string, string, string];
  const whole = words.join(' ');
  if (name === whole) return 0;
  if (names.map(plain).some((further) => further === whole || further === typed) || (isQuestion && name.startsWith(typed))) return NAMED;
  if (isQuestion && [name, path, other].some((part) => part.includes(typed))) return ASKED;
  if (name.startsWith(whole)) return BEGINS;
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
