import type { IncomingMessage } from 'node:http'
import type { Static, TSchema } from 'typebox'
import { Fault } from '../../../lib/errors/fault.ts'
import { messageOf } from '../../../lib/errors/message.ts'
import { readToken } from '../../../lib/fs/token-file.ts'
import { isHttpUrl } from '../../../lib/http/http-url.ts'
import { requestFor } from '../../../lib/http/node-http.ts'
import { kindOfStatus } from '../../../lib/http/status.ts'
import { parseJson } from '../../../lib/schema/parse-json.ts'
import { errorSchema } from '../../api/error.ts'
import { fault } from '../../errors.ts'

/** A longer response is not one of this API. */
const MAX_BYTES = 32 * 2 ** 20
/** Form of a service token; the server checks it exactly. */
const SECRET = /^cst_\S+$/

/** Address of a server, and where its token is. */
export interface ServerAddress {
  readonly url: string
  readonly token: { readonly secret: string } | { readonly file: string }
}

/**
 * Returns the server that flags or environment variables name. Nothing is read from the current folder, which may be
 * an untrusted project's.
 *
 * @throws SERVER_URL_INVALID or TOKEN_INVALID when one of them is missing or invalid
 */
export function serverAddress(
  given: { readonly url?: string; readonly tokenFile?: string },
  environment: Readonly<Record<string, string | undefined>>,
): ServerAddress {
  const url = given.url ?? environment['CONTENT_SERVER_URL']
  if (url === undefined)
    throw fault('SERVER_URL_INVALID', 'no server is selected; pass --url, or set CONTENT_SERVER_URL')
  if (!isHttpUrl(url))
    throw fault(
      'SERVER_URL_INVALID',
      `${given.url === undefined ? 'CONTENT_SERVER_URL' : '--url'} is "${url}", which is not a URL such as https://docs.example`,
    )
  const file = given.tokenFile ?? environment['CONTENT_SERVER_TOKEN_FILE']
  if (file !== undefined) return { url, token: { file } }
  const secret = environment['CONTENT_SERVER_TOKEN']
  if (secret === undefined || !SECRET.test(secret))
    throw fault(
      'TOKEN_INVALID',
      'no service token is given; pass --token-file, or set CONTENT_SERVER_TOKEN to a token that "content-server token create" printed',
    )
  return { url, token: { secret } }
}

/** Client of a content server's API, with a service token. */
export class ContentClient {
  readonly #address: ServerAddress

  constructor(address: ServerAddress) {
    this.#address = address
  }

  get url(): string {
    return this.#address.url
  }

  /**
   * Sends a request below `/_api`. Redirects are errors, so the token is never sent to another address.
   *
   * @throws the error of the server's response, or SERVER_UNREACHABLE when there is no valid one
   */
  async get<Schema extends TSchema>(
    schema: Schema,
    path: string,
    query: Readonly<Record<string, string | number | undefined>>,
    signal: AbortSignal,
  ): Promise<Static<Schema>> {
    const url = new URL(`/_api/${path}`, this.url)
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) url.searchParams.set(name, String(value))
    const authorization = `Bearer ${await secretOf(this.#address.token)}`
    const { status, body } = await this.#request(url, { authorization, accept: 'application/json' }, signal)
    if (status >= 400) throw faultFrom(status, body)
    const answer = status === 200 ? parseJson(schema, body) : undefined
    if (answer === undefined) throw this.#unreachable('the server there is not a content server')
    return answer
  }

  async #request(
    url: URL,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<{ readonly status: number; readonly body: string }> {
    try {
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        requestFor(url)(url, { headers, signal }).on('response', resolve).on('error', reject).end()
      })
      const chunks: Buffer[] = []
      let length = 0
      for await (const chunk of response) {
        chunks.push(chunk as Buffer)
        length += (chunk as Buffer).length
        if (length > MAX_BYTES) throw new Error('the response is too long')
      }
      return { status: response.statusCode ?? 500, body: Buffer.concat(chunks).toString() }
    } catch (error) {
      throw this.#unreachable(messageOf(error))
    }
  }

  #unreachable(why: string): Fault {
    return fault(
      'SERVER_UNREACHABLE',
      `no content server responds at ${this.url} (${why}); check the URL, or start the server`,
    )
  }
}

async function secretOf(token: ServerAddress['token']): Promise<string> {
  if ('secret' in token) return token.secret
  const secret = await readToken(token.file)
  if (secret === undefined || !SECRET.test(secret))
    throw fault(
      'TOKEN_INVALID',
      `${token.file} does not contain a service token; create one with "content-server token create"`,
    )
  return secret
}

function faultFrom(status: number, body: string): Fault {
  const kind = kindOfStatus(status)
  const { error } = parseJson(errorSchema, body) ?? {}
  return error === undefined
    ? new Fault('INTERNAL_ERROR', kind, `the content server responded with status ${status}`)
    : new Fault(error.code, kind, error.message)
}
