import { createECDH, generateKeyPairSync, hkdfSync } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectKeyIdentifierExtension,
  type X509Certificate,
  X509CertificateGenerator,
} from '../../lib/x509/x509.ts'
import { createSecureContext, type SecureContext } from 'node:tls'
import type { Clock } from '../../lib/clock/clock.ts'
import { DAY_MS, hostExtensions, hostName, issuance, KEY } from '../../lib/x509/certificates.ts'

/** Order of P-256. Source: SEC 2, 2.4.2. */
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
const AUTHORITY_MS = 3_650 * DAY_MS
const LEAF_MS = 30 * DAY_MS
/** Remaining lifetime at which a certificate is replaced. */
const RENEWAL_MS = 3 * DAY_MS
const MAX_CONTEXTS = 100

type WallClock = Pick<Clock, 'wallMs'>

/** The global type of keys differs between Node and browsers, which check this file too. */
type Keys = Awaited<ReturnType<typeof deriveKeys>>

/** The key of all certificates for servers; it never leaves this process. */
const leafKeys = generateKeyPairSync('ec', {
  namedCurve: 'P-256',
  publicKeyEncoding: { type: 'spki', format: 'der' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
})

/**
 * The certificate authority of one workspace's egress proxy. Its key is derived from a secret of the server, so a
 * restarted server continues with the authority that running programs have loaded, and there is nothing to delete.
 */
export class EgressAuthority {
  /** The authority's certificate, PEM. */
  readonly certificate: string
  readonly #issuer: X509Certificate
  readonly #key: Keys['privateKey']
  readonly #clock: WallClock
  readonly #contexts: LRUCache<string, Promise<SecureContext>>

  /** @param workspace distinguishes the workspace from every other, past ones of its name included */
  static async derive(secret: string, workspace: string, clock: WallClock): Promise<EgressAuthority> {
    const keys = await deriveKeys(secret, workspace)
    const issuer = await X509CertificateGenerator.createSelfSigned({
      ...issuance(AUTHORITY_MS, clock.wallMs()),
      name: [{ CN: ['Workspace egress proxy'] }, { OU: [workspace.slice(0, 60)] }],
      keys,
      extensions: [
        new BasicConstraintsExtension(true, 0, true),
        new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
        await SubjectKeyIdentifierExtension.create(keys.publicKey, false),
      ],
    })
    return new EgressAuthority(issuer, keys.privateKey, clock)
  }

  private constructor(issuer: X509Certificate, key: Keys['privateKey'], clock: WallClock) {
    this.certificate = `${issuer.toString('pem')}\n`
    this.#issuer = issuer
    this.#key = key
    this.#clock = clock
    const perf = { now: () => clock.wallMs() }
    this.#contexts = new LRUCache({ max: MAX_CONTEXTS, ttl: LEAF_MS - RENEWAL_MS, ttlResolution: 0, perf })
  }

  /** Returns the TLS context with a certificate for a host name. */
  contextFor(host: string): Promise<SecureContext> {
    const known = this.#contexts.get(host)
    if (known !== undefined) return known
    const made = this.#issue(host)
    this.#contexts.set(host, made)
    made.catch(() => this.#contexts.delete(host))
    return made
  }

  async #issue(host: string): Promise<SecureContext> {
    const publicKey = await crypto.subtle.importKey('spki', leafKeys.publicKey, KEY, true, ['verify'])
    const leaf = await X509CertificateGenerator.create({
      ...issuance(LEAF_MS, this.#clock.wallMs()),
      subject: hostName(host),
      issuer: this.#issuer.subjectName,
      signingKey: this.#key,
      publicKey,
      extensions: [
        ...hostExtensions(host, ExtendedKeyUsage.serverAuth),
        new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
        await AuthorityKeyIdentifierExtension.create(this.#issuer, false),
      ],
    })
    return createSecureContext({
      cert: leaf.toString('pem'),
      key: leafKeys.privateKey,
      minVersion: 'TLSv1.2',
    })
  }
}

/** Derives a P-256 key pair. Source: RFC 5869; FIPS 186-5, A.2.1 (extra random bits). */
async function deriveKeys(secret: string, workspace: string) {
  const bits = Buffer.from(hkdfSync('sha256', secret, '', `workspace egress authority\0${workspace}`, 48))
  const scalar = (BigInt(`0x${bits.toString('hex')}`) % (ORDER - 1n)) + 1n
  const d = Buffer.from(scalar.toString(16).padStart(64, '0'), 'hex')
  const curve = createECDH('prime256v1')
  curve.setPrivateKey(d)
  const point = curve.getPublicKey()
  const coordinates = {
    kty: 'EC',
    crv: 'P-256',
    x: point.subarray(1, 33).toString('base64url'),
    y: point.subarray(33).toString('base64url'),
  }
  const { subtle } = crypto
  return {
    privateKey: await subtle.importKey('jwk', { ...coordinates, d: d.toString('base64url') }, KEY, false, [
      'sign',
    ]),
    publicKey: await subtle.importKey('jwk', coordinates, KEY, true, ['verify']),
  }
}
