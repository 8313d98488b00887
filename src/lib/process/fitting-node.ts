import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { endWithLauncher, LAUNCHER } from './end-with-launcher.ts'
import { packageRoot } from './package.ts'

const OLDEST = [22, 12] as const

/**
 * On a Node older than package.json's "engines" allows, hands over to the one that scripts/setup brought, or says what
 * to do where there is none. Returns whether this process has nothing left to do.
 */
export function runOnFittingNode(): boolean {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) {
    endWithLauncher()
    return false
  }
  const brought = join(packageRoot, '.node/node_modules/node/bin/node')
  if (!existsSync(brought)) {
    process.stderr.write(`Node ${OLDEST.join('.')} or newer is needed, this is ${process.versions.node}\n`)
    process.exitCode = 1
    return true
  }
  // This process forwards signals, and has a launcher itself.
  const env = { ...process.env, [LAUNCHER]: String(process.pid) }
  endWithLauncher()
  const child = spawn(brought, process.argv.slice(1), { stdio: 'inherit', env })
  process.on('SIGTERM', () => child.kill('SIGTERM'))
  // A terminal interrupts both; how to end is for the child to decide.
  process.on('SIGINT', () => undefined)
  child.on('exit', (status) => (process.exitCode = status ?? 1))
  return true
}
