#!/usr/bin/env node
import { runOnFittingNode } from '../lib/process/fitting-node.ts'

if (!runOnFittingNode()) {
  const { runContentCli } = await import('../content/faces/cli/main.ts')
  process.exitCode = await runContentCli(process.argv.slice(2))
}
