import { resolve } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import type { Command } from 'commander'
import { formatBytes } from '../../../../lib/cli/bytes.ts'
import { counted } from '../../../../lib/cli/counted.ts'
import { examples } from '../../../../lib/cli/examples.ts'
import { durationSeconds } from '../../../../lib/cli/arguments.ts'
import { createOutput } from '../../../../lib/cli/output.ts'
import type { Listing } from '../../../publish/list-folder.ts'
import type { PublishResult } from '../../../publish/publish.ts'
import type { GlobalOptions } from '../global-options.ts'

interface PublishOptions extends GlobalOptions {
  readonly repo: string
  readonly version?: string
  readonly alias?: readonly string[]
  /** In seconds. */
  readonly expires?: number
  readonly description?: string
  readonly source?: string
  readonly url?: string
  readonly delete?: boolean
}

const SHOW_EVERY_MS = 500

/** Adds the command publish. */
export function addPublish(program: Command): void {
  program
    .command('publish')
    .description('publish a folder of built documentation to the store; send only changed files')
    .argument('<dir>', 'folder to publish')
    .requiredOption('--repo <name>', 'name of the repository on the site')
    .option('--version <version>', 'publish as this version')
    .option('--alias <name...>', 'further name of the version, such as stable; repeatable')
    .option('--expires <duration>', 'time after which the version expires; default: never', durationSeconds)
    .option('--description <text>', 'description on the home page; default: unchanged')
    .option('--source <owner/name>', 'repository of the sources')
    .option('--url <url>', 'URL of the sources')
    .option('--delete', 'delete previously published files that are no longer in the folder')
    .addHelpText(
      'after',
      examples(
        'content-server publish site --repo guide --description "How to" --delete',
        'content-server publish site --repo guide --version 2.0 --alias stable',
        'content-server publish site --repo guide --version pr-42 --expires 14d --delete',
      ),
    )
    .action(async (dir: string, own: PublishOptions, command: Command) => {
      // With 100,000 files, V8 otherwise keeps twice the memory for garbage, and is not faster.
      setFlagsFromString('--optimize-for-size')
      // Overrides the program's own --version.
      const options: PublishOptions = { ...command.optsWithGlobals<PublishOptions>(), ...own }
      const [{ loadContentConfig, ownPaths }, { openStore }, { publish }] = await Promise.all([
        import('../../../config.ts'),
        import('../../../store/open-store.ts'),
        import('../../../publish/publish.ts'),
      ])
      const output = createOutput(options)
      const loaded = loadContentConfig(process.env, { file: options.config })
      const { config } = loaded
      const store = await openStore(config.store)
      let shownMs = Number.NEGATIVE_INFINITY
      try {
        const result = await publish(
          {
            folder: resolve(dir),
            repo: options.repo,
            version: own.version,
            aliases: options.alias,
            expiresAfterMs: options.expires === undefined ? undefined : options.expires * 1_000,
            description: options.description,
            source: options.source,
            url: options.url,
            deletes: options.delete === true,
          },
          {
            store,
            nowMs: Date.now(),
            ttlMs: config.cache.ttlMs,
            memoryDir: config.hashDir,
            own: ownPaths(loaded, process.env),
            hasHosts: config.http.repoDomain !== undefined,
            publicUrl: config.http.publicUrl,
            onListed: (listed) => warn(listedNotices(listed, options.repo)),
            onProgress(done, total) {
              if (performance.now() - shownMs < SHOW_EVERY_MS && done < total) return
              shownMs = performance.now()
              output.progress(`${done} of ${total} files`)
            },
          },
        )
        warn([...pageNotices(result), ...siteNotices(result, config.http.repoDomain !== undefined)])
        const { expiresMs, ...published } = result
        const expires = expiresMs === undefined ? null : new Date(expiresMs).toISOString()
        output.result(
          { ...published, version: result.version ?? null, expires },
          () =>
            `${result.repo}${result.version === undefined ? '' : ` ${result.version}`} is published${expires === null ? '' : ` until ${expires}`}: ${counted(result.uploaded, 'file')} sent (${formatBytes(result.bytes)}), ${result.unchanged} unchanged, ${result.deleted} deleted, ${counted(result.pages, 'page')} searchable`,
        )
      } finally {
        store.close()
      }
    })
}

function warn(notices: readonly string[]): void {
  for (const notice of notices) process.stderr.write(`content-server: ${notice}\n`)
}

/** Returns what the publisher should know before anything is sent. */
function listedNotices(
  { skipped, leftOut, likelySecrets }: Omit<Listing, 'files'>,
  repo: string,
): readonly string[] {
  return [
    ...skipped.map(
      (path) =>
        `${JSON.stringify(path)} cannot be published: it is a link or another special file, or its name is not a valid key`,
    ),
    ...leftOut.map(
      ({ path, use }) =>
        `${JSON.stringify(path)} is left out, because the server uses it (${use}); move it out of the folder`,
    ),
    ...likelySecrets.map(
      (path) =>
        `${JSON.stringify(path)} may contain secrets, and all readers of "${repo}" will be able to read it; if they should not, move it out of the folder and publish with --delete`,
    ),
  ]
}

/** Returns what the publisher should know about files that were published. */
function pageNotices({
  withdrawn,
  unsearched,
  partlySearched,
  doubtfulCharsets,
  idleRedirects,
}: PublishResult): readonly string[] {
  return [
    ...withdrawn.map(
      (path) =>
        `${JSON.stringify(path)} was published until now; replace the passwords and revoke the tokens in it`,
    ),
    ...unsearched.map((path) => `${JSON.stringify(path)} is too large for the search index`),
    ...partlySearched.map((path) => `${JSON.stringify(path)} is long; only its first part is searchable`),
    ...doubtfulCharsets.map(({ path, charset }) =>
      charset === null
        ? `${JSON.stringify(path)} is not in UTF-8 and declares no character set, so browsers guess it; save it as UTF-8, or add <meta charset>`
        : `${JSON.stringify(path)} is not in the character set that it declares (${charset}); correct the declaration, or save the page again`,
    ),
    ...idleRedirects.map(({ line, message }) => `_redirects, line ${line}: ${message}`),
  ]
}

/** Returns what the publisher should know about a site that was published. @param hasHosts whether repositories have separate hosts */
function siteNotices(
  { repo, version, pages, rootLinks }: PublishResult,
  hasHosts: boolean,
): readonly string[] {
  const all: string[] = []
  if (pages === 0) all.push('the folder has no HTML page; publish the output of the site builder')
  const [first] = rootLinks
  const base = `${hasHosts ? '' : `/repos/${repo}`}${version === undefined ? '' : `/${version}`}/`
  if (first !== undefined)
    all.push(
      `${counted(rootLinks.length, 'page')} with links that begin with "/", such as ${JSON.stringify(first.link)} in ${JSON.stringify(first.path)}: nothing is published there; build the site with relative links or the base path ${base}`,
    )
  return all
}
