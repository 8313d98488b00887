import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ChangingClass, projectOfClasses, projectOfJars, nineJars } from '../analyzer-corpora.ts'
import { jdeps, Peers } from '../analyzer-peers.ts'
import { type AnalyzerProcess, BenchUser, buildPackage } from '../analyzer-server.ts'
import { corpusJar } from '../../test/support/analyzer/corpora.ts'
import type { Bench, Case } from '../harness.ts'

const bench: Bench = {
  note:
    'POST /api/v1/project/refresh after one class has changed, each time to new content, in a project of the classes of ' +
    'nine public jars: as a folder of class files, and as jars of which one, with 2,000 classes, is replaced. Peers store ' +
    'nothing and read everything again. Warm page cache.',

  async prepare() {
    buildPackage()
    const folder = mkdtempSync(join(tmpdir(), 'workspace-bench-'))
    const peers = new Peers(folder)
    const changing = new ChangingClass(mkdtempSync(join(folder, 'changing-')))
    const ofClasses = new BenchUser()
    const ofJars = new BenchUser()
    const classes = projectOfClasses(join(folder, 'classes'), nineJars())
    const jars = projectOfJars(join(folder, 'jars'), nineJars())
    const target = join(classes, 'target/classes')
    const library = join(jars, 'lib/changing.jar')
    const next = join(folder, 'next.jar')
    copyFileSync(corpusJar('guava-'), next)
    const putClass = () =>
      copyFileSync(join(changing.next(), 'Changing.class'), join(target, 'Changing.class'))
    const putJar = () => {
      execFileSync('jar', ['--update', '--file', next, '-C', changing.next(), 'Changing.class'])
      copyFileSync(next, `${library}.part`)
      renameSync(`${library}.part`, library)
    }
    putClass()
    putJar()
    const servers = [await ofClasses.serve(classes), await ofJars.serve(jars)] as const
    const libraries = [...nineJars(), library]
    return {
      cases: [
        ...against('one class file of a folder', servers[0], putClass, [
          ['jdeps', jdeps([target])],
          ['ClassGraph', peers.classGraph([target])],
        ]),
        ...against('one jar of ten', servers[1], putJar, [
          ['jdeps', jdeps(libraries)],
          ['ClassGraph', peers.classGraph(libraries)],
        ]),
      ],
      async cleanUp() {
        for (const server of servers) await server.stop()
        for (const user of [ofClasses, ofJars]) user.remove()
        rmSync(folder, { recursive: true })
      },
    }
  },
}
export default bench

function against(
  name: string,
  server: AnalyzerProcess,
  change: () => void,
  peers: readonly (readonly [name: string, subject: Case['peer']])[],
): readonly Case[] {
  return peers.map(([peerName, peer]) => {
    return { name, ours: () => server.refresh(), peer, peerName, beforeEach: change }
  })
}
