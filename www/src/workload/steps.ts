// A step as the page holds it: its kind and the text of each field; and the text that the terminal takes.
import type { StepKind } from '../simulation/types.js';

export interface StepDraft { name: string; values: Readonly<Record<string, string>> }

export function draftOf(kind: StepKind): StepDraft {
  return { name: kind.name, values: Object.fromEntries(kind.fields.map((field) => [field.name, field.default])) };
}

/** Only what differs from the defaults is written. */
export function textOf(draft: StepDraft, kind: StepKind): string {
  const said = kind.fields.flatMap(({ name, default: usual }) => {
    const value = (draft.values[name] ?? usual).trim();
    return value === usual ? [] : [`${name}=${value}`];
  });
  return said.length === 0 ? draft.name : `${draft.name}:${said.join(',')}`;
}

/** Reads a step; what it does not say stands at its default. Null for a step that there is not. */
export function parseStep(text: string, kinds: readonly StepKind[]): StepDraft | null {
  const [name = '', rest = ''] = split(text, ':');
  const kind = kinds.find((known) => known.name === name);
  if (kind === undefined) return null;
  const said = rest.split(',').filter((part) => part !== '').map((part) => split(part, '='));
  return { name, values: { ...draftOf(kind).values, ...Object.fromEntries(said.map(([field, value]) => [field, value ?? ''])) } };
}

/** In two, at the first mark. */
function split(text: string, mark: string): [string, string | undefined] {
  const at = text.indexOf(mark);
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}
