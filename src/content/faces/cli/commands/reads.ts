import type { Command } from 'commander'
import { InvalidArgumentError } from 'commander'
import { examples } from '../../../../lib/cli/examples.ts'
import { createOutput } from '../../../../lib/cli/output.ts'
import { parseDuration } from '../../../../lib/config/duration.ts'
import { fault } from '../../../errors.ts'
import type { ReadRecord } from '../../../reads/read-record.ts'
import type { GlobalOptions } from '../global-options.ts'

interface ReadsOptions extends GlobalOptions {
  readonly since?: number
  readonly repo?: string
  readonly user?: string
  readonly token?: string
}

/** Adds the command reads. */
export function addReads(program: Command): void {
  program
    .command('reads')
    .description('export the log of who read what, one line per request')
    .option('--since <time>', 'only requests since a time, or of the last duration such as 7d', startOf)
    .option('--repo <name>', 'only requests for this repository')
    .option('--user <name>', 'only requests of this user')
    .option('--token <name>', 'only requests with this service token')
    .addHelpText('after', examples('content-server reads --since 30d --repo hr -c docs.yaml > reads.jsonl'))
    .action(async (_options: unknown, command: Command) => {
      const options: ReadsOptions = command.optsWithGlobals()
      const [{ loadContentConfig }, { findReads }] = await Promise.all([
        import('../../../config.ts'),
        import('../../../reads/find-reads.ts'),
      ])
      const { config } = loadContentConfig(process.env, { file: options.config })
      if (config.readLog === undefined)
        throw fault('READS_NOT_LOGGED', 'reads are not logged; set "reads.file" and restart the server')
      const { since: sinceMs, repo, user, token } = options
      const output = createOutput(options)
      for await (const record of findReads(config.readLog.file, { sinceMs, repo, user, token }))
        output.line(record, () => lineOf(record))
    })
}

function lineOf({ time, user, token, repo, path, method, status, denied }: ReadRecord): string {
  const who = user ?? (token === undefined ? '-' : `token ${token}`)
  return `${time}  ${who}  ${method} ${repo}${path}  ${status}${denied === true ? '  denied' : ''}`
}

function startOf(text: string): number {
  const durationMs = parseDuration(text)
  const ms = durationMs === undefined ? Date.parse(text) : Date.now() - durationMs
  if (Number.isNaN(ms))
    throw new InvalidArgumentError(
      'It must be a duration such as 7d, or a time such as 2026-11-01T00:00:00Z.',
    )
  return ms
}
