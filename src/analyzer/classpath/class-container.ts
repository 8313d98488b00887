import type { Extent } from '../../native/classfile.ts'

/** Where classes come from: a folder, an archive, or an archive inside one. */
export interface ClassContainer {
  /** The folder or file on disk. */
  readonly path: string
  readonly kind: 'folder' | 'archive' | 'image'
  /** The archives inside the file that lead to it, outermost first: ["BOOT-INF/lib/a.jar"]. */
  readonly inside: readonly string[]
  /** The innermost of them, where it is deflated: the entries' extents are then inside what it inflates to. */
  readonly deflated: Extent | undefined
  /** One for each class: of several for one name the one that counts. */
  readonly classes: readonly ClassEntry[]
}

export interface ClassEntry {
  /** Internal, "java/util/Map$Entry", as the file's place says; the class file itself may say otherwise. */
  readonly name: string
  /** Path of the class file in its container. */
  readonly file: string
  /** Of the class file. */
  readonly bytes: number
  /** The same as long as the class file is: size and mtime in folders, place and size in images. Empty in archives, which are hashed as a whole. */
  readonly identity: string
  /** The Java release from which on it counts (META-INF/versions), 0 for all. */
  readonly release: number
  /** The module that holds it in a JDK's image. */
  readonly module: string | undefined
  /** Where it is in an archive or image; undefined in a folder. */
  readonly extent: Extent | undefined
}

/** What could not be listed or read; the rest was. */
export interface ClassPathProblem {
  /** The file, with what is inside it after "!/". */
  readonly path: string
  /** In bytes from the start of the class file, 0 where it is not about bytes. */
  readonly offset: number
  readonly message: string
}

/** "app.jar!/BOOT-INF/lib/a.jar!/demo/A.class" */
export function displayPath(
  { path, inside }: Pick<ClassContainer, 'path' | 'inside'>,
  file?: string,
): string {
  return [path, ...inside, ...(file === undefined ? [] : [file])].join('!/')
}

/** Larger class files are not read. */
export const MAX_CLASS_BYTES = 2 ** 24
