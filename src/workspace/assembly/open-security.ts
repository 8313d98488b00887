import { readFile } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'
import type { AlarmClock } from '../../lib/clock/clock.ts'
import { followSetting } from '../../lib/config/follow-setting.ts'
import { FollowedFiles } from '../../lib/fs/followed-files.ts'
import { readGivenToken } from '../../lib/fs/token-file.ts'
import type { Certificate } from '../../lib/http/server.ts'
import { followedSecret, type Secret } from '../../lib/http/token-rule.ts'
import type { Logger } from '../../lib/log/logger.ts'
import { defineFaults } from '../../lib/errors/fault.ts'
import { messageOf } from '../../lib/errors/message.ts'
import type { WorkspaceConfig } from '../config.ts'

const startFault = defineFaults({ CERTIFICATE_UNUSABLE: 'invalid' })

/** The tokens and the certificate of the HTTP server as they are now: their files may be replaced while it runs. */
export interface HttpSecurity {
  /** Undefined if requests need none. */
  readonly token: Secret | undefined
  /** Undefined if listeners of the bus need none. */
  readonly busToken: Secret | undefined
  /** Undefined without TLS. */
  readonly certificate: Certificate | undefined
}

/** Called when a file was replaced. */
interface OnReplaced {
  /** That of either token. */
  readonly token: () => void
  readonly certificate: (certificate: Certificate) => void
}

/**
 * Reads the files of the HTTP server's tokens and certificate.
 *
 * @returns them, and a function that follows their replacements until the function that it returns is called
 * @throws TOKEN_FILE_UNUSABLE and CERTIFICATE_UNUSABLE
 */
export async function openSecurity({ http: { tokenFile, tls }, bus }: WorkspaceConfig): Promise<
  HttpSecurity & {
    readonly follow: (
      deps: { readonly clock: AlarmClock; readonly logger: Logger },
      onReplaced: OnReplaced,
    ) => () => void
  }
> {
  const token = await openTokenFile(tokenFile)
  const busToken = await openTokenFile(bus.tokenFile)
  const certificate =
    tls === undefined ? undefined : await FollowedFiles.open([tls.cert, tls.key], () => readCertificate(tls))
  return {
    token: token && followedSecret(token),
    busToken: busToken ? followedSecret(busToken) : bus.token === undefined ? undefined : { text: bus.token },
    certificate: certificate?.value,
    follow(deps, onReplaced) {
      const ends = [
        token && followSetting('http.token_file', token, deps, onReplaced.token),
        busToken && followSetting('bus.token_file', busToken, deps, onReplaced.token),
        certificate && followSetting('http.tls', certificate, deps, onReplaced.certificate),
      ]
      return () => {
        for (const end of ends) end?.()
      }
    },
  }
}

async function openTokenFile(path: string | undefined): Promise<FollowedFiles<string> | undefined> {
  return path === undefined ? undefined : FollowedFiles.open([path], () => readGivenToken(path))
}

async function readCertificate(files: { readonly cert: string; readonly key: string }): Promise<Certificate> {
  try {
    const [cert, key] = await Promise.all([readFile(files.cert, 'utf8'), readFile(files.key, 'utf8')])
    // Fails unless the key belongs to the certificate.
    createSecureContext({ cert, key })
    return { cert, key }
  } catch (error) {
    throw startFault(
      'CERTIFICATE_UNUSABLE',
      `http.tls: ${files.cert} and ${files.key} are not a certificate and its key (${messageOf(error)})`,
      error,
    )
  }
}
