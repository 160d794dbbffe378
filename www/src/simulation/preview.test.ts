import { expect, it } from 'vitest';
import { previewOf } from './preview.js';

const values = { 'workload.rate_rps': 10, 'workload.duration_s': 1000 };

it('makes none before anything was measured, nor for short runs', () => {
  expect(previewOf({}, values, null)).toBeNull();
  expect(previewOf({}, values, { requests: 10_000, compute_ms: 30 })).toBeNull();
});

it('shortens a long run to what fits, and nothing else', () => {
  const preview = previewOf({ seed: 7 }, values, { requests: 10_000, compute_ms: 200 });
  expect(preview).toEqual({ seed: 7, 'workload.duration_s': 100 });
});

it('never shortens below what shows anything', () => {
  expect(previewOf({}, values, { requests: 10, compute_ms: 1000 })?.['workload.duration_s']).toBe(10);
  expect(previewOf({}, { ...values, 'workload.duration_s': 8 }, { requests: 10, compute_ms: 1000 })).toBeNull();
});
