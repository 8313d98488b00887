import { type Command, Option } from 'commander'
import { collect } from '../../../../lib/cli/arguments.ts'
import { examples } from '../../../../lib/cli/examples.ts'
import type { WireWorkspace } from '../../../api/workspace.ts'
import { addServerOption, contextOf } from '../context.ts'
import { addSettingsOptions, NO_LIMIT, settingsBody, type SettingsOptions } from '../create-options.ts'
import { workspaceRecord } from '../workspace-table.ts'

interface SetOptions extends SettingsOptions {
  readonly unlabel?: readonly string[]
  readonly checkpoints: boolean
}

/** Adds the command `set`. */
export function addSet(program: Command): void {
  addSettingsOptions(addServerOption(program.command('set')))
    .description('change the settings of a workspace')
    .argument('<name>')
    .option('--unlabel <key>', 'label to remove; repeatable', collect)
    .addOption(
      new Option('--no-checkpoints', 'take no more checkpoints automatically').conflicts([
        'checkpointEvery',
        'checkpointKeep',
        'checkpointMaxAge',
      ]),
    )
    .addHelpText(
      'after',
      examples(
        'workspace set demo --label team=web --unlabel temporary',
        'workspace set demo --stop-after 2h --expires 7d',
        "workspace set demo --start-at 'Mon-Fri 08:00' --stop-at 'Mon-Fri 19:00' --time-zone Europe/Berlin",
        `workspace set demo --expires ${NO_LIMIT} --suspend-after default`,
      ),
    )
    .action(async (name: string, { unlabel = [], checkpoints, ...options }: SetOptions, command: Command) => {
      const { client, output } = await contextOf(command)
      const { labels, ...others } = settingsBody(options)
      const removed = Object.fromEntries(unlabel.map((key) => [key, null]))
      const changed: Readonly<Record<string, string | null>> = { ...removed, ...labels }
      const body = {
        ...others,
        ...(!checkpoints && { checkpoints: null }),
        ...(Object.keys(changed).length > 0 && { labels: changed }),
      }
      if (Object.values(body).every((value) => value === undefined))
        command.error('error: nothing to change; see "workspace set --help"')
      const path = `/api/workspaces/${encodeURIComponent(name)}`
      const workspace = await client.patch<WireWorkspace>(path, body)
      output.result(workspace, () => workspaceRecord(workspace))
    })
}
