#include "walk-tree.h"

#include <cstdint>
#include <string>

#include "../disk/walk-tree.h"
#include "system-error.h"

namespace workspace::binding {

namespace {

constexpr double maxThreads = 64;

Napi::Number number(Napi::Env env, std::uint64_t value) {
  // Exact up to 2^53: 8 PiB.
  return Napi::Number::New(env, static_cast<double>(value));
}

}  // namespace

Napi::Value walkTree(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (info.Length() != 2 || !info[0].IsString() || !info[1].IsNumber()) {
    throw Napi::TypeError::New(env, "walkTree expects a path (string) and threads (number)");
  }
  const std::string path = info[0].As<Napi::String>().Utf8Value();
  // The system would silently take the part before the NUL for the path.
  if (path.find('\0') != std::string::npos) throw Napi::TypeError::New(env, "path contains a NUL");
  const double threads = info[1].As<Napi::Number>().DoubleValue();
  if (!(threads >= 0 && threads <= maxThreads)) {
    throw Napi::RangeError::New(env, "threads must be between 0 and 64");
  }

  disk::WalkOptions options;
  options.threads = static_cast<unsigned>(threads);
  disk::WalkTotals totals;
  const disk::WalkError error = disk::walkTree(path, options, totals);
  if (error.number != 0) throw systemError(env, error.number, error.syscall, error.path);

  Napi::Object result = Napi::Object::New(env);
  result.Set("files", number(env, totals.files));
  result.Set("directories", number(env, totals.directories));
  result.Set("logicalBytes", number(env, totals.logicalBytes));
  result.Set("physicalBytes", number(env, totals.physicalBytes));
  result.Set("unreadable", number(env, totals.unreadable));
  result.Set("firstUnreadable", totals.firstUnreadable.empty()
                                    ? env.Undefined()
                                    : Napi::String::New(env, totals.firstUnreadable).As<Napi::Value>());
  return result;
}

}  // namespace workspace::binding
