import { defineConfig } from 'vitest/config'
import { COMPUTING_WORKERS, shared } from './vitest.config.ts'

/** Suites that build images and boot virtual machines: `npm run test:vm`. */
export default defineConfig({
  test: {
    ...shared,
    maxWorkers: COMPUTING_WORKERS,
    testTimeout: 600_000,
    hookTimeout: 300_000,
    include: ['test/vm/**/*.test.ts', 'test/workspace/backend/{backend,programs}.test.ts'],
    // Suites that cover all backends use machines here.
    env: { TEST_BACKENDS: 'machines' },
    exclude: [],
    globalSetup: ['test/support/vm/vm-parts.ts', 'test/support/vm/vm-image-setup.ts'],
  },
})
