import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'

// Node.js programs started by tests compile each module of the checkout once, not once per process.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, 'node_modules/.cache/node')

const HALF_OF_CORES = Math.floor(availableParallelism() / 2)
/** More than two cores can compute, because most tests wait for something outside. */
const WAITING = Math.max(3, HALF_OF_CORES)
/** For suites whose programs compute, such as emulated machines. */
const COMPUTING = Math.max(2, HALF_OF_CORES)

type Settings = NonNullable<TestProjectInlineConfiguration['test']>

/** Tests named `NAME.SUFFIX.test.ts`, by suffix. Those without one are everyday tests. */
const BY_SUFFIX: Readonly<Record<string, Settings>> = {
  /** Start no process and open no socket, as the setup ensures. They share threads and modules. */
  unit: {
    maxWorkers: WAITING + 1,
    pool: 'threads',
    isolate: false,
    setupFiles: ['test/support/unit.ts'],
  },
  /** Take seconds or minutes. */
  long: { maxWorkers: WAITING },
  /** Use the clients that people use. */
  foreign: { maxWorkers: WAITING },
  /** Build images and boot virtual machines. */
  vm: {
    maxWorkers: COMPUTING,
    testTimeout: 600_000,
    hookTimeout: 300_000,
    // Suites that cover all backends use machines here.
    env: { TEST_BACKENDS: 'machines' },
    globalSetup: ['test/support/vm/vm-parts.ts', 'test/support/vm/vm-image-setup.ts'],
  },
  /** Attack what hostile code can reach, in the namespaces that `npm run redteam` enters. */
  redteam: {
    // Attacks measure memory and time of a machine that does nothing else.
    maxWorkers: 1,
    testTimeout: 600_000,
    hookTimeout: 600_000,
    globalSetup: ['test/support/vm/vm-image-setup.ts'],
  },
  /** Run workspaces on a cluster of this machine. */
  cluster: {
    // One cluster: a test that kills its API server would disturb others.
    maxWorkers: 1,
    // Suites that cover all backends use pods here.
    env: { TEST_BACKENDS: 'cluster' },
    globalSetup: ['test/support/cluster/cluster-setup.ts'],
  },
  /** Use the package, installed as by a user. */
  package: { maxWorkers: COMPUTING, globalSetup: ['test/support/package/packed.ts'] },
}

export const SUFFIXES = Object.keys(BY_SUFFIX)

const everyday: Settings = {
  name: 'everyday',
  include: ['test/**/*.test.ts'],
  exclude: [...SUFFIXES.map((suffix) => `test/**/*.${suffix}.test.ts`), 'test/fixtures/**'],
  // These tests wait longer than they compute. They share processes and modules, as their setup ensures.
  maxWorkers: WAITING + 1,
  isolate: false,
  setupFiles: ['test/support/shared-process.ts'],
}

export default defineConfig({
  test: {
    // Tests use real sockets, containers and child processes, which threads would share.
    pool: 'forks',
    // For hanging tests: on a busy machine a test takes several times as long as alone.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    teardownTimeout: 20_000,
    setupFiles: ['test/support/file-home.ts'],
    expect: { poll: { timeout: 45_000 } },
    tags: [
      {
        name: 'long',
        description:
          'Runs only in npm run test:all, because it takes seconds and other tests cover most of it.',
      },
    ],
    projects: [
      { extends: true, test: everyday },
      ...SUFFIXES.map((name) => ({
        extends: true as const,
        test: { ...BY_SUFFIX[name], name, include: [`test/**/*.${name}.test.ts`] },
      })),
    ],
  },
})
