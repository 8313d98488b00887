import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/fixtures/**', 'test/vm/**'],
    // Tests hold real sockets, containers and child processes: a process of its own for every file keeps a crash at home.
    pool: 'forks',
    // Half of the files at a time would leave a small machine idle, as most tests wait for something outside.
    maxWorkers: process.env['CI'] === undefined ? '50%' : 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    teardownTimeout: 20_000,
  },
})
