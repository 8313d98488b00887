#!/usr/bin/env node
import { runOnFittingNode } from '../lib/process/fitting-node.ts'

if (!runOnFittingNode()) {
  const { runAnalyzerCli } = await import('../analyzer/faces/cli/main.ts')
  process.exitCode = await runAnalyzerCli(process.argv.slice(2))
}
