import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { messageOf } from '../../src/lib/errors/message.ts'
import { createLogger } from '../../src/lib/log/logger.ts'
import { loadAnalyzerConfig } from '../../src/analyzer/config.ts'
import { ProjectScanner } from '../../src/analyzer/scan/project-scanner.ts'
import type { Chapter } from './attack.ts'
import { HOSTILE_ARCHIVES } from './hostile-archives.ts'
import { measured } from './measure.ts'
import { playTakeover } from './takeover.ts'

const MOST_MB = 512
const MOST_SECONDS = 60

/** Jars that take over the process reading them, and jars that exhaust memory or time, each in a scanned project. */
export function archivesChapter(): Chapter {
  return {
    name: 'archives',
    async play(report, isWanted) {
      await playTakeover(report, isWanted)
      for (const { id: name, tries, files } of HOSTILE_ARCHIVES) {
        const id = `archives/${name}`
        if (!isWanted(id)) continue
        const root = mkdtempSync(join(tmpdir(), 'redteam-archives-'))
        try {
          for (const [path, bytes] of Object.entries(files())) {
            mkdirSync(dirname(join(root, path)), { recursive: true })
            writeFileSync(join(root, path), bytes)
          }
          const { result, peakMb, seconds } = await measured(() => scan(root))
          const isReached = peakMb > MOST_MB || seconds > MOST_SECONDS
          report({ attack: { id, tries }, isReached, seen: `${result}; ${peakMb} MiB, ${seconds} s` })
        } finally {
          rmSync(root, { recursive: true, force: true })
        }
      }
    },
  }
}

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
