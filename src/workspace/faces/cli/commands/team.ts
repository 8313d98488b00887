import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type Command, Option } from 'commander'
import type { Static } from 'typebox'
import { examples } from '../../../../lib/cli/examples.ts'
import { formatTable, printable } from '../../../../lib/cli/table.ts'
import { durationSeconds } from '../../../../lib/cli/arguments.ts'
import { messageOf } from '../../../../lib/errors/message.ts'
import { findServerRecord } from '../../../../lib/discovery/server-record.ts'
import { makeDirs } from '../../../../lib/fs/make-dirs.ts'
import { writeFileDurable } from '../../../../lib/fs/write-durable.ts'
import type { completedLoginSchema, loginSchema } from '../../../api/login.ts'
import type { accessSchema, newTokenSchema, wireKeySchema, wireUserSchema } from '../../../api/team.ts'
import { fault } from '../../../errors.ts'
import { ACCESS_LEVELS } from '../../../access-level.ts'
import { ROLES, SELF } from '../../../team/user.ts'
import { WorkspaceClient } from '../../../client/client.ts'
import { defaultStateDir } from '../../../default-paths.ts'
import { addServerOption, contextOf } from '../context.ts'

type WireUser = Static<typeof wireUserSchema>
type WireAccess = Static<typeof accessSchema>
type Level = (typeof ACCESS_LEVELS)[number]

/** Adds the commands for a server with users: `user`, `key`, `token` and `share`. */
export function addTeam(program: Command): void {
  addUsers(program.command('user').description('list and change the users of a server'))
  addKeys(program.command('key').description('list and change your SSH keys on a server with users'))
  addTokens(program.command('token').description('list, create and revoke personal tokens'))
  addShare(program)
  addLogin(program)
}

function addUsers(user: Command): void {
  addServerOption(user.command('ls'))
    .description('list users')
    .addHelpText('after', examples('workspace user ls'))
    .action(async (_options: object, command: Command) => {
      const { client, output } = await contextOf(command)
      const list = await client.get<{ readonly users: readonly WireUser[] }>('/api/users')
      output.result(list, () => usersTable(list.users))
    })
  addServerOption(user.command('add'))
    .description('create a user')
    .argument('<name>')
    .addOption(new Option('--role <role>', 'default member').choices(ROLES))
    .addHelpText('after', examples('workspace user add ana', 'workspace user add ops --role administrator'))
    .action(async (name: string, { role }: { role?: string }, command: Command) => {
      const { client, output } = await contextOf(command)
      const added = await client.post<WireUser>('/api/users', { name, role })
      const next = `create a token for them: workspace token create NAME --user ${added.name}`
      output.result(added, () => `${added.name} is a ${added.role}; ${next}`)
    })
  addServerOption(user.command('set'))
    .description('change the role of a user, or suspend all access')
    .addHelpText('after', examples('workspace user set ana --role guest'))
    .argument('<name>')
    .addOption(new Option('--role <role>').choices(ROLES))
    .option('--disable', 'suspend all access')
    .addOption(new Option('--enable', 'end the suspension').conflicts('disable'))
    .action(async (name: string, options: UserOptions, command: Command) => {
      const { client, output } = await contextOf(command)
      const { role, disable, enable } = options
      const disabled = disable ?? (enable === true ? false : undefined)
      const changed = await client.patch<WireUser>(pathOf(name), { role, disabled })
      output.result(changed, () => usersTable([changed]))
    })
  addServerOption(user.command('rm'))
    .description('remove a user who owns no workspaces')
    .addHelpText('after', examples('workspace user rm ana'))
    .argument('<name>')
    .action(async (name: string, _options: object, command: Command) => {
      const { client, output } = await contextOf(command)
      await client.delete(pathOf(name))
      output.result({ name }, () => `removed ${name}`)
    })
}

interface UserOptions {
  readonly role?: string
  readonly disable?: true
  readonly enable?: true
}

interface OfUser {
  readonly user: string
}

function addUserOption(command: Command): Command {
  return addServerOption(command).option('--user <name>', 'another user, for administrators', SELF)
}

