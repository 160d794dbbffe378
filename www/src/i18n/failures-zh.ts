// Chinese for every failure code; English is the failure's own message.
import type { FailureCode } from '../generated/parameters.js';

export const failuresZh: Readonly<Record<FailureCode, string>> = {
};
