import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { packageRoot } from '../../src/lib/process/package.ts'
import { type AnalyzerUser, analyzerUser } from './analyzer-cli.ts'

export interface MavenProject {
  readonly root: string
  /** Beside it, and removed with it. */
  readonly folder: string
  readonly mvn: (...argv: readonly string[]) => void
}

/** The project of test/fixtures/maven, built by Maven itself, for the tests of one file. */
export function mavenProject(): MavenProject {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'workspace-maven-')))
  const root = join(folder, 'shop')
  const mvn = (...argv: readonly string[]): void => {
    execFileSync('mvn', ['-B', '-ntp', '-q', ...argv], { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] })
  }
  beforeAll(() => {
    cpSync(join(packageRoot, 'test/fixtures/maven'), root, { recursive: true })
    mvn('package')
  }, 600_000)
  afterAll(() => rmSync(folder, { recursive: true }))
  return { root, folder, mvn }
}

/** Who has Maven and a JDK on the path, as its users have. */
export function mavenUser(): AnalyzerUser {
  return analyzerUser({ PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter) })
}

export const mavenProjectClasses = [
  'shop.app.Shop',
  'shop.app.SpringSays',
  'shop.core.CoreConfiguration',
  'shop.core.Job',
  'shop.core.MemoryRepository',
  'shop.core.NightlyReport',
  'shop.core.OrderService',
  'shop.model.Item',
  'shop.model.Order',
  'shop.model.Order$State',
  'shop.model.OrderTest',
  'shop.model.Payment',
  'shop.model.Payment$Card',
  'shop.model.Payment$Cash',
  'shop.model.Repository',
  'shop.web.HealthController',
  'shop.web.OrderController',
  'shop.web.ShopApi',
]
