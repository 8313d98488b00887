import { repositoryJars } from '../analyzer-corpora.ts'
import { coldIndex } from '../analyzer-cold.ts'
import type { Bench } from '../harness.ts'

const bench: Bench = {
  note:
    'A local Maven repository of many projects (scripts/maven-repository): from the start of the built server with an empty cache until ' +
    'everything is stored and it responds; the peer is a complete command on the same jars. Warm page cache.',

  prepare: () => coldIndex(() => [{ name: 'Maven repository', jars: repositoryJars() }], ['Jandex']),
}
export default bench
