#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <vector>

namespace workspace::spawn {

struct Limit {
  int resource;
  rlim_t value;
};

/**
 * A program to start. The caller owns the texts, which end with a zero byte; lists of texts end with a null pointer.
 */
struct Request {
  const char* const* argv;
  const char* const* environment;
  const char* directory;
  /** Descriptors of its standard output and error; its standard input is empty, except with a terminal. */
  int output = -1;
  int error = -1;
  /** Whether `output` is a terminal, which becomes its input and the controlling terminal of its session. */
  bool isTerminal = false;
  bool hasUser = false;
  uid_t user = 0;
  gid_t group = 0;
  std::vector<gid_t> groups;
  std::vector<Limit> limits;
  /** The file `cgroup.procs` of the control group to start in; null for none. */
  const char* cgroup = nullptr;
};

/** An error: the errno and the call that failed. */
struct Failure {
  int error = 0;
  const char* call = "";
};

/**
 * Starts a program as the leader of a separate session, found through PATH of the given environment. Copies nothing
 * of this process (vfork). Returns its id, or -1 with the failure set.
 */
pid_t start(const Request& request, Failure& failure);

/** Makes this process the parent of its descendants' orphans, or not. Source: PR_SET_CHILD_SUBREAPER, prctl(2). */
int setSubreaper(bool isSubreaper);

}  // namespace workspace::spawn
