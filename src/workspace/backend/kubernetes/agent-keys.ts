// tsyringe, which @peculiar/x509 uses, requires this polyfill.
import 'reflect-metadata'
import { generateKeyPair, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509'
import { agentHost } from './names.ts'

const KEY = { name: 'ECDSA', namedCurve: 'P-256' } as const
const SIGNATURE = { name: 'ECDSA', hash: 'SHA-256' } as const
const DAY_MS = 86_400_000
/** Longer than any pod runs; every start has new keys. */
const LIFETIME_MS = 3_650 * DAY_MS
/** Clocks of nodes may be behind. */
const BACKDATED_MS = 2 * DAY_MS

/** Keys of one start of a pod: each side accepts exactly the other's certificate, so there is no authority to protect. */
export interface AgentKeys {
  readonly agent: CertifiedKey
  readonly server: CertifiedKey
}

/** A self-signed certificate and its private key, PEM. */
interface CertifiedKey {
  readonly certificate: string
  readonly key: string
}

/** Generates the keys of one start of a workspace's pod. */
export async function generateAgentKeys(uid: string): Promise<AgentKeys> {
  const [agent, server] = await Promise.all([
    certifiedKey(agentHost(uid), ExtendedKeyUsage.serverAuth),
    certifiedKey(`server.${agentHost(uid)}`, ExtendedKeyUsage.clientAuth),
  ])
  return { agent, server }
}

async function certifiedKey(host: string, usage: ExtendedKeyUsage): Promise<CertifiedKey> {
  const pair = await promisify(generateKeyPair)('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'der' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  const { subtle } = crypto
  const der = Buffer.from(pair.privateKey.replaceAll(/-----.*-----|\s/g, ''), 'base64')
  const nowMs = Date.now()
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: randomBytes(16).toString('hex'),
    name: [{ CN: [host.slice(0, 64)] }],
    notBefore: new Date(nowMs - BACKDATED_MS),
    notAfter: new Date(nowMs + LIFETIME_MS),
    signingAlgorithm: SIGNATURE,
    keys: {
      privateKey: await subtle.importKey('pkcs8', der, KEY, false, ['sign']),
      publicKey: await subtle.importKey('spki', pair.publicKey, KEY, true, ['verify']),
    },
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new ExtendedKeyUsageExtension([usage]),
      new SubjectAlternativeNameExtension([{ type: 'dns', value: host }]),
    ],
  })
  return { certificate: `${certificate.toString('pem')}\n`, key: pair.privateKey }
}
