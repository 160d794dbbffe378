// When a worker must be given the loaded profile again.
import { expect, it } from 'vitest';
import type { FittedProfile } from '../engine/types.js';
import { isLost } from './profile-own.js';

const own: FittedProfile = { name: 'own.txt', gpu: 'g', model: 'a/b', text: '', degrees: [1, 2], errors: [], notes: [] };

it('knows a worker that has lost the profile from one that cannot use it', () => {
  expect(isLost(own, 2, null)).toBe(true);
  expect(isLost(own, 2, 'own.txt')).toBe(false);
  expect(isLost(own, 4, null)).toBe(false);
  expect(isLost(null, 1, null)).toBe(false);
});
