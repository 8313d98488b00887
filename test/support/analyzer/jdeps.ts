import { execFileSync } from 'node:child_process'

/** Maps each class to the classes that jdeps lists as its dependencies. */
export function jdeps(path: string): ReadonlyMap<string, ReadonlySet<string>> {
  const text = execFileSync('jdeps', ['-verbose:class', '-filter:none', '--multi-release', '17', path], {
    encoding: 'utf8',
    maxBuffer: 2 ** 30,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const found = new Map<string, Set<string>>()
  for (const [, name = '', target = ''] of text.matchAll(/^ {3}(\S+) +-> (\S+)/gm))
    found.set(name, (found.get(name) ?? new Set()).add(target))
  return found
}
