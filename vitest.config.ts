import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'
import type { InlineConfig } from 'vitest/node'

// Node.js programs started by tests compile each module of the checkout once, not once per process.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, 'node_modules/.cache/node')

/** Settings of all suites. */
export const shared = {
  // Tests use real sockets, containers and child processes: a separate process per file isolates crashes.
  pool: 'forks',
  // More than two cores can compute, because most tests wait for something outside.
  maxWorkers: Math.max(3, Math.floor(availableParallelism() / 2)),
  // For hanging tests: on a busy machine a test takes several times as long as alone.
  testTimeout: 180_000,
  hookTimeout: 180_000,
  teardownTimeout: 20_000,
  tags: [
    {
      name: 'long',
      description:
        'Runs only in npm run test:all, because it takes seconds and other tests cover most of it.',
    },
  ],
  expect: { poll: { timeout: 45_000 } },
} satisfies InlineConfig

/** Number of files at a time in suites whose programs compute, such as emulated machines. */
export const COMPUTING_WORKERS = Math.max(2, Math.floor(availableParallelism() / 2))

/**
 * Files whose tests start no process and open no socket, as test/support/unit.ts ensures. They share threads and modules.
 * A new one has the suffix `.unit.test.ts`.
 */
export const unit = [
  'test/**/*.unit.test.ts',
  'test/analyzer/classpath/{nested-archive,project-layout}.test.ts',
  'test/analyzer/index/{name-list,quarantine,retired-slices}.test.ts',
  'test/analyzer/query/paths/find-paths.test.ts',
  'test/analyzer/query/search-queue.test.ts',
  'test/analyzer/query/impact/impact-search.test.ts',
  'test/analyzer/query/reach/{traverse,number-pool}.test.ts',
  'test/analyzer/source/archive/find-text.test.ts',
  'test/check/{paths,style,threats,unit}.test.ts',
  'test/content/{page,search,session}/**/*.test.ts',
  'test/content/repo/meta.test.ts',
  'test/guest/agent/**/*.test.ts',
  'test/lib/cli/{bytes,counted}.test.ts',
  'test/lib/{clock,config,envelope,fs,guest,lifetime,markup,mux,schema}/**/*.test.ts',
  'test/lib/pool/restart-delay.test.ts',
  'test/native/{files/list-files,match-names}.test.ts',
  'test/supervisor/{config-file,log}/**/*.test.ts',
  'test/supervisor/diagnosis/describe-exit.test.ts',
  'test/supervisor/faces/cli/{top/*,why}.test.ts',
  'test/supervisor/faces/web/page/graph-layout.test.ts',
  'test/supervisor/process/{dependency-order,simulated-day}.test.ts',
  'test/supervisor/terminal/attach.test.ts',
  'test/supervisor/watch/glob.test.ts',
  'test/workspace/{bus,code,credentials}/**/*.test.ts',
  'test/workspace/backend/docker/{container,exec/container-load}.test.ts',
  'test/workspace/backend/{firecracker,vz}/**/*.test.ts',
  'test/workspace/backend/qemu/{accelerator,command-line}.test.ts',
  'test/workspace/backend/microvm/{files/lock-root,files/metadata,guest/ask-guest,guest/socket-dir}.test.ts',
  'test/workspace/devcontainer/dev-container.test.ts',
  'test/workspace/faces/ssh/gc-trigger.test.ts',
  'test/workspace/faces/web/page/{list,parts,server}/**/*.test.ts',
  'test/workspace/faces/web/page/routes.test.ts',
  'test/workspace/image/{image-store,in-tree,kernel-modules}.test.ts',
  'test/workspace/lifecycle/{local-dir,repo}.test.ts',
  'test/workspace/network/{allowed-networks,policy}.test.ts',
  'test/workspace/tunnel/{listening-ports,port-host}.test.ts',
  'test/workspace/{name,state-dir}.test.ts',
  'test/workspace/torture/{compare,gate}.test.ts',
  'test/workspace/{files/watch,program/live-programs}.test.ts',
]

/** Files of the suites that have a separate configuration and command. */
const otherSuites = [
  ...['cluster', 'foreign', 'long', 'package', 'vm'].map((name) => `test/${name}/**`),
  'test/**/*.long.test.ts',
]

/** More than in other suites, because these tests wait longer than they compute. */
const maxWorkers = shared.maxWorkers + 1

const projects: TestProjectInlineConfiguration[] = [
  {
    test: {
      ...shared,
      maxWorkers,
      name: 'unit',
      include: unit,
      exclude: otherSuites,
      pool: 'threads',
      isolate: false,
      setupFiles: ['test/support/unit.ts'],
    },
  },
  {
    test: {
      ...shared,
      maxWorkers,
      name: 'system',
      include: ['test/**/*.test.ts'],
      exclude: [...unit, 'test/fixtures/**', ...otherSuites],
    },
  },
]

export default defineConfig({ test: { projects } })
