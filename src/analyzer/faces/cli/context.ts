import { resolve } from 'node:path'
import type { Command } from 'commander'
import { createOutput, type Output } from '../../../lib/cli/output.ts'
import { findRecordedProject } from '../../lifecycle/server-record.ts'
import { findProjectRoot } from '../../project/find-root.ts'
import { ask, getServer } from './server-client.ts'

/** What a command that asks a project's server works with. */
export interface CliContext {
  readonly output: Output
  /** Path and query parameters; those that are undefined or false are left out. */
  readonly get: <T>(path: string, parameters?: Parameters, timeoutMs?: number) => Promise<T>
  readonly post: <T>(path: string, body?: object, timeoutMs?: number) => Promise<T>
}

type Parameters = Readonly<Record<string, string | number | boolean | undefined>>

/** Adds the option that every command has which is about a project. */
export function addProjectOption(command: Command): Command {
  return command.option('-p, --project <dir>', 'a directory of the project; default the current one')
}

/** The project's root. @throws PROJECT_NOT_FOUND */
export function projectOf(command: Command): string {
  const { project = '.' }: { project?: string } = command.optsWithGlobals()
  return findProjectRoot(project)
}

/** As `projectOf`, also for a folder that is gone, where a server still runs for it. @throws PROJECT_NOT_FOUND */
export function findProjectToStop(command: Command): string {
  const { project = '.' }: { project?: string } = command.optsWithGlobals()
  try {
    return findProjectRoot(project)
  } catch (error) {
    const recorded = findRecordedProject(resolve(project))
    if (recorded === undefined) throw error
    return recorded
  }
}

/** @throws PROJECT_NOT_FOUND and SERVER_NOT_RUNNING */
export async function contextOf(command: Command): Promise<CliContext> {
  const { record } = await getServer(projectOf(command))
  return {
    output: createOutput(command.optsWithGlobals()),
    get: (path, parameters = {}, timeoutMs) => ask(record, path + queryOf(parameters), { timeoutMs }),
    post: (path, body, timeoutMs) => ask(record, path, { method: 'POST', body, timeoutMs }),
  }
}

function queryOf(parameters: Parameters): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== false)
  const query = new URLSearchParams(
    given.map(([key, value]): [string, string] => [key, String(value)]),
  ).toString()
  return query === '' ? '' : `?${query}`
}

export function pathOf(route: string, name: string): string {
  return `/api/v1/${route}/${encodeURIComponent(name)}`
}

/** Adds `--include-libraries`, `--page` and `--size`, as far as they are wanted. */
export function addLibrariesOption(command: Command): Command {
  return command.option('-L, --include-libraries', 'also classes of libraries and of the JDK')
}

/** Under a page of a list: where one is in it. */
export function pageLine(page: { page: number; totalPages: number; totalCount: number }): string {
  if (page.totalPages <= 1) return `${page.totalCount} in all`
  return `page ${page.page} of 0 to ${page.totalPages - 1}, ${page.totalCount} in all`
}
