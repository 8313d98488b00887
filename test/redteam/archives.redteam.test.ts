import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { messageOf } from '../../src/lib/errors/message.ts'
import { createLogger } from '../../src/lib/log/logger.ts'
import { loadAnalyzerConfig } from '../../src/analyzer/config.ts'
import { ProjectScanner } from '../../src/analyzer/scan/project-scanner.ts'
import { testAttacks } from './attack.ts'
import { HOSTILE_ARCHIVES } from './hostile-archives.ts'
import { measured } from './measure.ts'

const MOST_MB = 512
const MOST_SECONDS = 60
const CORE = ['nested-in-nested', 'class-bomb']

// Jars that exhaust memory or time, each in a scanned project.
testAttacks(
  'archives',
  HOSTILE_ARCHIVES,
  async ({ files }) => {
    const root = mkdtempSync(join(tmpdir(), 'redteam-archives-'))
    try {
      for (const [path, bytes] of Object.entries(files())) {
        mkdirSync(dirname(join(root, path)), { recursive: true })
        writeFileSync(join(root, path), bytes)
      }
      const { result, peakMb, seconds } = await measured(() => scan(root))
      const harm = [...(peakMb > MOST_MB ? ['memory'] : []), ...(seconds > MOST_SECONDS ? ['time'] : [])]
      return { harm, seen: `${result}; ${peakMb} MiB, ${seconds} s` }
    } finally {
      rmSync(root, { recursive: true, force: true })
    }
  },
  CORE,
)

/** Scans a project and returns the outcome. */
async function scan(root: string): Promise<string> {
  const config = loadAnalyzerConfig(
    { ANALYZER_CACHE_DIR: join(root, 'cache'), HOME: root, PATH: process.env['PATH'] },
    { server: { mode: 'jar' } },
  )
  const logger = createLogger({ level: 'silent', format: 'json' })
  const scanner = new ProjectScanner(config, root, logger)
  try {
    const { diagnostics } = await scanner.scan(undefined)
    return `${diagnostics.length} problems, first ${JSON.stringify(diagnostics[0]?.message ?? '')}`
  } catch (error) {
    return `failed: ${messageOf(error)}`
  } finally {
    await scanner.close()
  }
}