function addKeys(key: Command): void {
  addUserOption(key.command('ls'))
    .description('list SSH keys')
    .addHelpText('after', examples('workspace key ls'))
    .action(async ({ user }: OfUser, command: Command) => {
      const { client, output } = await contextOf(command)
      const { keys } = await client.get<WireUser>(pathOf(user))
      output.result({ keys }, () =>
        formatTable(
          ['NAME', 'FINGERPRINT', 'ADDED'],
          keys.map((each) => [each.name, each.fingerprint, each.created_at]),
        ),
      )
    })
  addUserOption(key.command('add'))
    .description('add an SSH key')
    .argument('<name>', 'a name to recognize it by')
    .argument('<file>', 'file with the public key')
    .addHelpText('after', examples('workspace key add laptop ~/.ssh/id_ed25519.pub'))
    .action(async (name: string, file: string, { user }: OfUser, command: Command) => {
      const { client, output } = await contextOf(command)
      const body = { name, public_key: await readKey(file) }
      const added = await client.post<Static<typeof wireKeySchema>>(`${pathOf(user)}/keys`, body)
      output.result(added, () => `added ${added.name} (${added.fingerprint})`)
    })
  addUserOption(key.command('rm'))
    .description('remove an SSH key')
    .addHelpText('after', examples('workspace key rm SHA256:0123456789'))
    .argument('<fingerprint>', 'as "workspace key ls" prints it')
    .action(async (fingerprint: string, { user }: OfUser, command: Command) => {
      const { client, output } = await contextOf(command)
      await client.delete(`${pathOf(user)}/keys?fingerprint=${encodeURIComponent(fingerprint)}`)
      output.result({ fingerprint }, () => `removed ${fingerprint}`)
    })
}

interface TokenOptions extends OfUser {
  readonly level?: Level
  readonly only?: readonly string[]
  readonly expires?: number
  readonly file?: string
}

function addTokens(token: Command): void {
  addUserOption(token.command('ls'))
    .description('list personal tokens')
    .addHelpText('after', examples('workspace token ls'))
    .action(async ({ user }: OfUser, command: Command) => {
      const { client, output } = await contextOf(command)
      const { tokens } = await client.get<WireUser>(pathOf(user))
      output.result({ tokens }, () =>
        formatTable(
          ['ID', 'NAME', 'LEVEL', 'WORKSPACES', 'EXPIRES'],
          tokens.map(({ id, name, level, workspaces, expires_at: expires }) => [
            id,
            name,
            level,
            workspaces?.join(', ') ?? 'all',
            expires,
          ]),
        ),
      )
    })
  addUserOption(token.command('create'))
    .description('create a personal token and print it, which happens only once')
    .argument('<name>', 'a name to recognize it by')
    .addOption(new Option('--level <level>', 'highest level; default manage').choices(ACCESS_LEVELS))
    .option('--only <workspace...>', 'the only workspaces that it is for')
    .option('--expires <duration>', 'such as 12h or 30d; default 90d', durationSeconds)
    .option('--file <path>', 'write it to a file that only you can read, instead of printing it')
    .addHelpText('after', examples('workspace token create ci --level use --only ana-demo --expires 30d'))
    .action(async (name: string, options: TokenOptions, command: Command) => {
      const { user, level, only, expires, file } = options
      const { client, output } = await contextOf(command)
      const body = { name, level, workspaces: only, expires_after_s: expires }
      const created = await client.post<Static<typeof newTokenSchema>>(`${pathOf(user)}/tokens`, body)
      if (file === undefined) return output.result(created, () => created.secret)
      await writeToken(file, created.secret)
      const { secret: _, ...shown } = created
      output.result({ ...shown, file }, () => `the token ${shown.id} is in ${file}`)
    })
  addUserOption(token.command('revoke'))
    .description('revoke a personal token')
    .addHelpText('after', examples('workspace token revoke tok_0123456789abcdef'))
    .argument('<id>', 'as "workspace token ls" prints it')
    .action(async (id: string, { user }: OfUser, command: Command) => {
      const { client, output } = await contextOf(command)
      await client.delete(`${pathOf(user)}/tokens/${encodeURIComponent(id)}`)
      output.result({ id }, () => `revoked ${id}`)
    })
}

interface ShareOptions {
  readonly owner?: string
  readonly none?: true
}

