import { defineConfig } from 'vitest/config'
import { COMPUTING_WORKERS, shared } from './vitest.config.ts'

/** Tests of the package, installed as by a user: `npm run test:package`. */
export default defineConfig({
  test: {
    ...shared,
    maxWorkers: COMPUTING_WORKERS,
    include: ['test/package/**/*.test.ts'],
    exclude: [],
    globalSetup: ['test/support/package/packed.ts'],
  },
})
