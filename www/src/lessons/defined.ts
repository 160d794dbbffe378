// Words of the glossary in a lesson's sentences: the first of each on a screen has its definition.
import type { App } from '../app/app.js';
import { definition } from '../ui/definition.js';
import { EN, ZH } from '../generated/glossary.js';
import type { Language } from '../i18n/format.js';

interface Words { form: RegExp; rows: ReadonlyMap<string, number> }

/** "Time to first token (TTFT)" is said in full or in short. */
function formsOf(word: string): string[] {
  const [, full = word, short = ''] = /^([^(（]+?)\s*(?:[(（](.+)[)）])?$/.exec(word) ?? [];
  return [full, ...short.split(/[,，、]\s*/)].filter((form) => form.length > 1);
}

function wordsOf(language: Language): Words {
  const rows = new Map((language === 'zh' ? ZH : EN).flatMap(([word], row) => formsOf(word).map((form) => [form.toLowerCase(), row] as const)));
  const forms = [...rows.keys()].sort((one, other) => other.length - one.length).map((form) => form.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  // The Chinese sentence has no ends of words, but names in it do.
  return { form: language === 'zh' ? new RegExp(`(?<![a-z])(${forms.join('|')})(?![a-z])`, 'iu') : new RegExp(`\\b(${forms.join('|')})(?=s?\\b)`, 'iu'), rows };
}

const known = new Map<Language, Words>();

/** A text with definitions; `reported` are the rows that the screen has explained before. */
export function defined({ text: { language } }: App, text: string, reported: Set<number>): unknown[] {
  const { form, rows } = known.get(language) ?? wordsOf(language);
  if (!known.has(language)) known.set(language, { form, rows });
  const parts: unknown[] = [];
  let rest = text;
  let plain = '';
  for (let match = form.exec(rest); match !== null; match = form.exec(rest)) {
    const [word] = match;
    const row = rows.get(word.toLowerCase());
    plain += rest.slice(0, match.index);
    rest = rest.slice(match.index + word.length);
    const about = row === undefined ? undefined : (language === 'zh' ? ZH : EN)[row];
    if (row === undefined || about === undefined || reported.has(row)) {
      plain += word;
      continue;
    }
    reported.add(row);
    parts.push(plain, definition(`defined-${String(row)}`, word, `${about[0]}${language === 'zh' ? '：' : ': '}${about[1]}`));
    plain = '';
  }
  return [...parts, plain + rest];
}
