#include "deallocate.h"

#include <cerrno>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "../disk/deallocate.h"
#include "background.h"
#include "system-error.h"

namespace workspace::binding {

namespace {

struct Stretch {
  std::uint64_t offset;
  std::uint64_t bytes;
};

std::uint64_t sizeOf(Napi::Env env, double value) {
  if (!(value >= 0 && value <= 9007199254740991.0)) throw Napi::RangeError::New(env, "offsets and sizes must be non-negative integers");
  return static_cast<std::uint64_t>(value);
}

class DeallocateWork : public BackgroundWork {
 public:
  DeallocateWork(int fd, std::vector<Stretch> stretches, bool isCollapse)
      : fd_(fd), stretches_(std::move(stretches)), isCollapse_(isCollapse) {}

  void work() override {
    for (const auto& [offset, bytes] : stretches_) {
      number_ = cancelled ? ECANCELED : isCollapse_ ? disk::collapseFront(fd_, bytes) : disk::punchHole(fd_, offset, bytes);
      if (number_ != 0) return;
      seen++;
    }
  }

  Napi::Value result(Napi::Env env) override {
    if (number_ != 0) throw systemError(env, number_, "fallocate", "");
    return env.Undefined();
  }

 private:
  const int fd_;
  const std::vector<Stretch> stretches_;
  const bool isCollapse_;
  int number_ = 0;
};

}  // namespace

Napi::Value punchHoles(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (info.Length() != 2 || !info[0].IsNumber() || !info[1].IsTypedArray() ||
      info[1].As<Napi::TypedArray>().TypedArrayType() != napi_float64_array) {
    throw Napi::TypeError::New(env, "punchHoles expects a descriptor and stretches (Float64Array)");
  }
  const auto numbers = info[1].As<Napi::Float64Array>();
  std::vector<Stretch> stretches;
  for (std::size_t at = 0; at + 1 < numbers.ElementLength(); at += 2)
    stretches.push_back({sizeOf(env, numbers[at]), sizeOf(env, numbers[at + 1])});
  const int fd = info[0].As<Napi::Number>().Int32Value();
  return startInBackground(env, std::make_shared<DeallocateWork>(fd, std::move(stretches), false));
}

Napi::Value collapseFront(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (info.Length() != 2 || !info[0].IsNumber() || !info[1].IsNumber())
    throw Napi::TypeError::New(env, "collapseFront expects a descriptor and bytes (numbers)");
  const std::vector<Stretch> stretches{{0, sizeOf(env, info[1].As<Napi::Number>().DoubleValue())}};
  const int fd = info[0].As<Napi::Number>().Int32Value();
  return startInBackground(env, std::make_shared<DeallocateWork>(fd, stretches, true));
}

}  // namespace workspace::binding
