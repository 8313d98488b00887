import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bytesBelow, projectOfJars } from './analyzer-corpora.ts'
import { Peers } from './analyzer-peers.ts'
import { type AnalyzerProcess, BenchUser, buildPackage } from './analyzer-server.ts'
import type { Case, Prepared } from './harness.ts'

/** Class path of a benchmark. */
export interface Corpus {
  readonly name: string
  readonly jars: readonly string[]
}

/**
 * Times our server reading the same jars with an empty cache, from its start until everything is stored and it
 * responds, and the complete commands of peers.
 */
export function coldIndex(
  corporaIn: (folder: string) => readonly Corpus[],
  peerNames: readonly string[],
): Prepared {
  buildPackage()
  const folder = mkdtempSync(join(tmpdir(), 'workspace-bench-'))
  const peers = new Peers(folder)
  const user = new BenchUser()
  let running: AnalyzerProcess | undefined
  const forget = async (): Promise<void> => {
    await running?.stop()
    running = undefined
    user.removeCache()
  }
  const corpora = corporaIn(folder).map(({ name, jars }, i) => {
    const root = projectOfJars(join(folder, `project-${i}`), jars)
    return { name, jars, serve: async () => (running = await user.serve(root)) }
  })
  const cases = corpora.flatMap(({ name, jars, serve }) =>
    peers
      .all(jars)
      .filter((peer) => peerNames.includes(peer.name))
      .map((peer): Case => {
        return { name, ours: serve, peer: peer.subject, peerName: peer.name, beforeEach: forget }
      }),
  )
  return {
    cases,
    async more() {
      const rows = ['| corpus | classes | on disk | bytes per class | ClassGraph found | Jandex found |']
      rows.push('| --- | ---: | ---: | ---: | --- | --- |')
      for (const { name, jars, serve } of corpora) {
        await forget()
        const server = await serve()
        const stats = JSON.parse(await server.get('/stats')) as Stats
        const bytes = bytesBelow(user.cacheDir)
        const found = [peers.classGraph(jars), peers.jandex(jars)].map(lastWords)
        const size = `${(bytes / 1e6).toFixed(1)} MB | ${Math.round(bytes / stats.libraryClassCount)}`
        rows.push(
          `| ${name} | ${stats.libraryClassCount.toLocaleString('en')} | ${size} | ${found.join(' | ')} |`,
        )
      }
      return rows.join('\n')
    },
    async cleanUp() {
      await forget()
      user.remove()
      rmSync(folder, { recursive: true })
    },
  }
}

interface Stats {
  readonly libraryClassCount: number
}

function lastWords([program, ...argv]: readonly [string, ...string[]]): string {
  return execFileSync(program, argv, { encoding: 'utf8' }).trim()
}
