import { generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'
import { DAY_MS, hostExtensions, hostName, issuance, KEY } from '../../../lib/x509/certificates.ts'
import { ExtendedKeyUsage, X509CertificateGenerator } from '../../../lib/x509/x509.ts'
import { agentHost } from './names.ts'

/** Longer than any pod runs; every start has new keys. */
const LIFETIME_MS = 3_650 * DAY_MS

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
  const { privateKey, publicKey } = await promisify(generateKeyPair)('ec', { namedCurve: KEY.namedCurve })
  const certificate = await X509CertificateGenerator.createSelfSigned({
    ...issuance(LIFETIME_MS, Date.now()),
    name: hostName(host),
    keys: {
      privateKey: privateKey.toCryptoKey(KEY, false, ['sign']),
      publicKey: publicKey.toCryptoKey(KEY, true, ['verify']),
    },
    extensions: [...hostExtensions(host, usage)],
  })
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  return { certificate: `${certificate.toString('pem')}\n`, key }
}
