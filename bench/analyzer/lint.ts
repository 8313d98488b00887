import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { loadAnalyzerConfig } from '../../src/analyzer/index.ts'
import { LintService } from '../../src/analyzer/lint/lint-service.ts'
import { createLogger } from '../../src/lib/log/logger.ts'
import { jdkSources } from '../../test/support/analyzer/jdk-sources.ts'
import type { Bench, Case } from '../harness.ts'

const FILES = 1_000

const bench: Bench = {
  note:
    `A check of ${FILES} files of java.base: ours on all cores, warm, with the differing lines; prettier --check is Prettier's own ` +
    'command with the same plugin, including its start (0.3 s).',

  async prepare() {
    const top = mkdtempSync(join(tmpdir(), 'workspace-bench-'))
    const untidy = join(top, 'untidy')
    const found = jdkSources(join(untidy, 'src'), ['java.base/java/', 'java.base/javax/'], FILES + 1)
    if (found !== FILES + 1) throw new Error(`src.zip contains ${found} files, expected ${FILES + 1}`)
    // The plugin cannot parse it, which makes Prettier's command fail.
    rmSync(join(untidy, 'src/java/lang/invoke/BoundMethodHandle.java'))
    const tidy = join(top, 'tidy')
    cpSync(untidy, tidy, { recursive: true })
    const logger = createLogger({ level: 'fatal', format: 'json' })
    const services = [untidy, tidy].map((root) => new LintService(loadAnalyzerConfig({}), root, logger))
    const [ofUntidy, ofTidy] = services
    if (ofUntidy === undefined || ofTidy === undefined) throw new Error('a service is missing')
    await ofTidy.project(scope, { writes: true, wanted: 'issues' }, new AbortController().signal)
    return {
      cases: [caseOf('in style', ofTidy, tidy), caseOf('not in style', ofUntidy, untidy)],
      async cleanUp() {
        await Promise.all(services.map((service) => service.close()))
        rmSync(top, { recursive: true })
      },
    }
  },
}
export default bench

const scope = { pattern: undefined, includeTests: true }

function caseOf(name: string, service: LintService, root: string): Case {
  const plugin = fileURLToPath(import.meta.resolve('prettier-plugin-java'))
  const prettier = join(dirname(fileURLToPath(import.meta.resolve('prettier'))), 'bin/prettier.cjs')
  const runner = join(root, 'check.sh')
  // It exits with 1 if a file is not formatted.
  const command = `"${process.execPath}" "${prettier}" --check --log-level silent --plugin "${plugin}" "${root}/src"`
  writeFileSync(runner, `${command} || [ $? = 1 ]\n`)
  return {
    name: `${FILES} files, ${name}`,
    ours: () => service.project(scope, { writes: false, wanted: 'issues' }, new AbortController().signal),
    peer: ['sh', runner],
    peerName: 'prettier --check',
  }
}
