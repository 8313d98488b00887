import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { configFault } from '../../lib/config/check.ts'

const FIRST_PORT = 5000
const PORTS_APART = 100

/**
 * Reads a Procfile, `name: command` lines: processes that all run and are all restarted, with `.env` beside it, and each with a
 * PORT of its own, as foreman gives them (5000, 5100 …).
 *
 * @throws CONFIG_UNREADABLE
 */
export function parseProcfile(
  content: string,
  file: string,
  environment: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, unknown>> {
  const processes: Record<string, unknown> = {}
  const envFile = join(dirname(file), '.env')
  const first = Number(environment['PORT'] ?? FIRST_PORT)
  for (const [index, line] of content.split(/\r?\n/).entries()) {
    if (/^\s*(?:#|$)/.test(line)) continue
    const [, name, command] = /^([A-Za-z0-9_-]+):\s*(\S.*)$/.exec(line) ?? []
    if (name === undefined)
      throw configFault('CONFIG_UNREADABLE', `config file ${file}: line ${index + 1} is no "name: command"`)
    const port = first + Object.keys(processes).length * PORTS_APART
    processes[name] = {
      cmd: command,
      restart: 'always',
      proxy: { port },
      ...(existsSync(envFile) && { env_file: '.env' }),
    }
  }
  return { processes }
}
