#pragma once

#include <napi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace workspace::binding {

/** Long work on a thread of libuv's that can be watched and given up. */
class BackgroundWork {
 public:
  virtual ~BackgroundWork() = default;

  /** On the other thread. Ends soon after `cancelled` becomes true. */
  virtual void work() = 0;

  /** On JavaScript's thread: what the promise resolves with; what it throws rejects it. */
  virtual Napi::Value result(Napi::Env env) = 0;

  std::atomic<bool> cancelled{false};
  std::atomic<std::uint64_t> seen{0};
};

/** Starts the work and returns {done: Promise, seen(): number, cancel(): void}. The end of the calling thread cancels it. */
Napi::Object startInBackground(Napi::Env env, std::shared_ptr<BackgroundWork> work);

/** A path argument: the system would silently take the part before a NUL for it. */
std::string pathOf(Napi::Env env, const Napi::Value& value);

}  // namespace workspace::binding
