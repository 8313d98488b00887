#pragma once

#include <span>
#include <string>

namespace workspace::confine {

/** Version of the kernel's Landlock interface; 0 where it has none or a container's filter hides it. Source: landlock(7). */
int landlockVersion();

/** Files and directories that a process can use. Missing ones are left out. */
struct Paths {
  std::span<const std::string> readable;
  std::span<const std::string> writable;
};

/**
 * Lets this process and all that it becomes reach only these paths, no TCP port, and by signals and abstract sockets only itself. Returns 0, or the
 * number of the system's error. Does nothing where `landlockVersion` is 0.
 */
int restrictFiles(const Paths& paths);

}  // namespace workspace::confine
