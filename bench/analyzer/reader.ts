import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readClassFile } from '../../test/oracle/class-reader/java-class-tools.ts'
import type { ClassContainer } from '../../src/analyzer/classpath/class-container.ts'
import { withFile } from '../../src/analyzer/classpath/byte-source.ts'
import { listClasses } from '../../src/analyzer/classpath/list-classes.ts'
import { readClasses } from '../../src/analyzer/classpath/read-classes.ts'
import { readExtent } from '../../src/analyzer/classpath/read-extent.ts'
import { nativeReader } from '../../test/support/analyzer/class-readers.ts'
import { corpusJar, javaBase } from '../../test/support/analyzer/corpora.ts'
import { jdkHome } from '../../test/support/analyzer/jdk.ts'
import type { Bench, Case } from '../harness.ts'

const CLASSES_PER_SLICE = 500

const bench: Bench = {
  note:
    'Ours produces all facts: members, annotations, references, calls with lines and constant arguments. java-class-tools, in the ' +
    'same process, reads the structures without decoding instructions; both start with bytes in memory. jdeps -verbose:class is a complete ' +
    'command that finds only class dependencies; there ours also lists, reads and inflates the files. Warm cache.',

  prepare() {
    const base = javaBase()
    const kotlin = corpusJar('kotlin-compiler-1.')
    const fastutil = corpusJar('fastutil-')
    const folder = mkdtempSync(join(tmpdir(), 'workspace-bench-'))
    const jmods = join(jdkHome(), 'jmods')
    execFileSync('jmod', ['extract', '--dir', folder, join(jmods, 'java.base.jmod')])
    // With module-info, jdeps would analyze the running JDK's java.base instead of this folder.
    rmSync(join(folder, 'classes/module-info.class'))
    const cases = [
      inMemory('java.base', base),
      inMemory('kotlin-compiler', listClasses(kotlin, 17).containers[0] as ClassContainer),
      inMemory('fastutil', listClasses(fastutil, 17).containers[0] as ClassContainer),
      besideJdeps('java.base, a folder', join(folder, 'classes')),
      besideJdeps('kotlin-compiler.jar, stored', kotlin),
      besideJdeps('fastutil.jar, deflated', fastutil),
    ]
    return {
      cases,
      more: () => cpuTimes([base, ...[kotlin, fastutil].flatMap((jar) => listClasses(jar, 17).containers)]),
      cleanUp: () => rmSync(folder, { recursive: true }),
    }
  },
}
export default bench

function bytesOf(container: ClassContainer): readonly Buffer[] {
  return withFile(container.path, (source) =>
    container.classes.flatMap(({ extent }) =>
      extent === undefined ? [] : [readExtent(source, extent, 2 ** 24)],
    ),
  )
}

function inMemory(name: string, container: ClassContainer): Case {
  const files = bytesOf(container)
  return {
    name: `${name}, ${files.length.toLocaleString('en')} classes`,
    ours: () => readSlices(files),
    peer: () => files.forEach((file) => readClassFile(file)),
    peerName: 'java-class-tools',
    megabytes: files.reduce((sum, file) => sum + file.length, 0) / 1e6,
  }
}

async function readSlices(files: readonly Buffer[]): Promise<void> {
  for (let at = 0; at < files.length; at += CLASSES_PER_SLICE)
    await nativeReader.readSlice(files.slice(at, at + CLASSES_PER_SLICE))
}

function besideJdeps(name: string, path: string): Case {
  return {
    name,
    ours: () => readPath(path),
    peer: ['jdeps', '-verbose:class', '-filter:none', '--multi-release', '17', path],
    peerName: 'jdeps',
  }
}

async function readPath(path: string): Promise<void> {
  for (const container of listClasses(path, 17).containers)
    for (let at = 0; at < container.classes.length; at += CLASSES_PER_SLICE)
      await readClasses(container, container.classes.slice(at, at + CLASSES_PER_SLICE))
}

/** Returns the minimum CPU time of ten alternating runs, over all threads. */
async function cpuTimes(containers: readonly ClassContainer[]): Promise<string> {
  const rows = [
    '| bytes in memory to facts, CPU time of all threads, minimum of 10 | ours | java-class-tools | peer ÷ ours |',
    '| --- | ---: | ---: | ---: |',
  ]
  for (const container of containers) {
    const files = bytesOf(container)
    let oursMs = Number.POSITIVE_INFINITY
    let peerMs = Number.POSITIVE_INFINITY
    for (let run = 0; run < 10; run++) {
      oursMs = Math.min(oursMs, await cpuMsOf(() => readSlices(files)))
      peerMs = Math.min(peerMs, await cpuMsOf(() => files.forEach((file) => readClassFile(file))))
    }
    const name = `${container.path.split('/').at(-1)}, ${files.length} classes`
    const ratio = (peerMs / oursMs).toFixed(2)
    rows.push(`| ${name} | ${oursMs.toFixed(0)} ms | ${peerMs.toFixed(0)} ms | ${ratio}× |`)
  }
  return rows.join('\n')
}

async function cpuMsOf(work: () => unknown): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
