#include "background.h"

#include <utility>

namespace workspace::binding {

namespace {

class Worker : public Napi::AsyncWorker {
 public:
  Worker(Napi::Env env, std::shared_ptr<BackgroundWork> work)
      : Napi::AsyncWorker(env), deferred_(Napi::Promise::Deferred::New(env)), work_(std::move(work)) {
    // A terminating thread waits for its work, which must be cancelled so that it is short.
    napi_add_env_cleanup_hook(env, cancel, work_.get());
  }
  ~Worker() override { napi_remove_env_cleanup_hook(Env(), cancel, work_.get()); }

  Napi::Promise promise() const { return deferred_.Promise(); }

  void Execute() override { work_->work(); }

  void OnOK() override {
    try {
      deferred_.Resolve(work_->result(Env()));
    } catch (const Napi::Error& error) {
      deferred_.Reject(error.Value());
    }
  }

  void OnError(const Napi::Error& error) override { deferred_.Reject(error.Value()); }

 private:
  static void cancel(void* work) { static_cast<BackgroundWork*>(work)->cancelled = true; }

  Napi::Promise::Deferred deferred_;
  const std::shared_ptr<BackgroundWork> work_;
};

}  // namespace

Napi::Object startInBackground(Napi::Env env, std::shared_ptr<BackgroundWork> work) {
  auto* worker = new Worker(env, work);
  Napi::Object handle = Napi::Object::New(env);
  handle.Set("done", worker->promise());
  handle.Set("seen", Napi::Function::New(env, [work](const Napi::CallbackInfo& info) {
               return Napi::Number::New(info.Env(), static_cast<double>(work->seen.load()));
             }));
  handle.Set("cancel", Napi::Function::New(env, [work](const Napi::CallbackInfo&) { work->cancelled = true; }));
  worker->Queue();
  return handle;
}

std::string pathOf(Napi::Env env, const Napi::Value& value) {
  if (!value.IsString()) throw Napi::TypeError::New(env, "a path must be a string");
  std::string path = value.As<Napi::String>().Utf8Value();
  if (path.find('\0') != std::string::npos) throw Napi::TypeError::New(env, "path contains a NUL");
  return path;
}

}  // namespace workspace::binding
