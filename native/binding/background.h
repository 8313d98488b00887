#pragma once

#include <napi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace workspace::binding {

/** Long work on a libuv thread, with progress and cancellation. */
class BackgroundWork {
 public:
  virtual ~BackgroundWork() = default;

  /** Runs on the other thread. Returns soon after `cancelled` becomes true. */
  virtual void work() = 0;

  /** Runs on JavaScript's thread and returns the promise's result; an exception rejects the promise. */
  virtual Napi::Value result(Napi::Env env) = 0;

  std::atomic<bool> cancelled{false};
  std::atomic<std::uint64_t> seen{0};
};

/**
 * Starts the work and returns {done: Promise, seen(): number, cancel(): void}. Termination of the calling thread
 * cancels it.
 */
Napi::Object startInBackground(Napi::Env env, std::shared_ptr<BackgroundWork> work);

/** Returns a path argument; rejects NULs, because the system would silently use the part before one. */
std::string pathOf(Napi::Env env, const Napi::Value& value);

}  // namespace workspace::binding
