import { execFileSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../../../src/lib/process/package.ts'
import { jdkRelease } from './jdk.ts'
import { madeOnce } from '../made-once.ts'

const sources = join(packageRoot, 'test/fixtures/java')

/**
 * Returns a folder with the compiled classes of a folder in test/fixtures/java.
 *
 * @param options of javac; like javac, the default keeps line numbers but no names of local variables
 */
export function compiled(folder: string, options: readonly string[] = []): string {
  const files = globSync(`${folder}/**/*.java`, { cwd: sources }).toSorted()
  const argv = ['-encoding', 'UTF-8', '-nowarn', '-XDsuppressNotes', ...options, ...files]
  const contents = files.map((file) => readFileSync(join(sources, file)))
  return madeOnce(`javac-${folder}`, [jdkRelease(), ...argv, ...contents], (out) =>
    execFileSync('javac', ['-d', out, ...argv], { cwd: sources, stdio: ['ignore', 'ignore', 'inherit'] }),
  )
}

/** Returns the class files below a folder by path, in order. */
export function classFilesBelow(folder: string): ReadonlyMap<string, Uint8Array> {
  const names = globSync('**/*.class', { cwd: folder }).toSorted()
  return new Map(names.map((name) => [name, readFileSync(join(folder, name))]))
}
