import { messageOf } from '../../lib/errors/message.ts'
import { run } from '../../lib/process/run.ts'
import { ciphersRemedy, sshCiphers, type SshCiphers } from '../../lib/ssh/ciphers.ts'
import { loadAddon } from '../../native/load.ts'
import { probeDocker } from '../backend/docker/engine/probe.ts'
import { probeMachines } from './probe-machines.ts'
import type { WorkspaceConfig } from '../config.ts'
import { probeImages } from './probe-images.ts'
import { probeNetwork } from '../network/probe.ts'
import type { Check } from '../check.ts'
import { probeHardened } from './probe-hardened.ts'

/** Looks at everything the server works with on this machine; changes nothing. */
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
        ok: true,
        found: `JavaScript in its place, slower (${addon.reason})`,
        remedy: 'npm run build:native, with g++, make and python3 installed',
      }
}

const CIPHERS_FOUND: Record<SshCiphers, string> = {
  compiled: 'loaded',
  absent: 'JavaScript in its place, slower',
  refused: 'JavaScript in its place, slower: as it was compiled, it would abort the server',
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
    return { name: 'OpenSSH client', ok: false, found: messageOf(error), remedy: 'install openssh-client' }
  }
}
