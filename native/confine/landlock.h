#pragma once

#include <span>
#include <string>

namespace workspace::confine {

/** Returns the kernel's Landlock version; 0 if it has none or a container's filter hides it. Source: landlock(7). */
int landlockVersion();

/** Files and directories that a process may use. Missing ones are ignored. */
struct Paths {
  std::span<const std::string> readable;
  std::span<const std::string> writable;
};

/**
 * Restricts this process and its successors to these paths, to no TCP port, and to signals and abstract sockets of
 * its own. Returns 0 or the errno. Does nothing if `landlockVersion` is 0.
 */
int restrictFiles(const Paths& paths);

}  // namespace workspace::confine
