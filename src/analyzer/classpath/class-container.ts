import type { Extent } from '../../native/classfile.ts'

/** Source of classes: a folder, an archive, or an archive inside another. */
export interface ClassContainer {
  /** The folder or file on disk. */
  readonly path: string
  readonly kind: 'folder' | 'archive' | 'image'
  /** Path of nested archives inside the file, outermost first: ["BOOT-INF/lib/a.jar"]. */
  readonly inside: readonly string[]
  /**
   * Extent of the innermost nested archive if it is deflated; the entries' extents are then relative to its
   * inflated bytes.
   */
  readonly deflated: Extent | undefined
  /** One entry for each class; of several with one name, the effective one. */
  readonly classes: readonly ClassEntry[]
}

/** A class file in a container. */
export interface ClassEntry {
  /**
   * Internal name, "java/util/Map$Entry", derived from the file's path; the class file itself may have
   * another.
   */
  readonly name: string
  /** Path of the class file in its container. */
  readonly file: string
  /** Size of the class file. */
  readonly bytes: number
  /**
   * Unchanged as long as the class file is: size and mtime in folders, offset and size in images. Empty in
   * archives, which are hashed as a whole.
   */
  readonly identity: string
  /** First Java release that uses it (META-INF/versions), 0 for all. */
  readonly release: number
  /** Module in a JDK's image. */
  readonly module: string | undefined
  /** Extent in an archive or image; undefined in a folder. */
  readonly extent: Extent | undefined
}

/** Something that could not be listed or read, while the rest was. */
export interface ClassPathProblem {
  /** File, and the path inside it after "!/". */
  readonly path: string
  /** Byte offset in the class file, 0 if not applicable. */
  readonly offset: number
  readonly message: string
}

/** Returns a display path such as "app.jar!/BOOT-INF/lib/a.jar!/demo/A.class". */
export function displayPath(
  { path, inside }: Pick<ClassContainer, 'path' | 'inside'>,
  file?: string,
): string {
  return [path, ...inside, ...(file === undefined ? [] : [file])].join('!/')
}

/** Maximum size of a class file; larger ones are not read. */
export const MAX_CLASS_BYTES = 2 ** 24
