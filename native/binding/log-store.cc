#include "log-store.h"

#include <atomic>
#include <string>

#include "system-error.h"

namespace workspace::binding {

namespace {

constexpr std::size_t PART_FIELDS = 7;

double number(const Napi::CallbackInfo& info, std::size_t index) {
  if (index >= info.Length() || !info[index].IsNumber()) {
    throw Napi::TypeError::New(info.Env(), "expected a number as argument " + std::to_string(index + 1));
  }
  return info[index].As<Napi::Number>().DoubleValue();
}

std::uint64_t count(const Napi::CallbackInfo& info, std::size_t index) {
  const double value = number(info, index);
  if (!(value >= 0 && value <= 9007199254740991.0)) throw Napi::RangeError::New(info.Env(), "a count is out of range");
  return static_cast<std::uint64_t>(value);
}

int stream(const Napi::CallbackInfo& info, std::size_t index) {
  const double value = number(info, index);
  if (value != 0 && value != 1) throw Napi::RangeError::New(info.Env(), "a stream is 0 or 1");
  return static_cast<int>(value);
}

}  // namespace

/** Changes before the last callback do not trigger another one. */
struct LogStore::Bell {
  Napi::ThreadSafeFunction function;
  std::atomic<bool> isRung = false;

  void ring() {
    if (isRung.exchange(true)) return;
    function.NonBlockingCall(this, [](Napi::Env, Napi::Function onLines, Bell* bell) {
      bell->isRung = false;
      onLines.Call({});
    });
  }
};

Napi::Function LogStore::define(Napi::Env env) {
  return DefineClass(env, "LogStore",
                     {
                         InstanceMethod<&LogStore::addSource>("addSource"),
                         InstanceMethod<&LogStore::attach>("attach"),
                         InstanceMethod<&LogStore::close>("close"),
                         InstanceMethod<&LogStore::counts>("counts"),
                         InstanceMethod<&LogStore::finish>("finish"),
                         InstanceMethod<&LogStore::nextSequence>("nextSequence"),
                         InstanceMethod<&LogStore::push>("push"),
                         InstanceMethod<&LogStore::read>("read"),
                         InstanceMethod<&LogStore::removeSource>("removeSource"),
                         InstanceMethod<&LogStore::setBounds>("setBounds"),
                         InstanceMethod<&LogStore::setListening>("setListening"),
                         InstanceMethod<&LogStore::writeTo>("writeTo"),
                     });
}

LogStore::LogStore(const Napi::CallbackInfo& info) : Napi::ObjectWrap<LogStore>(info), bell(std::make_shared<Bell>()) {
  const Napi::Env env = info.Env();
  if (info.Length() != 1 || !info[0].IsFunction()) throw Napi::TypeError::New(env, "LogStore expects onLines (function)");
  // A call in progress when the store closes needs the bell until it returns.
  auto* const kept = new std::shared_ptr<Bell>(bell);
  bell->function = Napi::ThreadSafeFunction::New(env, info[0].As<Napi::Function>(), "LogStore", 0, 1,
                                                 [kept](Napi::Env) { delete kept; });
  bell->function.Unref(env);
  store = std::make_unique<log::Store>([rung = bell.get()] { rung->ring(); });
}

LogStore::~LogStore() {
  if (store == nullptr) return;
  store.reset();
  bell->function.Release();
}

void LogStore::close(const Napi::CallbackInfo&) {
  if (store == nullptr) return;
  store.reset();
  bell->function.Release();
}

log::Store& LogStore::open(Napi::Env env) const {
  if (store == nullptr) throw Napi::Error::New(env, "the log store is closed");
  return *store;
}

std::shared_ptr<log::Source> LogStore::source(const Napi::CallbackInfo& info) const {
  auto found = open(info.Env()).find(static_cast<int>(count(info, 0)));
  if (found == nullptr) throw Napi::RangeError::New(info.Env(), "the source does not exist");
  return found;
}

Napi::Value LogStore::addSource(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), open(info.Env()).addSource({count(info, 0), count(info, 1)}));
}

void LogStore::setBounds(const Napi::CallbackInfo& info) { source(info)->setBounds({count(info, 1), count(info, 2)}); }

void LogStore::removeSource(const Napi::CallbackInfo& info) {
  open(info.Env()).removeSource(static_cast<int>(count(info, 0)));
}

void LogStore::attach(const Napi::CallbackInfo& info) {
  const int error =
      open(info.Env()).attach(static_cast<int>(count(info, 0)), stream(info, 1), static_cast<int>(count(info, 2)));
  if (error != 0) throw systemError(info.Env(), error, "epoll_ctl", "");
}

void LogStore::push(const Napi::CallbackInfo& info) {
  if (info.Length() != 3 || !info[2].IsTypedArray()) throw Napi::TypeError::New(info.Env(), "push expects bytes");
  const auto bytes = info[2].As<Napi::Uint8Array>();
  open(info.Env()).push(static_cast<int>(count(info, 0)), stream(info, 1),
                        std::string_view(reinterpret_cast<const char*>(bytes.Data()), bytes.ByteLength()));
}

void LogStore::finish(const Napi::CallbackInfo& info) {
  open(info.Env()).finish(static_cast<int>(count(info, 0)), stream(info, 1));
}

void LogStore::setListening(const Napi::CallbackInfo& info) {
  open(info.Env()).setListening(info.Length() == 1 && info[0].ToBoolean());
}

void LogStore::writeTo(const Napi::CallbackInfo& info) {
  if (info.Length() != 5 || !info[1].IsString()) throw Napi::TypeError::New(info.Env(), "writeTo expects a path");
  const std::string path = info[1].As<Napi::String>();
  const auto lines = source(info);
  if (path.empty()) return lines->writeTo(nullptr);
  lines->writeTo(std::make_unique<log::FileSink>(log::FileSink::Options{
      path, count(info, 2), static_cast<unsigned int>(count(info, 3)), info[4].ToBoolean()}));
}

Napi::Value LogStore::nextSequence(const Napi::CallbackInfo& info) {
  // A closed store has no lines.
  const std::uint64_t next = store == nullptr ? 1 : store->nextSequence();
  return Napi::Number::New(info.Env(), static_cast<double>(next));
}

Napi::Value LogStore::counts(const Napi::CallbackInfo& info) {
  const log::Counts counted = source(info)->counts();
  const Napi::Array all = Napi::Array::New(info.Env(), 5);
  std::uint32_t at = 0;
  for (const double each : {static_cast<double>(counted.first), static_cast<double>(counted.end),
                            static_cast<double>(counted.heldBytes), static_cast<double>(counted.fileLostBytes),
                            static_cast<double>(counted.openStreams)}) {
    all.Set(at++, Napi::Number::New(info.Env(), each));
  }
  return all;
}

Napi::Value LogStore::read(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const log::Excerpt excerpt = source(info)->read(count(info, 1), count(info, 2));
  auto parts = Napi::Float64Array::New(env, excerpt.parts.size() * PART_FIELDS);
  double* field = parts.Data();
  for (const auto& part : excerpt.parts) {
    *field++ = static_cast<double>(part.sequence);
    *field++ = static_cast<double>(part.index);
    *field++ = static_cast<double>(part.timeMs);
    *field++ = part.lines;
    *field++ = part.size;
    *field++ = part.stream;
    *field++ = part.isCut ? 1 : 0;
  }
  const Napi::Array both = Napi::Array::New(env, 2);
  both.Set(0u, parts);
  both.Set(1u, Napi::Buffer<char>::Copy(env, excerpt.bytes.data(), excerpt.bytes.size()));
  return both;
}

}  // namespace workspace::binding
