#include "spawn.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../notify/notify.h"
#include "../spawn/exit-watch.h"
#include "../spawn/start.h"
#include "system-error.h"

namespace workspace::binding {

namespace {

/** Strings of a JavaScript array, and the list of pointers to them that execve(2) takes. */
class TextList {
 public:
  TextList(Napi::Env env, const Napi::Value& value) {
    if (!value.IsArray()) throw Napi::TypeError::New(env, "expected an array of strings");
    const Napi::Array list = value.As<Napi::Array>();
    for (std::uint32_t i = 0; i < list.Length(); i++) {
      texts.push_back(list.Get(i).ToString());
      if (texts.back().find('\0') != std::string::npos) throw Napi::TypeError::New(env, "a string contains a NUL");
    }
    for (const std::string& text : texts) pointers.push_back(text.c_str());
    pointers.push_back(nullptr);
  }

  const std::string& first() const { return texts.at(0); }
  bool isEmpty() const { return texts.empty(); }
  const char* const* data() const { return pointers.data(); }

 private:
  std::vector<std::string> texts;
  std::vector<const char*> pointers;
};

std::vector<double> numbers(const Napi::Value& value) {
  std::vector<double> all;
  const Napi::Array list = value.As<Napi::Array>();
  for (std::uint32_t i = 0; i < list.Length(); i++) all.push_back(list.Get(i).ToNumber());
  return all;
}

class ExitWatch : public Napi::ObjectWrap<ExitWatch> {
 public:
  explicit ExitWatch(const Napi::CallbackInfo& info) : Napi::ObjectWrap<ExitWatch>(info) {
    const Napi::Env env = info.Env();
    if (info.Length() != 1 || !info[0].IsFunction()) throw Napi::TypeError::New(env, "ExitWatch expects onExit (function)");
    function = Napi::ThreadSafeFunction::New(env, info[0].As<Napi::Function>(), "ExitWatch", 0, 1);
    function.Unref(env);
    watch = std::make_unique<spawn::ExitWatch>([this](const spawn::Exit& exit) {
      function.NonBlockingCall(new spawn::Exit(exit), [](Napi::Env callEnv, Napi::Function onExit, spawn::Exit* told) {
        const std::unique_ptr<spawn::Exit> ended(told);
        onExit.Call({Napi::Number::New(callEnv, ended->pid), Napi::Number::New(callEnv, ended->code),
                     Napi::Number::New(callEnv, ended->signal)});
      });
    });
  }

  ~ExitWatch() override { end(); }

  void add(const Napi::CallbackInfo& info) {
    if (watch == nullptr) throw Napi::Error::New(info.Env(), "the watch is closed");
    const int error = watch->add(info[0].ToNumber().Int32Value());
    if (error != 0) throw systemError(info.Env(), error, "pidfd_open", "");
  }

  void close(const Napi::CallbackInfo&) { end(); }

 private:
  void end() {
    if (watch == nullptr) return;
    watch.reset();
    function.Release();
  }

  Napi::ThreadSafeFunction function;
  std::unique_ptr<spawn::ExitWatch> watch;
};

}  // namespace

Napi::Value spawnProgram(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (info.Length() != 9 || !info[2].IsString() || !info[6].IsArray() || !info[7].IsString() || !info[8].IsBoolean()) {
    throw Napi::TypeError::New(
        env, "spawnProgram expects argv, environment, directory, output, error, user, limits, cgroup, isTerminal");
  }
  const TextList argv(env, info[0]);
  const TextList environment(env, info[1]);
  if (argv.isEmpty()) throw Napi::TypeError::New(env, "argv is empty");
  const std::string directory = info[2].As<Napi::String>();
  const std::string cgroup = info[7].As<Napi::String>();
  spawn::Request request;
  request.argv = argv.data();
  request.environment = environment.data();
  request.directory = directory.c_str();
  request.output = info[3].ToNumber().Int32Value();
  request.error = info[4].ToNumber().Int32Value();
  if (info[5].IsArray()) {
    const std::vector<double> ids = numbers(info[5]);
    request.hasUser = true;
    request.user = static_cast<uid_t>(ids.at(0));
    request.group = static_cast<gid_t>(ids.at(1));
    for (std::size_t i = 2; i < ids.size(); i++) request.groups.push_back(static_cast<gid_t>(ids[i]));
  }
  const std::vector<double> limits = numbers(info[6]);
  for (std::size_t i = 0; i + 1 < limits.size(); i += 2) {
    request.limits.push_back({static_cast<int>(limits[i]), static_cast<rlim_t>(limits[i + 1])});
  }
  request.isTerminal = info[8].As<Napi::Boolean>();
  if (!cgroup.empty()) request.cgroup = cgroup.c_str();
  spawn::Failure failure;
  const pid_t pid = spawn::start(request, failure);
  if (pid >= 0) return Napi::Number::New(env, pid);
  const std::string call = failure.call;
  throw systemError(env, failure.error, call, call == "chdir" ? directory : call == "cgroup" ? cgroup : argv.first());
}

Napi::Value setSubreaper(const Napi::CallbackInfo& info) {
  return Napi::Boolean::New(info.Env(), spawn::setSubreaper(info[0].ToBoolean()) == 0);
}

Napi::Value reapChild(const Napi::CallbackInfo& info) {
  const int pid = info[0].ToNumber().Int32Value();
  // Zero and negative ids denote whole groups.
  return Napi::Boolean::New(info.Env(), pid > 0 && spawn::reap(pid));
}

Napi::Value notifyManager(const Napi::CallbackInfo& info) {
  const std::string socket = info[0].ToString();
  const std::string text = info[1].ToString();
  const int error = notify::send(socket, text, notify::Wait::yes);
  if (error != 0) throw systemError(info.Env(), error, "sendto", socket);
  return info.Env().Undefined();
}

Napi::Value sendDatagram(const Napi::CallbackInfo& info) {
  const std::string socket = info[0].ToString();
  const auto bytes = info[1].As<Napi::Uint8Array>();
  const std::string_view text(reinterpret_cast<const char*>(bytes.Data()), bytes.ByteLength());
  const int error = notify::send(socket, text, notify::Wait::no);
  if (error != 0) throw systemError(info.Env(), error, "sendto", socket);
  return info.Env().Undefined();
}

Napi::Function defineExitWatch(Napi::Env env) {
  return ExitWatch::DefineClass(env, "ExitWatch",
                                {ExitWatch::InstanceMethod("add", &ExitWatch::add),
                                 ExitWatch::InstanceMethod("close", &ExitWatch::close)});
}

}  // namespace workspace::binding
