import { defineConfig } from 'vitest/config'
import everyday from './vitest.config.ts'

/** The suites that take minutes: `npm run test:long`. */
export default defineConfig({
  test: { ...everyday.test, testTimeout: 180_000, include: ['test/long/**/*.test.ts'], exclude: [] },
})
