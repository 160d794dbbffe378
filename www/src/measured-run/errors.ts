// Errors as people read them: a relative one in per cent with one decimal, one of attainment, a share itself, with three.
import type { Format } from '../i18n/format.js';

export function errorText(format: Format, error: number, isShare = false): string {
  return isShare ? error.toFixed(3) : format.withUnit((100 * error).toFixed(1), '%');
}

export function signedError(format: Format, error: number): string {
  return `${error < 0 ? '−' : '+'}${errorText(format, Math.abs(error))}`;
}
