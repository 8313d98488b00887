import type { Command } from 'commander'
import { InvalidArgumentError } from 'commander'
import { portNumber } from '../../../../lib/cli/arguments.ts'
import { examples } from '../../../../lib/cli/examples.ts'
import type { GlobalOptions } from '../global-options.ts'

interface ServeOptions extends GlobalOptions {
  readonly host?: string
  readonly port?: number
  readonly workers?: number
}

/** Adds the command serve. */
export function addServe(program: Command): void {
  program
    .command('serve')
    .description('run the server')
    .option('--host <address>', 'address to listen on')
    .option('--port <port>', 'port to listen on', portNumber)
    .option('--workers <count>', 'number of worker processes', workerCount)
    .addHelpText('after', examples('content-server serve -c docs.yaml --port 8090'))
    .action(async (_options: unknown, command: Command) => {
      const options: ServeOptions = command.optsWithGlobals()
      const { loadContentConfig } = await import('../../../config.ts')
      const { config } = loadContentConfig(process.env, { file: options.config, flags: flagsOf(options) })
      const { serveUntilStopped } = await import('../serve.ts')
      await serveUntilStopped(config)
    })
}

function flagsOf({ host, port, workers }: ServeOptions): Readonly<Record<string, unknown>> {
  const http = { host, port, workers }
  return { http: Object.fromEntries(Object.entries(http).filter(([, value]) => value !== undefined)) }
}

function workerCount(text: string): number {
  const count = Number(text)
  if (/^\d{1,2}$/.test(text) && count >= 1 && count <= 64) return count
  throw new InvalidArgumentError('It must be a whole number from 1 to 64.')
}
