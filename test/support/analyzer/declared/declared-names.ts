import { execFileSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../../../../src/lib/process/package.ts'

/**
 * Returns what the sources of a folder in test/fixtures/java declare, as javac's own trees have it: "a.B$C" for a
 * class, "a.B$C#name" for a member.
 */
export function declaredNames(folder: string): ReadonlySet<string> {
  const sources = globSync(join(packageRoot, 'test/fixtures/java', folder, '**/*.java')).toSorted()
  const program = join(import.meta.dirname, 'DeclaredNames.java')
  return new Set(
    execFileSync('java', [program, ...sources], { encoding: 'utf8' })
      .trim()
      .split('\n'),
  )
}
