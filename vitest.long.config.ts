import { defineConfig } from 'vitest/config'
import { shared } from './vitest.config.ts'

/** Suites that take minutes: `npm run test:long`. */
export default defineConfig({
  test: { ...shared, include: ['test/long/**/*.test.ts', 'test/**/*.long.test.ts'], exclude: [] },
})
