import { MODES } from './choices.ts'
import { defaultCacheDir } from './cache-dir.ts'
import { Type } from '../lib/schema/type.ts'
import type { Decoded } from '../lib/config/decode.ts'
import { duration, optionalText, section, size, text, texts } from '../lib/config/fields.ts'
import { loadConfig } from '../lib/config/load.ts'
import { LOG_LEVELS } from '../lib/log/levels.ts'

const portOfRange = (value: number, description: string) =>
  Type.Integer({ minimum: 1, maximum: 65_535, default: value, description })

/** Schema of the analyzer's configuration file. */
export const analyzerSchema = section({
  server: section({
    mode: Type.Enum(MODES, {
      default: 'auto',
      description:
        'how the class path is resolved: buildtool asks Maven or Gradle, jar searches for class folders and jars, auto falls back from one to the other',
    }),
    idle_timeout: duration('30m', 'how long a server stays up without requests; 0s: forever'),
    host: text('127.0.0.1', 'address the server listens on'),
    port_range: section({
      start: portOfRange(61_000, 'first port a server may listen on'),
      end: portOfRange(65_535, 'last port a server may listen on'),
    }),
    watch: Type.Boolean({
      default: false,
      description: 'whether the server rescans classes and jars when a build writes them',
    }),
    auth: Type.Enum(['none', 'token'], {
      default: 'token',
      description:
        'token: every route requires the token in the state file; none: only routes that change something do',
    }),
  }),
  classes: texts(
    'folders and archives with the classes of the project, instead of those that are found; relative to its root',
  ),
  jvm_home: optionalText('JVM the project is built against; default JAVA_HOME, then the first java on PATH'),
  repo_path: optionalText('checkout of this tool whose server is started instead of the installed one'),
  cache_dir: optionalText('directory for indexes; default the user’s cache directory'),
  source: section({
    vineflower: optionalText(
      'Vineflower jar to decompile with on the project’s JVM; default the built-in WebAssembly port',
    ),
    time_limit: duration('60s', 'maximum time to decompile one class'),
    memory_limit: size('1GiB', 'maximum memory for decompiling'),
  }),
  lint: section({
    ktlint: optionalText('ktlint program or jar, for Kotlin files; default ktlint on PATH'),
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
