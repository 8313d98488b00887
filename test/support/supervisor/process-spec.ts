import type { ProcessSpec } from '../../../src/supervisor/process-spec.ts'

const log = {
  bufferLines: 1,
  bufferBytes: 1,
  file: undefined,
  maxFileBytes: 1,
  keepFiles: 0,
  hasTimes: false,
}

/** Returns a process's settings with defaults. */
export function processSpec(name: string, more: Partial<ProcessSpec> = {}): ProcessSpec {
  return {
    name,
    base: name,
    groups: [],
    command: 'x',
    cwd: '/',
    env: {},
    envFiles: [],
    autostart: true,
    restart: 'on-failure',
    successCodes: [0],
    restartDelayMs: undefined,
    maxRestarts: undefined,
    abortOn: [],
    dependsOn: {},
    healthCheck: undefined,
    stopSignal: 'SIGTERM',
    stopCommand: undefined,
    stopTimeoutMs: 10_000,
    startFirst: undefined,
    user: undefined,
    hasTerminal: false,
    limits: {},
    memoryBytes: undefined,
    cpus: undefined,
    log,
    proxy: undefined,
    schedule: undefined,
    watch: undefined,
    ...more,
  }
}
