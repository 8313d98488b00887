import type { Command } from 'commander'
import { InvalidArgumentError } from 'commander'
import { examples } from '../../../../lib/cli/examples.ts'
import { createOutput } from '../../../../lib/cli/output.ts'
import { formatTable } from '../../../../lib/cli/table.ts'
import { parseDuration } from '../../../../lib/config/duration.ts'
import { fault } from '../../../errors.ts'
import type { ServiceToken } from '../../../session/service-token.ts'
import type { GlobalOptions } from '../global-options.ts'
import { inSessionStore } from '../in-session-store.ts'

const DEFAULT_LIFETIME = '90d'

interface CreateOptions extends GlobalOptions {
  readonly repo: readonly string[]
  readonly expires?: number
}

/** Adds the commands token create, token list and token revoke. */
export function addToken(program: Command): void {
  const token = program.command('token').description('manage tokens with which programs read repositories')
  addCreate(token)
  token
    .command('list')
    .description('list all tokens, without their secrets')
    .addHelpText('after', examples('content-server token list -c docs.yaml'))
    .action(async (_options: unknown, command: Command) => {
      const options: GlobalOptions = command.optsWithGlobals()
      await inSessionStore(options, async (store, nowMs) => {
        const tokens = (await store.listTokens()).toSorted((a, b) => (a.name < b.name ? -1 : 1))
        createOutput(options).result(
          tokens.map((each) => toWire(each, nowMs)),
          () => tableOf(tokens, nowMs),
        )
      })
    })
  token
    .command('revoke')
    .description('revoke a token; running servers refuse it within a second')
    .argument('<name>', 'name of the token')
    .addHelpText('after', examples('content-server token revoke ci -c docs.yaml'))
    .action(async (name: string, _options: unknown, command: Command) => {
      const options: GlobalOptions = command.optsWithGlobals()
      await inSessionStore(options, async (store) => {
        if (!(await store.removeToken(name)))
          throw fault('TOKEN_NOT_FOUND', `token "${name}" not found; "content-server token list" lists all`)
        createOutput(options).result({ name, revoked: true }, () => `token ${name} is revoked`)
      })
    })
}

function addCreate(token: Command): void {
  token
    .command('create')
    .description('create a token and print its secret, which is not shown again')
    .argument('<name>', 'name of the token, in lists and logs')
    .requiredOption('--repo <pattern...>', 'repositories that it may read; * matches any characters')
    .option('--expires <duration>', `lifetime; default: ${DEFAULT_LIFETIME}`, lifetime)
    .addHelpText('after', examples('content-server token create ci --repo guide "api-*" --expires 30d'))
    .action(async (name: string, _options: unknown, command: Command) => {
      const options: CreateOptions = command.optsWithGlobals()
      const [{ createSecret, createToken }, { digestOf }] = await Promise.all([
        import('../../../session/service-token.ts'),
        import('../../../../lib/http/secret-form.ts'),
      ])
      await inSessionStore(options, async (store, nowMs) => {
        const lifetimeMs = options.expires ?? lifetime(DEFAULT_LIFETIME)
        const created = createToken({ name, repos: [...options.repo], lifetimeMs }, nowMs)
        const secret = createSecret()
        if (!(await store.addToken(digestOf(secret), created)))
          throw fault('TOKEN_EXISTS', `token "${name}" already exists; revoke it first`)
        createOutput(options).result({ ...toWire(created, nowMs), token: secret }, () => secret)
      })
    })
}

function toWire({ name, repos, createdMs, expiresMs }: ServiceToken, nowMs: number) {
  return {
    name,
    repos,
    created: new Date(createdMs).toISOString(),
    expires: new Date(expiresMs).toISOString(),
    expired: expiresMs <= nowMs,
  }
}

function tableOf(tokens: readonly ServiceToken[], nowMs: number): string {
  if (tokens.length === 0) return 'There are no tokens.'
  const rows = tokens.map((token) => {
    const { name, repos, created, expires, expired } = toWire(token, nowMs)
    return [name, repos.join(' '), created.slice(0, 10), expired ? 'expired' : expires.slice(0, 10)]
  })
  return formatTable(['NAME', 'REPOSITORIES', 'CREATED', 'EXPIRES'], rows)
}

function lifetime(text: string): number {
  const ms = parseDuration(text)
  if (ms === undefined) throw new InvalidArgumentError('It must be a duration such as 30d.')
  return ms
}
