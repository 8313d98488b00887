import { execFileSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { packageRoot } from '../../src/lib/process/package.ts'

const sources = join(packageRoot, 'test/fixtures/java')
const made = new Map<string, string>()

/**
 * A folder with the compiled classes of a folder in test/fixtures/java. Each test process compiles it once for the same options.
 *
 * @param options of javac; the default keeps line numbers and no names of local variables, as javac does
 */
export function compiled(folder: string, options: readonly string[] = []): string {
  const key = [folder, ...options].join(' ')
  const known = made.get(key)
  if (known !== undefined) return known
  const out = mkdtempSync(join(tmpdir(), 'workspace-javac-'))
  process.on('exit', () => rmSync(out, { recursive: true, force: true }))
  const files = globSync(`${folder}/**/*.java`, { cwd: sources })
  const fixed = ['-d', out, '-encoding', 'UTF-8', '-nowarn', '-XDsuppressNotes']
  execFileSync('javac', [...fixed, ...options, ...files], {
    cwd: sources,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  made.set(key, out)
  return out
}

/** The class files below a folder by their path in it, in order. */
export function classFilesBelow(folder: string): ReadonlyMap<string, Uint8Array> {
  const names = globSync('**/*.class', { cwd: folder }).toSorted()
  return new Map(names.map((name) => [name, readFileSync(join(folder, name))]))
}
