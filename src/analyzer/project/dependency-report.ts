/** A dependency that the build tool resolved for a module. */
export interface ModuleDependency {
  /** "group:artifact:type:version", with a classifier after the type if it has one. */
  readonly coordinates: string
  readonly scope: string
  /** Archive, or class folder of another module; undefined if the build tool named none. */
  readonly path: string | undefined
  /** Coordinates of the declared dependency that brings it; undefined if the module declares it. */
  readonly broughtBy: string | undefined
}

/** A module with its dependencies. */
export interface DependencyModule {
  /** "group:artifact". */
  readonly name: string
  readonly folder: string
  readonly dependencies: readonly ModuleDependency[]
}

/** Dependencies of a project's modules. */
export interface DependencyReport {
  readonly modules: readonly DependencyModule[]
  /** Modules that the build tool could not resolve, or whose folder is unknown. */
  readonly missing: readonly string[]
}
