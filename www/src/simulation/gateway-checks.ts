// The chain of checks as the parameter `gateway.checks` writes it, and what moving and switching do to it.

export const CHECKS = ['rpm', 'tpm', 'concurrency', 'queue', 'kv', 'ttft'] as const;
export type Check = (typeof CHECKS)[number];

/** The parameter. */
export const CHAIN = 'gateway.checks';
/** What an empty text stands for. */
export const USUAL = 'rpm|tpm|concurrency|queue';
export const NONE = 'none';

/** The checks that are made, in their order; names that no check has are left out. */
export function readChain(text: string): Check[] {
  return (text === '' ? USUAL : text).split('|').flatMap((name) => CHECKS.filter((check) => check === name.trim()));
}

export function writeChain(checks: readonly Check[]): string {
  const text = checks.length === 0 ? NONE : checks.join('|');
  return text === USUAL ? '' : text;
}

/** All checks: those that are made take the places of `shown` that are not kept by one that is off. */
export function arranged(shown: readonly Check[], on: readonly Check[]): Check[] {
  const next = [...on];
  return shown.map((check) => (on.includes(check) ? (next.shift() ?? check) : check));
}

export function switched(shown: readonly Check[], on: readonly Check[], check: Check): Check[] {
  return shown.filter((one) => on.includes(one) !== (one === check));
}

/** `check` at the place of `target`, and those between them one further. */
export function moved(on: readonly Check[], check: Check, target: Check): Check[] {
  const [from, to] = [on.indexOf(check), on.indexOf(target)];
  if (from < 0 || to < 0) return [...on];
  const others = on.filter((one) => one !== check);
  return [...others.slice(0, to), check, ...others.slice(to)];
}
