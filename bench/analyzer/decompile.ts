import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { decompilerConfinement, textsDirIn } from '../../src/analyzer/confinement.ts'
import { Decompiler } from '../../src/analyzer/source/decompile/decompiler.ts'
import type { VineflowerCommand } from '../../src/analyzer/source/decompile/decompile-protocol.ts'
import { listClasses } from '../../src/analyzer/classpath/list-classes.ts'
import { createLogger } from '../../src/lib/log/logger.ts'
import { jdkHome } from '../../test/support/analyzer/jdk.ts'
import { mavenJar } from '../../test/support/analyzer/maven-jar.ts'
import type { Bench, Case } from '../harness.ts'

const CLASSES = 100

const bench: Bench = {
  note:
    'One class with all nested classes, not cached: Vineflower ported to WebAssembly in its warm process, compared with a JVM started ' +
    'with Vineflower’s own jar, both as the server runs them.',

  prepare() {
    const cacheDir = mkdtempSync(join(tmpdir(), 'workspace-bench-'))
    const guava = mavenJar('com.google.guava:guava:33.0.0-jre')
    const jar = mavenJar('org.vineflower:vineflower:1.11.1')
    const home = jdkHome()
    const vineflower = { home, jar, memoryMb: 1024, timeoutMs: 60_000 }
    const logger = createLogger({ level: 'fatal', format: 'json' })
    const decompiler = new Decompiler({ memoryMb: 1024, timeoutMs: 60_000, logger })
    const places = { root: dirname(guava), cacheDir, jvmHome: home }
    const confinement = decompilerConfinement(places, [], 2 ** 30)
    const names = listClasses(guava, 17).containers.flatMap(({ classes }) => classes.map(({ name }) => name))
    const known = new Set(names)
    const locate = (name: string): string | undefined => (known.has(name) ? guava : undefined)
    const decompile = (outermost: string, on?: VineflowerCommand) =>
      decompiler.run(
        { location: guava, outermost, cacheDir: textsDirIn(cacheDir), isFresh: true, vineflower: on },
        { release: 17, confinement },
        locate,
      )
    const caseOf = (outermost: string): Case => ({
      name: outermost,
      ours: () => decompile(outermost),
      peer: () => decompile(outermost, vineflower),
      peerName: 'Vineflower on a JVM',
    })
    return {
      cases: ['Strings', 'Splitter', 'CharMatcher']
        .map((name) => caseOf(`com/google/common/base/${name}`))
        .concat(caseOf('com/google/common/collect/Maps')),
      more: () => distribution(names, decompile),
      cleanUp() {
        decompiler.close()
        rmSync(cacheDir, { recursive: true })
      },
    }
  },
}
export default bench

/** Measures a sample of guava's top-level classes, once each. */
async function distribution(
  names: readonly string[],
  decompile: (outermost: string) => Promise<unknown>,
): Promise<string> {
  const outermost = names.filter((name) => !name.includes('$'))
  const step = Math.floor(outermost.length / CLASSES)
  const times: number[] = []
  for (let at = 0; times.length < CLASSES; at += step) {
    const name = outermost[at] ?? ''
    const beganMs = performance.now()
    await decompile(name)
    times.push(performance.now() - beganMs)
  }
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number): string => `${(sorted[Math.floor(sorted.length * share)] ?? 0).toFixed(0)} ms`
  return `${CLASSES} classes of guava, the port: p50 ${at(0.5)}, p90 ${at(0.9)}, p99 ${at(0.99)}`
}
