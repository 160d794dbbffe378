// Chinese names and helps of the parameters; the compiler checks that none is missing.
import type { ParameterId } from '../generated/parameters.js';

export const parametersZh: Readonly<Record<ParameterId, { label: string; help: string }>> = {
};
