// Numbers as people read them: three significant digits, tabular, the unit always there.

export type Language = 'en' | 'zh';
export const LOCALE: Record<Language, string> = { en: 'en-GB', zh: 'zh-CN' };
const SECONDS: Record<Language, Record<'s' | 'ms', string>> = { en: { s: 's', ms: 'ms' }, zh: { s: '秒', ms: '毫秒' } };
/** Between a number and its unit: no line break there. */
const THIN = '\u202f';
export const MISSING = '–';

export type NumberKind = 'number' | 'count' | 'seconds' | 'share';

export class Format {
  readonly #significant: Intl.NumberFormat;
  readonly #whole: Intl.NumberFormat;
  readonly #exact: Intl.NumberFormat;

  constructor(private readonly language: Language) {
    const locale = LOCALE[language];
    this.#significant = new Intl.NumberFormat(locale, { maximumSignificantDigits: 3 });
    this.#whole = new Intl.NumberFormat(locale, { maximumFractionDigits: 0 });
    this.#exact = new Intl.NumberFormat(locale, { maximumSignificantDigits: 12 });
  }

  /** At most three significant digits. */
  short(value: number): string {
    return this.#significant.format(tidy(value));
  }

  whole(value: number): string {
    return this.#whole.format(value);
  }

  /** As it was set: every digit that matters. */
  exact(value: number): string {
    return this.#exact.format(value);
  }

  /** With this many places behind the point. */
  fixed(value: number, places: number): string {
    return new Intl.NumberFormat(LOCALE[this.language], { minimumFractionDigits: places, maximumFractionDigits: places }).format(value);
  }

  seconds(value: number): string {
    const [amount, unit] = secondsParts(value);
    return `${this.short(amount)}${THIN}${SECONDS[this.language][unit]}`;
  }

  share(value: number): string {
    return `${this.short(value * 100)}${THIN}%`;
  }

  of(kind: NumberKind, value: number | null): string {
    if (value === null || !Number.isFinite(value)) return MISSING;
    switch (kind) {
      case 'number': return this.short(value);
      case 'count': return this.whole(value);
      case 'seconds': return this.seconds(value);
      case 'share': return this.share(value);
    }
  }

  withUnit(value: string, unit: string): string {
    return unit === '' ? value : `${value}${THIN}${unit}`;
  }
}

/** A difference of two rounded numbers must not show up as 5e-17. */
function tidy(value: number): number {
  return Math.abs(value) < 1e-9 ? 0 : value;
}

export function secondsParts(value: number): [number, 's' | 'ms'] {
  const small = Math.abs(value) < 0.1 && value !== 0;
  return small ? [value * 1000, 'ms'] : [value, 's'];
}
