import { defineConfig } from 'vitest/config'
import { shared } from './vitest.config.ts'

/** The package, installed as a user does: `npm run test:package`. */
export default defineConfig({
  test: {
    ...shared,
    testTimeout: 120_000,
    include: ['test/package/**/*.test.ts'],
    exclude: [],
    globalSetup: ['test/support/package/packed.ts'],
  },
})
