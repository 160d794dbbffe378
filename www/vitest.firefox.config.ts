// The tests in Firefox, which `cargo xtask test --only firefox` runs.
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['tests/firefox/*.firefox.ts'],
    environment: 'node',
    testTimeout: 240_000,
    hookTimeout: 60_000,
    // One browser at a time, and a page at a time in it.
    fileParallelism: false,
  },
});
