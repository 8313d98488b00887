import { stat } from 'node:fs/promises'
import type { ContainerInspectInfo } from 'dockerode'
import { WORKSPACE_DIR } from '../../../workspace.ts'
import type { BackendCreate, ExecProcess } from '../../backend.ts'

type RunAsRoot = (argv: readonly string[]) => Promise<ExecProcess>

/**
 * Who a workspace on a host directory runs as: root for root's directories, whose files nobody else could write, and
 * otherwise the image's own user, whom `prepareOwner` gives the owner's number.
 */
export async function userFor(localDir: string): Promise<string | undefined> {
  return (await stat(localDir)).uid === 0 ? '0:0' : undefined
}

/** Makes the workspace's user able to write its files: owner of a new volume, or same numbers as the host's owner. */
export async function prepareOwner(
  report: ContainerInspectInfo,
  { localDir, adoptsFiles }: Pick<BackendCreate, 'localDir' | 'adoptsFiles'>,
  run: RunAsRoot,
): Promise<void> {
  const { User: user, Labels: labels } = report.Config
  const isRoot = user === '' || /^(?:root|0)(?::|$)/.test(user)
  const [userName = user] = user.split(':')
  if (localDir !== '') {
    if (isRoot) return
    const { uid, gid } = await stat(localDir)
    return finish(await run(['/bin/sh', '-c', TAKE_NUMBERS, 'sh', userName, String(uid), String(gid)]))
  }
  // A new volume begins as a copy of the image's directory, which in our own is the user's; where there is none it is root's.
  if (!adoptsFiles && (isRoot || labels['workspace.image'] === 'base')) return
  await finish(await run(['/bin/sh', '-c', TAKE_FILES, 'sh', isRoot ? 'root' : userName, WORKSPACE_DIR]))
}

/** Looks first: a large tree that is the user's already is left as it is. */
const TAKE_FILES = `
user=$1 directory=$2
[ "$(stat -c %u "$directory")" = "$(id -u "$user" 2>/dev/null || echo "$user")" ] || chown -Rh "$user" "$directory"`

/** Edits the files: usermod refuses while a process of the user runs, and the container's own does. */
const TAKE_NUMBERS = `
user=$1 uid=$2 gid=$3
[ "$(id -u "$user")" = "$uid" ] && exit
group=$(id -gn "$user") home=$(eval echo ~"$user")
sed -i "s/^\\($group:[^:]*\\):[0-9]*:/\\1:$gid:/" /etc/group &&
  sed -i "s/^\\($user:[^:]*\\):[0-9]*:[0-9]*:/\\1:$uid:$gid:/" /etc/passwd &&
  chown -R "$uid:$gid" "$home"`

async function finish(process: ExecProcess): Promise<void> {
  process.stdout.resume()
  process.stderr.resume()
  await process.exitStatus
}
