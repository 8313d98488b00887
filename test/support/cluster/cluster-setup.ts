import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { packageRoot } from '../../../src/lib/process/package.ts'
import { TEST_IMAGE } from '../engine/docker.ts'
import { AGENT_IMAGE, runCluster } from './cluster.ts'

/** Runs before all cluster suites: brings the cluster up, with the images of workspaces and agents. */
export default function setup(): () => void {
  runCluster('up')
  execFileSync(join(packageRoot, 'scripts/agent-image'), [AGENT_IMAGE], {
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  execFileSync(
    'bash',
    [
      '-o',
      'pipefail',
      '-c',
      'docker save "$2" "$3" | "$1" load -',
      'bash',
      join(packageRoot, 'scripts/cluster'),
      AGENT_IMAGE,
      TEST_IMAGE,
    ],
    { stdio: ['ignore', 'inherit', 'inherit'] },
  )
  return () => runCluster('down')
}
