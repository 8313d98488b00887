import { existsSync, readFileSync } from 'node:fs'
import { findUser, type User } from './users.ts'

/** Configuration of the original container image, next to the agent. */
const FILE = '/opt/workspace/image.json'
const WORKSPACE_DIR = '/workspace'
const ENVIRONMENT = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  LANG: 'C.UTF-8',
} as const
/** Candidates for the workspace's user if the image names none. */
const USERS = ['workspace', '1000', 'root'] as const

interface ImageConfig {
  readonly user?: unknown
  readonly environment?: unknown
}

/** Returns the default environment of every program. */
export function imageEnvironment(): Readonly<Record<string, string>> {
  const { environment } = readConfig()
  if (typeof environment !== 'object' || environment === null)
    return { ...ENVIRONMENT, ...extensionEnvironment }
  const texts = Object.entries(environment).filter(([, value]) => typeof value === 'string')
  return { ...ENVIRONMENT, ...extensionEnvironment, ...(Object.fromEntries(texts) as Record<string, string>) }
}

const extensionEnvironment: Record<string, string> = {}

/** Adds an extension's variables for programs that start from now on; the image's own take precedence. */
export function addToEnvironment(variables: Readonly<Record<string, string>>): void {
  Object.assign(extensionEnvironment, variables)
}

/** Returns the workspace's user. */
export function workspaceUser(): User {
  const { user } = readConfig()
  const named = typeof user === 'string' && user !== '' ? [user.split(':')[0] ?? ''] : []
  for (const name of [...named, ...USERS]) {
    const found = findUser(name)
    // A number without an entry is not a user of this image.
    if (found !== undefined && found.name !== name) return found
    if (found !== undefined && !/^\d+$/.test(name)) return found
  }
  throw new Error('/etc/passwd has no user')
}

/** Returns the working directory of programs. */
export function workspaceDirectory(user: User): string {
  return existsSync(WORKSPACE_DIR) ? WORKSPACE_DIR : user.home
}

function readConfig(): ImageConfig {
  try {
    return JSON.parse(readFileSync(FILE, 'utf8')) as ImageConfig
  } catch {
    return {}
  }
}
