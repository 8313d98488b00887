#!/usr/bin/env node
import { setFlagsFromString } from 'node:v8'
import { runOnFittingNode } from '../lib/process/fitting-node.ts'

if (!runOnFittingNode()) {
  // Loading the program makes V8's young generation grow to two semi-spaces of 16 MiB, which a running supervisor does not need:
  // log lines do not pass through it. Keeping the initial size saves a fifth of all memory.
  setFlagsFromString('--semi-space-growth-factor=1')
  const { runSupervisorCli } = await import('../supervisor/faces/cli/main.ts')
  process.exitCode = await runSupervisorCli(process.argv.slice(2))
}
