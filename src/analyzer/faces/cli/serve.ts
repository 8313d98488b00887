import { isFault } from '../../../lib/errors/fault.ts'
import { ExitStatus } from '../../../lib/cli/run.ts'
import { messageOf } from '../../../lib/errors/message.ts'
import type { Logger } from '../../../lib/log/logger.ts'
import type { IdlePool } from '../../../lib/pool/idle-pool.ts'
import type { PoolOptions } from '../../../lib/pool/pool.ts'
import { makeDirs } from '../../../lib/fs/make-dirs.ts'
import { defaultCacheDir } from '../../cache-dir.ts'
import { scanConfinement, storeDirIn } from '../../confinement.ts'
import { createScanPool } from '../../scan/scan-pool.ts'

const STOP_LIMIT_MS = 9_500

interface ServeFlags {
  readonly port?: number
  readonly mode?: string
  readonly projectJvm?: string
  readonly classes?: readonly string[]
  readonly watch?: boolean
}

/**
 * Runs a project's server until it is stopped, and reports on one line of standard output when it is ready.
 */
export async function serve(
  root: string,
  { port, mode, projectJvm, classes, watch }: ServeFlags,
): Promise<void> {
  const signaled = new Promise<void>((resolve) => {
    process.once('SIGTERM', () => resolve()).once('SIGINT', () => resolve())
  })
  // The process that started it may have exited.
  process.stdout.on('error', () => undefined)
  let logger: Logger | undefined
  // The pool process starts while the other modules load, which takes as long.
  const scanPool = warmScanPool(root, projectJvm, {
    warn: (details, message) => logger?.warn(details, message),
  })
  try {
    const [{ create }, { loadAnalyzerConfig }, { createLogger }] = await Promise.all([
      import('../../server.ts'),
      import('../../config.ts'),
      import('../../../lib/log/logger.ts'),
    ])
    const config = loadAnalyzerConfig(process.env, {
      server: { ...(mode !== undefined && { mode }), ...(watch !== undefined && { watch }) },
      ...(projectJvm !== undefined && { jvm_home: projectJvm }),
      ...(classes !== undefined && { classes }),
    })
    logger = createLogger({ level: config.log.level, format: 'json' })
    const server = await create(config, { root, port }, { logger, scanPool }).start()
    const stopping = Promise.race([signaled.then(() => 'signaled' as const), server.wantsToStop])
    try {
      if ((await Promise.race([stopping, server.ready.then(() => 'ready' as const)])) === 'ready') {
        process.stdout.write(
          `ANALYZER_READY port=${server.port} host=${server.host} version=${server.version}\n`,
        )
        await stopping
      }
    } finally {
      setTimeout(() => process.exit(1), STOP_LIMIT_MS).unref()
      await server.stop()
    }
  } catch (error) {
    await scanPool.close()
    const reason = isFault(error) ? error.code : 'INTERNAL_ERROR'
    const message = messageOf(error).replaceAll('"', "'").replaceAll('\n', ' ')
    process.stdout.write(`ANALYZER_ERROR reason=${reason} message="${message}"\n`)
    throw isFault(error) ? error : new ExitStatus(1)
  }
}

/**
 * Starts the pool process with the most likely confinement. If a configuration file names other locations,
 * the scanner restarts it.
 */
function warmScanPool(root: string, projectJvm: string | undefined, logger: PoolOptions['logger']): IdlePool {
  const { ANALYZER_CACHE_DIR: named = '' } = process.env
  const cacheDir = named === '' ? defaultCacheDir(process.env) : named
  const jvmHome = projectJvm ?? process.env['ANALYZER_JVM_HOME']
  const pool = createScanPool(logger, scanConfinement({ root, cacheDir, jvmHome }))
  try {
    makeDirs(storeDirIn(cacheDir), 0o700)
    pool.warm()
  } catch {
    // The scan reports the error if this directory is used at all.
  }
  return pool
}
