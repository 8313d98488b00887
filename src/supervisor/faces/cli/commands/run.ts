import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import type { Command } from 'commander'
import { wholeNumber } from '../../../../lib/cli/arguments.ts'
import { examples } from '../../../../lib/cli/examples.ts'
import { ExitStatus } from '../../../../lib/cli/run.ts'
import type { GlobalOptions } from '../client.ts'

const LOOK_EVERY_MS = 20
const DEFAULT_WAIT_S = 120

interface RunOptions extends GlobalOptions {
  readonly wait: number
}

/** Adds `run`, which runs a command, such as tests in CI, while the processes are up. */
export function addRun(program: Command): void {
  program
    .command('run')
    .description("run a command while the processes are up, and exit with the command's status")
    .argument('<command...>', 'the command, after --')
    .option('--wait <seconds>', 'maximum wait until the processes are ready', wholeNumber, DEFAULT_WAIT_S)
    .addHelpText('after', examples('supervisor run -- npm test'))
    .action(async (words: readonly string[], _options: unknown, command: Command) => {
      const options: RunOptions = command.optsWithGlobals()
      const [{ create }, { loadSupervisorConfig }, { createLogger }] = await Promise.all([
        import('../../../server.ts'),
        import('../../../config.ts'),
        import('../../../../lib/log/logger.ts'),
      ])
      const { config } = loadSupervisorConfig(process.env, { file: options.config })
      const logger = createLogger({
        ...config.log,
        level: config.log.level === 'info' ? 'warn' : config.log.level,
      })
      const running = await create(config, { logger }).start()
      try {
        const { table } = running.supervisor
        const endMs = performance.now() + options.wait * 1_000
        while (true) {
          const waiting = table.list().filter(({ spec, state, health }) => {
            if (!spec.autostart || (state.is === 'stopped' && state.retryAtMs === undefined)) return false
            if (state.is === 'crashed' && state.retryAtMs === undefined)
              throw new Error(
                `process "${spec.name}" has crashed; run "supervisor up" and "supervisor logs" to see why`,
              )
            return state.is !== 'running' || (spec.healthCheck !== undefined && health.health !== 'healthy')
          })
          if (waiting.length === 0) break
          if (performance.now() > endMs)
            throw new Error(
              `processes not ready after ${options.wait} s: ${waiting.map(({ spec }) => spec.name).join(', ')}`,
            )
          await delay(LOOK_EVERY_MS)
        }
        throw new ExitStatus(await runCommand(words))
      } finally {
        await running.stop()
      }
    })
}

function runCommand([file = '', ...argv]: readonly string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, argv, { stdio: 'inherit' })
    // A terminal interrupts both; the command decides how to exit.
    process.on('SIGINT', () => undefined)
    process.on('SIGTERM', () => child.kill('SIGTERM'))
    child.on('error', reject)
    child.on('exit', (status, signal) =>
      resolve(status ?? 128 + (signal === null ? 0 : constants.signals[signal])),
    )
  })
}
