import { existsSync, readFileSync } from 'node:fs'
import { findUser, type User } from './users.ts'

/** Beside the agent, where the image came from a container's: what that said of its programs. */
const FILE = '/opt/workspace/image.json'
const WORKSPACE_DIR = '/workspace'
const ENVIRONMENT = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  LANG: 'C.UTF-8',
} as const
/** Whose a workspace is when its image does not say. */
const USERS = ['workspace', '1000', 'root'] as const

interface ImageConfig {
  readonly user?: unknown
  readonly environment?: unknown
}

/** What every program gets, below what is asked for it. */
export function imageEnvironment(): Readonly<Record<string, string>> {
  const { environment } = readConfig()
  if (typeof environment !== 'object' || environment === null)
    return { ...ENVIRONMENT, ...extensionEnvironment }
  const texts = Object.entries(environment).filter(([, value]) => typeof value === 'string')
  return { ...ENVIRONMENT, ...extensionEnvironment, ...(Object.fromEntries(texts) as Record<string, string>) }
}

const extensionEnvironment: Record<string, string> = {}

/** Adds what an extension gives every program that begins from now on; the image's own goes before it. */
export function addToEnvironment(variables: Readonly<Record<string, string>>): void {
  Object.assign(extensionEnvironment, variables)
}

/** The workspace's own user. */
export function workspaceUser(): User {
  const { user } = readConfig()
  const named = typeof user === 'string' && user !== '' ? [user.split(':')[0] ?? ''] : []
  for (const name of [...named, ...USERS]) {
    const found = findUser(name)
    // A number that stands for itself is no user of this image.
    if (found !== undefined && found.name !== name) return found
    if (found !== undefined && !/^\d+$/.test(name)) return found
  }
  throw new Error('there is no user in /etc/passwd')
}

/** Where programs begin. */
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
