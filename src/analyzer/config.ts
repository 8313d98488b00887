import { MODES } from './choices.ts'
import { defaultCacheDir } from './cache-dir.ts'
import { Type } from '../lib/schema/type.ts'
import type { Decoded } from '../lib/config/decode.ts'
import { duration, optionalText, section, size, text } from '../lib/config/fields.ts'
import { loadConfig } from '../lib/config/load.ts'
import { LOG_LEVELS } from '../lib/log/levels.ts'

const portOfRange = (value: number, description: string) =>
  Type.Integer({ minimum: 1, maximum: 65_535, default: value, description })

/** Every key of the analyzer's config file. */
export const analyzerSchema = section({
  server: section({
    mode: Type.Enum(MODES, {
      default: 'auto',
      description:
        'how the class path is found: by the build tool, by looking for class folders and jars, or by what works',
    }),
    idle_timeout: duration('30m', 'a server that nobody has asked for this long ends; 0s: never'),
    host: text('127.0.0.1', 'address the server listens on'),
    port_range: section({
      start: portOfRange(61_000, 'first port that a server may take'),
      end: portOfRange(65_535, 'last port that a server may take'),
    }),
    watch: Type.Boolean({
      default: false,
      description: 'whether classes and jars are read again by themselves when a build has written them',
    }),
    auth: Type.Enum(['none', 'token'], {
      default: 'token',
      description:
        'token: every route demands the token of the state file; none: only those that change something',
    }),
  }),
  jvm_home: optionalText(
    'JVM of the project, whose classes it is built on; default JAVA_HOME, else the one that PATH leads to',
  ),
  repo_path: optionalText("the tool's own checkout, whose server is then run"),
  cache_dir: optionalText('where indexes are kept; default the user’s cache folder'),
  source: section({
    vineflower: optionalText(
      'jar of Vineflower, which then decompiles on the project’s JVM; without it a port of it to WebAssembly does',
    ),
    time_limit: duration('60s', 'decompiling a class that takes longer is given up'),
    memory_limit: size('1GiB', 'what decompiling may take of memory'),
  }),
  lint: section({
    ktlint: optionalText('ktlint or its jar, for Kotlin files; default the one that PATH leads to'),
  }),
  log: section({
    level: Type.Enum(LOG_LEVELS, { default: 'info', description: 'least severe level logged' }),
  }),
})

/** The analyzer's effective configuration. */
export type AnalyzerConfig = Decoded<typeof analyzerSchema> & { readonly cacheDir: string }

/** Reads the configuration: defaults, then one file, then the environment (`ANALYZER_…`), then flags. */
export function loadAnalyzerConfig(
  environment: Readonly<Record<string, string | undefined>>,
  flags: Readonly<Record<string, unknown>> = {},
): AnalyzerConfig {
  const { decoded } = loadConfig({
    program: 'analyzer',
    fileVariable: 'ANALYZER_CONFIG',
    environmentPrefix: 'ANALYZER',
    schema: analyzerSchema,
    environment,
    flags,
  })
  return { ...decoded, cacheDir: decoded.cacheDir ?? defaultCacheDir(environment) }
}
