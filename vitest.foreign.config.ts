import { defineConfig } from 'vitest/config'
import { shared } from './vitest.config.ts'

/** Tests with the clients that people use, ending in a table of them: `npm run test:foreign`. */
export default defineConfig({
  test: {
    ...shared,
    include: ['test/foreign/**/*.test.ts'],
    exclude: [],
    reporters: ['default', './test/support/foreign/table-reporter.ts'],
  },
})
