import type { IsIgnored } from '../dockerfile/ignored-files.ts'

/** An image of the engine, with the settings of its programs. */
export interface EngineImage {
  /** Identifies its content. */
  readonly id: string
  readonly environment: Readonly<Record<string, string>>
  /** '' for root. */
  readonly user: string
  /** '' for the root directory. */
  readonly directory: string
  /** Program that runs the text of RUN. */
  readonly shell: readonly string[]
}

/** A line for the engine's builder. */
export interface BuildLine {
  readonly text: string
  /** Number of the line in the Dockerfile that it comes from; undefined for others. */
  readonly line: number | undefined
}

/** Lines for the engine's builder, none of which runs a program. */
export interface BuildLines {
  /** Identifier of the image that they begin with; `scratch` for none. */
  readonly base: string
  /** Lines before FROM. */
  readonly before: readonly BuildLine[]
  readonly lines: readonly BuildLine[]
  /** `\` or a backtick. */
  readonly escape: string
  /** Values of ARG that were given. */
  readonly arguments: ReadonlyMap<string, string>
}

/** Files of a workspace that COPY can copy. */
export interface BuildFiles {
  /** The workspace, whose volume has them unless `localDir` is a directory of the host. */
  readonly name: string
  readonly localDir: string
  /** Path of the context relative to the workspace's directory. */
  readonly context: string
  /** Content of the context's .dockerignore; undefined if it has none. */
  readonly dockerignore: string | undefined
  readonly isIgnored: IsIgnored
  /** Permission bits for all files; undefined for their own. */
  readonly mode: number | undefined
}

/** An image that has only files of another one, without devices and pipes. */
export interface Extract {
  readonly id: string
  /** Its path for the wanted files, which may have patterns. */
  readonly word: string
}

/** Building images: the engine's builder does what runs no program, and the rest is done in containers of workspaces. */
export interface ImageBuilds {
  /** Architecture of the engine's images, in its own terms such as `amd64`. */
  readonly architecture: (signal: AbortSignal) => Promise<string>
  /**
   * Returns an image, which is pulled if it is missing.
   *
   * @throws INVALID_REQUEST for an image that has the files of a workspace, or instructions by ONBUILD
   */
  readonly pull: (image: string, work: BuildWork) => Promise<EngineImage>
  /** Returns what this server committed with a key on top of an image; undefined if that does not exist. */
  readonly findCommitted: (key: string, base: EngineImage) => Promise<EngineImage | undefined>
  /** Makes an image of lines. @throws Error with a sentence for a line that fails */
  readonly make: (lines: BuildLines, files: BuildFiles | undefined, work: BuildWork) => Promise<EngineImage>
  /**
   * Makes an image with the files of a path or pattern of another one, whose devices and pipes COPY would open.
   *
   * @param title names the files in errors
   */
  readonly extract: (image: string, source: string, title: string, work: BuildWork) => Promise<Extract>
  readonly discard: (extract: Extract) => Promise<void>
  /** Returns the values of words with variables at the end of lines. @throws Error as `make` does */
  readonly evaluate: (
    lines: BuildLines,
    words: readonly string[],
    work: BuildWork,
  ) => Promise<readonly string[]>
  /** Makes an image of a workspace's container, which keeps the settings of the image that the container has. */
  readonly commit: (
    name: string,
    image: EngineImage,
    key: string,
    signal: AbortSignal,
  ) => Promise<EngineImage>
  /** Returns the name of the image that was kept with a key; undefined if there is none. */
  readonly findKept: (key: string) => Promise<string | undefined>
  /** Gives an image a name, which is returned. */
  readonly keep: (image: EngineImage, key: string) => Promise<string>
  /** Lets an image be deleted when nothing uses it. */
  readonly release: (image: EngineImage) => Promise<void>
}

/** Reports progress of a pull or build, and aborts it. */
export interface BuildWork {
  readonly progress: (message: string) => void
  readonly signal: AbortSignal
}
