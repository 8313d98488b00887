#!/usr/bin/env node
import { setFlagsFromString } from 'node:v8'
import { runOnFittingNode } from '../lib/process/fitting-node.ts'

if (!runOnFittingNode()) {
  // Loading the program makes V8's heap of young objects grow to 16 MiB twice over, which a supervisor at work has no use for:
  // lines do not go through it. It stays as it is at first, which saves a fifth of all memory.
  setFlagsFromString('--semi-space-growth-factor=1')
  const { runSupervisorCli } = await import('../supervisor/faces/cli/main.ts')
  process.exitCode = await runSupervisorCli(process.argv.slice(2))
}
