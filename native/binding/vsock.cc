#include "vsock.h"

#include <fcntl.h>

#include <cerrno>
#include <string>
#include <thread>
#include <utility>

#include "../relay/relay.h"
#include "../vsock/socket.h"
#include "system-error.h"

namespace workspace::binding {

namespace {

class ConnectWorker : public Napi::AsyncWorker {
 public:
  ConnectWorker(Napi::Env env, unsigned int cid, unsigned int port, int timeoutMs)
      : Napi::AsyncWorker(env), deferred(Napi::Promise::Deferred::New(env)), cid(cid), port(port), timeoutMs(timeoutMs) {}

  Napi::Promise promise() const { return deferred.Promise(); }

  void Execute() override {
    const int connected = vsock::connect(cid, port, timeoutMs);
    result = connected < 0 ? connected : relay::attach(connected);
  }

  void OnOK() override {
    if (result >= 0) deferred.Resolve(Napi::Number::New(Env(), result));
    else deferred.Reject(systemError(Env(), -result, "connect", "vsock").Value());
  }

  void OnError(const Napi::Error& error) override { deferred.Reject(error.Value()); }

 private:
  Napi::Promise::Deferred deferred;
  unsigned int cid;
  unsigned int port;
  int timeoutMs;
  int result = 0;
};

/** Runs on a separate thread until the listener is stopped. */
void acceptAll(int listener, Napi::ThreadSafeFunction onConnection) {
  while (true) {
    unsigned int peer = 0;
    const int connection = vsock::accept(listener, peer);
    if (connection < 0) break;
    const int socket = relay::attach(connection);
    if (socket < 0) continue;
    const auto tell = [socket, peer](Napi::Env env, Napi::Function callback) {
      callback.Call({Napi::Number::New(env, socket), Napi::Number::New(env, peer)});
    };
    if (onConnection.BlockingCall(tell) != napi_ok) break;
  }
  onConnection.Release();
}

unsigned int numberAt(const Napi::CallbackInfo& info, std::size_t index) {
  const double value = info[index].IsNumber() ? info[index].As<Napi::Number>().DoubleValue() : -1;
  if (!(value >= 0 && value <= 4294967295.0)) throw Napi::TypeError::New(info.Env(), "expected a number from 0 to 2^32 - 1");
  return static_cast<unsigned int>(value);
}

}  // namespace

Napi::Value listenVsock(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const unsigned int port = numberAt(info, 0);
  if (info.Length() != 2 || !info[1].IsFunction()) throw Napi::TypeError::New(env, "listenVsock expects a port and a function");
  const int listener = vsock::listen(port);
  if (listener < 0) throw systemError(env, -listener, "listen", "vsock");
  std::thread(acceptAll, listener, Napi::ThreadSafeFunction::New(env, info[1].As<Napi::Function>(), "vsock", 0, 1)).detach();
  return Napi::Number::New(env, listener);
}

Napi::Value openDevice(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (info.Length() != 1 || !info[0].IsString()) throw Napi::TypeError::New(env, "openDevice expects a path");
  const std::string path = info[0].As<Napi::String>().Utf8Value();
  if (path.find('\0') != std::string::npos) throw Napi::TypeError::New(env, "path contains a NUL");
  const int device = open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (device < 0) throw systemError(env, errno, "open", path);
  const int socket = relay::attach(device);
  if (socket < 0) throw systemError(env, -socket, "open", path);
  return Napi::Number::New(env, socket);
}

Napi::Value stopVsock(const Napi::CallbackInfo& info) {
  vsock::stop(static_cast<int>(numberAt(info, 0)));
  return info.Env().Undefined();
}

Napi::Value connectVsock(const Napi::CallbackInfo& info) {
  auto* worker = new ConnectWorker(info.Env(), numberAt(info, 0), numberAt(info, 1), static_cast<int>(numberAt(info, 2)));
  const Napi::Promise promise = worker->promise();
  worker->Queue();
  return promise;
}

}  // namespace workspace::binding
