import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { run } from '../../../src/lib/process/run.ts'
import { toolEnvironment } from '../../../src/lib/process/tool-environment.ts'

interface RanOptions {
  readonly cwd?: string
  readonly environment?: NodeJS.ProcessEnv
}

/** Runs a command; returns its standard output. @throws an error with all its output */
export async function ran(
  [command = '', ...words]: readonly string[],
  options: RanOptions = {},
): Promise<string> {
  const { status, stdout, stderr } = await run(command, words, { timeoutMs: 300_000, ...options })
  if (status !== 0) throw new Error(`${command} ${words.join(' ')} ended with ${status}: ${stderr}${stdout}`)
  return stdout
}

/** Installs the packed package into an empty folder with a separate Node, like a user without a compiler. */
export async function installPackage(folder: string, archive: string, nodeVersion: string): Promise<void> {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{"private": true}')
  const node = `node@npm:node-${process.platform}-${process.arch}@${nodeVersion}`
  const install = ['npm', 'install', '--no-audit', '--no-fund', '--ignore-scripts', node, archive]
  await ran(install, { cwd: folder, environment: toolEnvironment() })
}
