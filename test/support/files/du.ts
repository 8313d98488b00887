import { execFileSync } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** Returns du's allocated bytes of a tree, excluding mounts. */
export function duPhysicalBytes(path: string): number {
  return duBytes(['-B1'], path)
}

/** Returns du's apparent bytes of a tree, excluding mounts and directories. */
export function duLogicalBytes(path: string): number {
  const apparent = duBytes(['-B1', '--apparent-size'], path)
  return countsDirectories ? apparent - directoryBytes(path) : apparent
}

function duBytes(flags: readonly string[], path: string): number {
  const out = execFileSync('du', ['-s', '-x', ...flags, '--', path], { encoding: 'utf8' })
  return Number(out.split('\t')[0])
}

// GNU du excludes directories from --apparent-size since coreutils 9.2.
const countsDirectories = ((): boolean => {
  const version = /(\d+)\.(\d+)/.exec(execFileSync('du', ['--version'], { encoding: 'utf8' }))
  const [major = 0, minor = 0] = (version ?? []).slice(1).map(Number)
  return major < 9 || (major === 9 && minor < 2)
})()

function directoryBytes(path: string): number {
  const device = statSync(path).dev
  let bytes = statSync(path).size
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const below = join(path, entry.name)
    if (entry.isDirectory() && statSync(below).dev === device) bytes += directoryBytes(below)
  }
  return bytes
}
