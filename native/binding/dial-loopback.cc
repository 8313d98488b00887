#include "dial-loopback.h"

#include <string>

#include "../netns/dial.h"
#include "system-error.h"

namespace workspace::binding {

namespace {

class DialWorker : public Napi::AsyncWorker {
 public:
  DialWorker(Napi::Env env, std::string path, std::uint16_t port, int timeoutMs)
      : Napi::AsyncWorker(env), deferred(Napi::Promise::Deferred::New(env)), path(std::move(path)), port(port), timeoutMs(timeoutMs) {}

  Napi::Promise promise() const { return deferred.Promise(); }

  void Execute() override { result = netns::dialLoopback(path, port, timeoutMs); }

  void OnOK() override {
    if (result.number == 0) {
      deferred.Resolve(Napi::Number::New(Env(), result.fd));
    } else {
      deferred.Reject(systemError(Env(), result.number, result.syscall, path).Value());
    }
  }

  void OnError(const Napi::Error& error) override { deferred.Reject(error.Value()); }

 private:
  Napi::Promise::Deferred deferred;
  std::string path;
  std::uint16_t port;
  int timeoutMs;
  netns::Dialled result;
};

}  // namespace

Napi::Value dialLoopback(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (info.Length() != 3 || !info[0].IsString() || !info[1].IsNumber() || !info[2].IsNumber()) {
    throw Napi::TypeError::New(env, "dialLoopback expects a path (string), port and timeoutMs (numbers)");
  }
  const std::string path = info[0].As<Napi::String>().Utf8Value();
  if (path.find('\0') != std::string::npos) throw Napi::TypeError::New(env, "path contains a NUL");
  const double port = info[1].As<Napi::Number>().DoubleValue();
  const double timeoutMs = info[2].As<Napi::Number>().DoubleValue();
  if (!(port >= 1 && port <= 65535)) throw Napi::RangeError::New(env, "port must be between 1 and 65535");
  if (!(timeoutMs >= 0 && timeoutMs <= 600000)) throw Napi::RangeError::New(env, "timeoutMs must be between 0 and 600000");

  auto* worker = new DialWorker(env, path, static_cast<std::uint16_t>(port), static_cast<int>(timeoutMs));
  const Napi::Promise promise = worker->promise();
  worker->Queue();
  return promise;
}

}  // namespace workspace::binding
