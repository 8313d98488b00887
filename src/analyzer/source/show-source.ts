import type { Scan } from '../scan/scan.ts'
import { showClass } from '../query/types/class-show.ts'
import type { Excerpt, SourceFormat } from './java/source-format.ts'
import { renderClassFile } from './java/render-class-file.ts'
import {
  type ClassOrigin,
  type ClassText,
  noSource,
  type SourceService,
  type TextOptions,
} from './source-service.ts'
import type { VisibilityLevel } from './java/visibility.ts'

/** Options of a query for a class's source. */
export interface ShowOptions extends TextOptions {
  readonly format: SourceFormat
  /** Lowest visibility of the members shown; ignored for `full`. */
  readonly visibility: VisibilityLevel
}

/** Source of a class. */
export interface SourceView {
  readonly fqn: string
  /** Null for a text that is not from a file. */
  readonly filePath: string | null
  readonly language: string
  readonly content: string
  readonly lineCount: number
  readonly module: string | null
  readonly sourceOrigin: ClassText['origin']
  readonly mavenCoordinates: string | null
  readonly isDecompiled: boolean
  readonly format: SourceFormat
  /** Lines of the class in `content`, from 1; null if unknown. Only for `full`. */
  readonly startLine?: number | null
  readonly endLine?: number | null
}

/** Returns a class's source, whole or as an excerpt. @throws CLASS_NOT_FOUND and as `SourceService.text` */
export async function showSource(
  service: SourceService,
  scan: Scan,
  fqn: string,
  options: ShowOptions,
): Promise<SourceView> {
  const origin = await service.find(scan, fqn, options.language)
  if (options.format !== 'full') return showExcerpt(service, scan, origin, options.format, options)
  const text = await service.text(scan.snapshot, origin, options)
  const lines =
    text.language === 'java' ? await service.extract({ ...textOf(text), wanted: { is: 'lines' } }) : undefined
  const { startLine = null, endLine = null } = lines?.is === 'lines' ? lines : {}
  return { ...viewOf(text, text.text, 'full'), startLine, endLine }
}

async function showExcerpt(
  service: SourceService,
  scan: Scan,
  origin: ClassOrigin,
  excerpt: Excerpt,
  options: ShowOptions,
): Promise<SourceView> {
  const { found, mavenCoordinates } = origin.found
  const { fqn, classLocation } = origin
  if (found?.language === 'java') {
    const text: ClassText = { fqn, classLocation, mavenCoordinates, ...found }
    const wanted = { is: 'excerpt', excerpt, least: options.visibility } as const
    const extracted = await service.extract({ ...textOf(text), wanted })
    if (extracted?.is === 'excerpt') return viewOf(text, extracted.content, excerpt)
  }
  // Documentation exists only in source text.
  if (excerpt === 'javadoc') throw noSource(origin, { language: 'java' })
  const content = renderClassFile(
    showClass(scan.snapshot, fqn, { synthetic: false }),
    excerpt,
    options.visibility,
  )
  const made = {
    fqn,
    classLocation,
    mavenCoordinates,
    text: content,
    filePath: null,
    language: 'java',
    module: null,
  } as const
  return viewOf({ ...made, origin: 'DECOMPILED' }, content, excerpt)
}

/** Returns the part of a text that `extract` needs. */
export function textOf({ text, classLocation, origin }: ClassText) {
  return { text, steps: classLocation.steps, isOriginal: origin !== 'DECOMPILED' }
}

function viewOf(text: ClassText, content: string, format: SourceFormat): SourceView {
  const { fqn, filePath, language, module, origin, mavenCoordinates } = text
  return {
    fqn,
    filePath,
    language,
    content,
    lineCount: lineCount(content),
    module,
    sourceOrigin: origin,
    mavenCoordinates,
    isDecompiled: origin === 'DECOMPILED',
    format,
  }
}

function lineCount(text: string): number {
  if (text === '') return 0
  return text.split('\n').length - (text.endsWith('\n') ? 1 : 0)
}
