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
  WalkWork(std::vector<std::string> paths, unsigned threads, std::uint64_t extentsFromBytes)
      : paths_(std::move(paths)) {
    options_.threads = threads;
    options_.extentsFromBytes = extentsFromBytes;
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
  if (info.Length() != 3 || !info[0].IsArray() || !info[1].IsNumber() || !info[2].IsNumber()) {
    throw Napi::TypeError::New(env, "walkTrees expects paths (string[]), threads and extentsFromBytes (numbers)");
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
  return startInBackground(env, std::make_shared<WalkWork>(std::move(paths), static_cast<unsigned>(threads),
                                                           static_cast<std::uint64_t>(extentsFromBytes)));
}

}  // namespace workspace::binding
