import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/fixtures/**', 'test/long/**', 'test/package/**', 'test/vm/**'],
    // Tests hold real sockets, containers and child processes: a process of its own for every file keeps a crash at home.
    pool: 'forks',
    // Two even where there are two cores: most tests wait for something outside.
    maxWorkers: Math.max(2, Math.floor(availableParallelism() / 2)),
    // For what hangs: machines that are busy with other work take several times what a test takes alone.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    teardownTimeout: 20_000,
  },
})
