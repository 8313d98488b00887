import { defineConfig } from 'vitest/config'
import { shared } from './vitest.config.ts'

/** Suites that run workspaces on a cluster of this machine: `npm run test:cluster`. */
export default defineConfig({
  test: {
    ...shared,
    // One cluster: a test that kills its API server would disturb others.
    maxWorkers: 1,
    include: [
      'test/cluster/**/*.test.ts',
      'test/workspace/backend/{backend,programs,login-environment}.test.ts',
    ],
    // Suites that cover all backends use pods here.
    env: { TEST_BACKENDS: 'cluster' },
    exclude: [],
    globalSetup: ['test/support/cluster/cluster-setup.ts'],
  },
})