function addShare(program: Command): void {
  addServerOption(program.command('share'))
    .description('show or change with whom a workspace is shared')
    .argument('<name>', 'workspace')
    .argument('[with...]', 'USER=LEVEL or group:NAME=LEVEL (read, use, manage); USER= ends a share')
    .option('--none', 'end all shares')
    .option('--owner <user>', 'give it to another user')
    .addHelpText('after', examples('workspace share ana-demo', 'workspace share ana-demo bob=use cara='))
    .action(async (name: string, words: readonly string[], options: ShareOptions, command: Command) => {
      const { client, output } = await contextOf(command)
      const path = `/api/workspaces/${encodeURIComponent(name)}/access`
      const changes = words.map(parseShare)
      const before = await client.get<WireAccess>(path)
      if (changes.length === 0 && options.none === undefined && options.owner === undefined)
        return output.result(before, () => accessTable(before))
      const shares = new Map(Object.entries(options.none === true ? {} : before.shares))
      for (const [who, level] of changes)
        if (level === undefined) shares.delete(who)
        else shares.set(who, level)
      const body = { owner: options.owner, shares: Object.fromEntries(shares) }
      const after = await client.put<WireAccess>(path, body)
      output.result(after, () => accessTable(after))
    })
}

function addLogin(program: Command): void {
  addServerOption(program.command('login'))
    .description("log in with the server's OpenID provider, and keep the token")
    .addHelpText('after', examples('workspace login', 'workspace login --server team'))
    .action(async (_options: object, command: Command) => {
      const { server, output } = await contextOf(command)
      const { tokenFile, ...address } = server
      const own = await findServerRecord(defaultStateDir(process.env))
      // That of a server on this machine contains the server's token.
      if (tokenFile === undefined || tokenFile === own?.tokenFile)
        throw fault(
          'INVALID_REQUEST',
          `the CLI's configuration names no file for the token of server ${server.name}; add the server with url and token_file to cli.yaml`,
        )
      const client = new WorkspaceClient(address)
      const login = await client.post<Static<typeof loginSchema>>('/api/login')
      const where = login.complete_url ?? `${login.url} and enter ${login.user_code}`
      process.stderr.write(`Open ${printable(where)}\n`)
      const { user, token, expires_at: expires } = await completion(client, login.id)
      await writeToken(tokenFile, token ?? '')
      output.result(
        { user, expires_at: expires, token_file: tokenFile },
        () => `Logged in as ${user} until ${expires?.slice(0, 10)}; the token is in ${tokenFile}`,
      )
    })
}

async function writeToken(file: string, token: string): Promise<void> {
  makeDirs(dirname(file), 0o700)
  await writeFileDurable(file, `${token}\n`, { mode: 0o600 })
}

async function completion(client: WorkspaceClient, id: string): Promise<Static<typeof completedLoginSchema>> {
  for (;;) {
    const answer = await client.post<Static<typeof completedLoginSchema>>(`/api/login/${id}`)
    if (answer.pending !== true) return answer
  }
}

function usersTable(users: readonly WireUser[]): string {
  return formatTable(
    ['NAME', 'ROLE', 'STATUS', 'GROUPS', 'KEYS', 'TOKENS'],
    users.map(({ name, role, disabled, groups, keys, tokens }) => [
      name,
      role,
      disabled ? 'disabled' : 'active',
      groups.join(', '),
      String(keys.length),
      String(tokens.length),
    ]),
  )
}

function accessTable({ owner = 'administrators', shares }: WireAccess): string {
  const rows = Object.entries(shares).map(([who, level]) => [who, level])
  return formatTable(['WHO', 'LEVEL'], [[owner, 'owner'], ...rows])
}

function pathOf(user: string): string {
  return `/api/users/${encodeURIComponent(user)}`
}

function parseShare(text: string): readonly [string, Level | undefined] {
  const at = text.lastIndexOf('=')
  const [who, word] = [text.slice(0, at), text.slice(at + 1)]
  const level = ACCESS_LEVELS.find((each) => each === word)
  if (at > 0 && (word === '' || level !== undefined)) return [who, level]
  throw fault(
    'INVALID_REQUEST',
    `"${text}" must be USER=LEVEL or group:NAME=LEVEL, where LEVEL is ${ACCESS_LEVELS.join(', ')} or empty`,
  )
}

async function readKey(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    throw fault('INVALID_REQUEST', `the key cannot be read: ${messageOf(error)}`, error)
  }
}
