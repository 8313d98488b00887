#!/usr/bin/env node
import { runOnFittingNode } from '../lib/process/fitting-node.ts'

if (!runOnFittingNode()) {
  const { runSupervisorCli } = await import('../supervisor/faces/cli/main.ts')
  process.exitCode = await runSupervisorCli(process.argv.slice(2))
}
