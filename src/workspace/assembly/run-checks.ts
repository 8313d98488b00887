import { ignore } from '../../lib/errors/ignore.ts'
import { messageOf } from '../../lib/errors/message.ts'
import { packageRoot } from '../../lib/process/package.ts'
import { run } from '../../lib/process/run.ts'
import { ciphersRemedy, sshCiphers, type SshCiphers } from '../../lib/ssh/ciphers.ts'
import { loadAddon } from '../../native/load.ts'
import { probeDocker } from '../backend/docker/engine/probe.ts'
import { probeMachines } from './probe-machines.ts'
import type { WorkspaceConfig } from '../config.ts'
import { probeImages } from './probe-images.ts'
import { npmRun } from './repair.ts'
import { probeNetwork } from '../network/probe.ts'
import type { Check } from '../check.ts'
import { readFile } from 'node:fs/promises'

/** Checks everything the server depends on, without changing anything. */
export async function runChecks(config: WorkspaceConfig): Promise<readonly Check[]> {
  return [
    { name: 'node', ok: true, found: process.versions.node, remedy: '' },
    addonCheck(),
    sshCryptoCheck(),
    await sshClientCheck(),
    ...(await probeDocker(config.docker.host, config.defaultImage)),
    await probeHardened(config),
    ...(await probeNetwork(config)),
    ...(await probeImages(config)),
    ...(await probeMachines(config)),
  ]
}

function addonCheck(): Check {
  const addon = loadAddon()
  return addon.is === 'loaded'
    ? { name: 'native addon', ok: true, found: 'loaded', remedy: '' }
    : {
        name: 'native addon',
        ok: false,
        found: `missing: the analyzer and the supervisor do not start, and the workspace server is slower (${addon.reason})`,
        remedy: `run "npm run build:native" in ${packageRoot}, with g++, make and python3 installed`,
        repair: npmRun('build:native'),
      }
}

const CIPHERS_FOUND: Record<SshCiphers, string> = {
  compiled: 'loaded',
  absent: 'not available, using slower JavaScript',
  refused: 'not used because this build would crash the server; using slower JavaScript',
}

function sshCryptoCheck(): Check {
  const ciphers = sshCiphers()
  return {
    name: 'ssh2 native crypto',
    ok: true,
    found: CIPHERS_FOUND[ciphers],
    remedy: ciphers === 'compiled' ? '' : ciphersRemedy(),
  }
}

async function sshClientCheck(): Promise<Check> {
  try {
    const { stderr } = await run('ssh', ['-V'])
    return { name: 'OpenSSH client', ok: true, found: stderr.trim(), remedy: '' }
  } catch (error) {
    return {
      name: 'OpenSSH client',
      ok: false,
      found: messageOf(error),
      remedy: 'install openssh-client',
      repair: { package: 'openssh-client' },
    }
  }
}

/** UIDs of user accounts; those of containers are higher. Source: login.defs(5), UID_MIN. */
const FIRST_UID = 1_000
const LAST_UID = 59_999

/**
 * Checks whether the open defaults are appropriate for this machine: they admit any client that can reach the
 * ports.
 */
async function probeHardened({
  hardened,
  http,
  ssh,
  network,
}: Pick<WorkspaceConfig, 'hardened' | 'http' | 'ssh' | 'network'>): Promise<Check> {
  const name = 'hardened'
  if (hardened) return { name, ok: true, found: 'yes', remedy: '' }
  const isClosed =
    (http.tokenFile !== undefined || http.socket !== undefined) && ssh.authorizedKeys !== undefined
  const others = await otherAccounts()
  const reasons = [
    ...(others > 0 ? [`${others} other account${others === 1 ? '' : 's'} on this host`] : []),
    ...(network.allowHostPorts.length > 0 ? ['workspaces can reach ports of this host'] : []),
  ]
  if (isClosed || reasons.length === 0) return { name, ok: true, found: 'no', remedy: '' }
  return { name, ok: true, found: `no, with ${reasons.join(' and ')}`, remedy: 'set hardened: true' }
}

async function otherAccounts(): Promise<number> {
  const own = process.getuid?.() ?? -1
  const lines = (
    await readFile('/etc/passwd', 'utf8').catch(ignore('without the file there are no accounts', ''))
  ).split('\n')
  const users = lines
    .map((line) => line.split(':'))
    .filter(([, , , , , , shell = '']) => !/(?:nologin|false|sync)$/.test(shell))
  return users.filter(
    ([, , uid]) => Number(uid) >= FIRST_UID && Number(uid) <= LAST_UID && Number(uid) !== own,
  ).length
}
