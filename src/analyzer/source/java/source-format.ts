/** Excerpts of a Java text. */
const EXCERPTS = ['stub', 'signatures', 'javadoc'] as const
/** An excerpt of a Java text. */
export type Excerpt = (typeof EXCERPTS)[number]

/** Formats of a source: the whole text or an excerpt. */
export const SOURCE_FORMATS = ['full', ...EXCERPTS] as const
/** Format of a source. */
export type SourceFormat = (typeof SOURCE_FORMATS)[number]
