import { randomBytes } from 'node:crypto'
import { basename } from 'node:path'
import { ignore } from '../lib/errors/ignore.ts'
import { type DisposalStack, openTogether } from '../lib/lifetime/disposal-stack.ts'
import type { Logger } from '../lib/log/logger.ts'
import type { IdlePool } from '../lib/pool/idle-pool.ts'
import { packageVersion } from '../lib/process/package.ts'
import { identityOf } from '../lib/process/process-identity.ts'
import { requireAddon } from '../lib/process/require-addon.ts'
import type { AnalyzerConfig } from './config.ts'
import type { AnalyzerFace } from './faces/http/face.ts'
import { getJvmHome } from './project/find-jvm.ts'
import { DeclaredDependencies } from './project/declared-dependencies.ts'
import { ProjectScanner } from './scan/project-scanner.ts'
import { Analysis } from './lifecycle/analysis.ts'
import { LintService } from './lint/lint-service.ts'
import { IdleClock } from './lifecycle/idle-clock.ts'
import { listenInRange } from './lifecycle/listen.ts'
import { lockProject } from './lifecycle/project-lock.ts'
import { maintainRecord, recordFile, removeRecord, writeRecord } from './lifecycle/server-record.ts'
import { fault } from './errors.ts'
import { SearchQueue } from './query/search-queue.ts'
import { SourceService } from './source/source-service.ts'
import { ProjectWatch } from './watch/project-watch.ts'

/** Dependencies of an analyzer server. */
export interface AnalyzerDeps {
  readonly logger: Logger
  /** Pool that the scanner uses, if it was started earlier. */
  readonly scanPool?: IdlePool
}

/** A running server for one project. */
export interface AnalyzerServer {
  readonly host: string
  readonly port: number
  readonly version: string
  /** Resolves when the first scan completes; rejects when it fails. */
  readonly ready: Promise<void>
  /** Resolves on a shutdown request or after the idle timeout. */
  readonly wantsToStop: Promise<void>
  readonly stop: () => Promise<void>
}

/** Creates an analyzer for one project. Nothing happens before `start`. */
export function create(
  config: AnalyzerConfig,
  project: { readonly root: string; readonly port?: number | undefined },
  deps: AnalyzerDeps,
): { readonly start: () => Promise<AnalyzerServer> } {
  return { start: () => openTogether((opened) => start(config, project, deps, opened)) }
}

async function start(
  config: AnalyzerConfig,
  { root, port }: { readonly root: string; readonly port?: number | undefined },
  { logger, scanPool }: AnalyzerDeps,
  opened: DisposalStack,
): Promise<AnalyzerServer> {
  requireAddon('the analyzer')
  if (config.jvmHome !== undefined) getJvmHome(config.jvmHome, 'jvm_home')
  opened.defer(await lockProject(root))
  const wantsToStop = Promise.withResolvers<void>()
  const idle = new IdleClock(config.server.idleTimeoutMs, () => {
    logger.info('idle timeout reached; stopping')
    wantsToStop.resolve()
  })
  opened.use(idle)
  const analysis = opened.use(new Analysis(new ProjectScanner(config, root, logger, scanPool), logger))
  const source = opened.use(new SourceService(config, root, logger))
  const declared = opened.use(new DeclaredDependencies(config, root, logger))
  const lint = opened.use(new LintService(config, root, logger))
  // The scan takes longest, so it starts before the HTTP code is even loaded.
  const scanned = analysis.start()
  scanned.catch(ignore('the scan logs it, and `ready` rejects with it'))
  const watch = config.server.watch ? opened.use(new ProjectWatch(root, analysis, logger)) : undefined
  const token = randomBytes(32).toString('base64url')
  const face: AnalyzerFace = {
    config,
    version: packageVersion(),
    projectPath: root,
    projectName: basename(root),
    startedAt: new Date(),
    address: { port: 0 },
    analysis,
    searches: new SearchQueue(),
    declared,
    source,
    lint,
    watch,
    idle,
    shutDown: () => wantsToStop.resolve(),
  }
  const { createAnalyzerHttp } = await import('./faces/http/create-server.ts')
  const http = createAnalyzerHttp(face, token, logger)
  opened.defer(() => http.stop())
  const listen = (at: number): Promise<number> => http.listen({ host: config.server.host, port: at })
  face.address.port =
    port === undefined ? await listenInRange(config.server.portRange, listen) : await listenAt(port, listen)
  const record = {
    ...identityOf(process.pid),
    host: config.server.host,
    port: face.address.port,
    token,
    projectPath: root,
    mode: config.server.mode,
    watch: config.server.watch,
    ...(config.classes.length > 0 && { classes: [...config.classes] }),
    version: face.version,
    startedAt: face.startedAt.toISOString(),
  }
  await writeRecord(record)
  opened.defer(() => removeRecord(recordFile(root), process.pid))
  opened.defer(
    maintainRecord(record, (error) => logger.warn(error, 'the server record could not be written')),
  )
  const ready = scanned.then((scan) => watch?.follow(scan))
  ready.catch(ignore('the caller that starts the server awaits it'))
  const { host } = config.server
  return {
    host,
    port: face.address.port,
    version: face.version,
    ready,
    wantsToStop: wantsToStop.promise,
    stop: () => opened.close(),
  }
}

async function listenAt(port: number, listen: (port: number) => Promise<number>): Promise<number> {
  try {
    return await listen(port)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    throw fault('NO_FREE_PORT', `port ${port} is in use; omit --port to use a free one`, error)
  }
}
