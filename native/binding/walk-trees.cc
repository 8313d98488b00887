#include "walk-trees.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../disk/walk-trees.h"
#include "background.h"
#include "system-error.h"

namespace workspace::binding {

namespace {

constexpr double maxThreads = 64;
/** Enough for 20 million extents. */
constexpr std::size_t maxRememberedBytes = std::size_t{128} << 20;

/** The threads of the process share it. */
disk::ExtentMemory& extentMemory() {
  static disk::ExtentMemory memory(maxRememberedBytes);
  return memory;
}

Napi::Number number(Napi::Env env, std::uint64_t value) {
  // Exact up to 2^53: 8 PiB.
  return Napi::Number::New(env, static_cast<double>(value));
}

Napi::Value treeOf(Napi::Env env, const disk::WalkedTree& tree) {
  const auto& [totals, error] = tree;
  if (error.number != 0) return systemError(env, error.number, error.syscall, error.path).Value();
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

class WalkWork : public BackgroundWork {
 public:
  WalkWork(std::vector<std::string> paths, disk::WalkOptions options)
      : paths_(std::move(paths)), options_(options) {
    options_.cancelled = &cancelled;
    options_.seen = &seen;
  }

  void work() override { error_ = disk::walkTrees(paths_, options_, report_); }

  Napi::Value result(Napi::Env env) override {
    if (error_.number != 0) throw systemError(env, error_.number, error_.syscall, error_.path);
    Napi::Array trees = Napi::Array::New(env, report_.trees.size());
    for (std::size_t i = 0; i < report_.trees.size(); i++)
      trees.Set(static_cast<std::uint32_t>(i), treeOf(env, report_.trees[i]));
    Napi::Object result = Napi::Object::New(env);
    result.Set("trees", trees);
    result.Set("sharedBytes", number(env, report_.sharedBytes));
    result.Set("askedFiles", number(env, report_.askedFiles));
    return result;
  }

 private:
  const std::vector<std::string> paths_;
  disk::WalkOptions options_;
  disk::WalkReport report_;
  disk::WalkError error_;
};

}  // namespace

Napi::Value walkTrees(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (info.Length() != 4 || !info[0].IsArray() || !info[1].IsNumber() || !info[2].IsNumber() || !info[3].IsNumber()) {
    throw Napi::TypeError::New(
        env, "walkTrees expects paths (string[]), threads, extentsFromBytes and rememberAt (numbers)");
  }
  const auto array = info[0].As<Napi::Array>();
  std::vector<std::string> paths;
  for (std::uint32_t i = 0; i < array.Length(); i++) paths.push_back(pathOf(env, array[i]));
  const double threads = info[1].As<Napi::Number>().DoubleValue();
  if (!(threads >= 0 && threads <= maxThreads)) {
    throw Napi::RangeError::New(env, "threads must be between 0 and 64");
  }
  const double extentsFromBytes = info[2].As<Napi::Number>().DoubleValue();
  if (!(extentsFromBytes >= 0 && extentsFromBytes <= 9007199254740991.0)) {
    throw Napi::RangeError::New(env, "extentsFromBytes must be a size");
  }
  disk::WalkOptions options;
  options.threads = static_cast<unsigned>(threads);
  options.extentsFromBytes = static_cast<std::uint64_t>(extentsFromBytes);
  options.now = info[3].As<Napi::Number>().Int64Value();
  if (options.now != 0) options.memory = &extentMemory();
  return startInBackground(env, std::make_shared<WalkWork>(std::move(paths), options));
}

Napi::Value saveExtents(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (info.Length() != 1 || !info[0].IsNumber()) throw Napi::TypeError::New(env, "saveExtents expects a time (number)");
  const std::vector<std::uint8_t> saved = extentMemory().save(info[0].As<Napi::Number>().Int64Value());
  if (saved.empty()) return env.Null();
  return Napi::Buffer<std::uint8_t>::Copy(env, saved.data(), saved.size());
}

Napi::Value restoreExtents(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (info.Length() != 1 || !info[0].IsTypedArray()) {
    throw Napi::TypeError::New(env, "restoreExtents expects bytes (Uint8Array)");
  }
  const auto saved = info[0].As<Napi::Uint8Array>();
  return Napi::Boolean::New(env, extentMemory().restore({saved.Data(), saved.ByteLength()}));
}

}  // namespace workspace::binding
