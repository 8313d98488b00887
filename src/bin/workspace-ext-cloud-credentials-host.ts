#!/usr/bin/env node
import { runOnFittingNode } from '../lib/process/fitting-node.ts'

if (!runOnFittingNode()) {
  const { runCloudCredentialsHost } = await import('../workspace/faces/extension/cloud-credentials-host.ts')
  process.exitCode = await runCloudCredentialsHost(process.argv.slice(2))
}
