#include "dial-loopback.h"

#include <unistd.h>
#include <uv.h>

#include <cerrno>
#include <string>

#include "../netns/dial.h"
#include "system-error.h"

namespace workspace::binding {

namespace {

/** A connection attempt; deletes itself once libuv has closed both handles. */
class Dial {
 public:
  Dial(Napi::Env env, netns::Expected process, std::uint16_t port, std::uint64_t timeoutMs)
      : env_(env), deferred_(Napi::Promise::Deferred::New(env)), process_(std::move(process)), port_(port), timeoutMs_(timeoutMs) {}

  Napi::Promise promise() const { return deferred_.Promise(); }
  void begin() { result_ = netns::beginDial(process_, port_); }

  /** On JavaScript's thread. */
  void follow() {
    if (result_.number != 0 || !result_.isPending) return finish();
    uv_loop_t* loop = nullptr;
    if (napi_get_uv_event_loop(env_, &loop) != napi_ok || uv_poll_init_socket(loop, &poll_, result_.fd) != 0) {
      close(result_.fd);
      result_ = {-1, false, EIO, "poll"};
      return finish();
    }
    uv_timer_init(loop, &timer_);
    poll_.data = timer_.data = this;
    uv_timer_start(&timer_, [](uv_timer_t* timer) { static_cast<Dial*>(timer->data)->end(true); }, timeoutMs_, 0);
    uv_poll_start(&poll_, UV_WRITABLE, [](uv_poll_t* poll, int, int) { static_cast<Dial*>(poll->data)->end(false); });
  }

 private:
  void end(bool isLate) {
    uv_timer_stop(&timer_);
    uv_poll_stop(&poll_);
    if (isLate) {
      close(result_.fd);
      result_ = {-1, false, ETIMEDOUT, "connect"};
    } else {
      result_ = netns::finishDial(result_.fd);
    }
    const auto closed = [](uv_handle_t* handle) {
      auto* dial = static_cast<Dial*>(handle->data);
      if (++dial->closed_ == 2) delete dial;
    };
    uv_close(reinterpret_cast<uv_handle_t*>(&timer_), closed);
    uv_close(reinterpret_cast<uv_handle_t*>(&poll_), closed);
    Napi::HandleScope scope(env_);
    settle();
  }

  void finish() {
    settle();
    delete this;
  }

  void settle() {
    if (result_.number == 0) deferred_.Resolve(Napi::Number::New(env_, result_.fd));
    else deferred_.Reject(systemError(env_, result_.number, result_.syscall, "/proc/" + std::to_string(process_.pid) + "/ns/net").Value());
  }

  Napi::Env env_;
  Napi::Promise::Deferred deferred_;
  netns::Expected process_;
  std::uint16_t port_;
  std::uint64_t timeoutMs_;
  netns::DialResult result_;
  uv_poll_t poll_{};
  uv_timer_t timer_{};
  int closed_ = 0;
};

netns::Expected readProcess(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const double pid = info[0].As<Napi::Number>().DoubleValue();
  std::string group = info[1].As<Napi::String>().Utf8Value();
  if (group.empty()) throw Napi::TypeError::New(env, "group is empty");
  if (!(pid >= 1 && pid <= 4194304)) throw Napi::RangeError::New(env, "pid must be between 1 and 4194304");
  return {static_cast<int>(pid), std::move(group)};
}

std::uint16_t readPort(const Napi::CallbackInfo& info) {
  const double port = info[2].As<Napi::Number>().DoubleValue();
  if (!(port >= 1 && port <= 65535)) throw Napi::RangeError::New(info.Env(), "port must be between 1 and 65535");
  return static_cast<std::uint16_t>(port);
}

/** Enters the namespace on another thread, for microseconds. */
class DialWorker : public Napi::AsyncWorker {
 public:
  DialWorker(Napi::Env env, Dial* dial) : Napi::AsyncWorker(env), dial_(dial) {}
  void Execute() override { dial_->begin(); }
  void OnOK() override { dial_->follow(); }

 private:
  Dial* dial_;
};

}  // namespace

Napi::Value dialLoopback(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (info.Length() != 4 || !info[0].IsNumber() || !info[1].IsString() || !info[2].IsNumber() || !info[3].IsNumber()) {
    throw Napi::TypeError::New(env, "dialLoopback expects pid (number), group (string), port and timeoutMs (numbers)");
  }
  netns::Expected process = readProcess(info);
  const std::uint16_t port = readPort(info);
  const double timeoutMs = info[3].As<Napi::Number>().DoubleValue();
  if (!(timeoutMs >= 0 && timeoutMs <= 600000)) throw Napi::RangeError::New(env, "timeoutMs must be between 0 and 600000");

  auto* dial = new Dial(env, std::move(process), port, static_cast<std::uint64_t>(timeoutMs));
  const Napi::Promise promise = dial->promise();
  (new DialWorker(env, dial))->Queue();
  return promise;
}

Napi::Value bindLoopback(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (info.Length() != 3 || !info[0].IsNumber() || !info[1].IsString() || !info[2].IsNumber()) {
    throw Napi::TypeError::New(env, "bindLoopback expects pid (number), group (string) and port (number)");
  }
  const netns::Expected process = readProcess(info);
  const netns::DialResult result = netns::bindLoopback(process, readPort(info));
  if (result.number != 0) throw systemError(env, result.number, result.syscall, "/proc/" + std::to_string(process.pid) + "/ns/net");
  return Napi::Number::New(env, result.fd);
}

}  // namespace workspace::binding
