import { corpusJar } from '../../test/support/analyzer/corpora.ts'
import { coldIndex } from '../analyzer-cold.ts'
import { javaBaseJar, nineJars } from '../analyzer-corpora.ts'
import type { Bench } from '../harness.ts'

const bench: Bench = {
  note:
    'From the start of the built server with an empty cache until everything is stored and it responds; peers are complete commands on ' +
    'the same jars. Ours stores members, annotations, references and calls with lines and constant arguments. jdeps -verbose:class ' +
    'finds only class dependencies; Jandex indexes declarations, annotations and class usages into a file; ClassGraph collects all ' +
    'information and dependencies between classes, and stores nothing. Warm page cache.',

  prepare: () =>
    coldIndex(
      (folder) => [
        { name: 'java.base', jars: [javaBaseJar(folder)] },
        { name: 'kotlin-compiler', jars: [corpusJar('kotlin-compiler-1.')] },
        { name: 'nine jars', jars: nineJars() },
      ],
      ['jdeps', 'Jandex', 'ClassGraph'],
    ),
}
export default bench
