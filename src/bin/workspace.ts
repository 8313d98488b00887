#!/usr/bin/env node
import { runOnFittingNode } from '../lib/process/fitting-node.ts'

if (!runOnFittingNode()) {
  const { runWorkspaceCli } = await import('../workspace/faces/cli/main.ts')
  process.exitCode = await runWorkspaceCli(process.argv.slice(2))
}
