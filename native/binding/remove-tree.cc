#include "remove-tree.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../disk/remove-tree.h"
#include "background.h"
#include "system-error.h"

namespace workspace::binding {

namespace {

using disk::RemoveError;

class RemoveWork : public BackgroundWork {
 public:
  using Step = std::function<RemoveError(RemoveWork&)>;

  explicit RemoveWork(Step step) : step_(std::move(step)) {}

  void work() override { error_ = step_(*this); }

  Napi::Value result(Napi::Env env) override {
    if (error_.number != 0) throw systemError(env, error_.number, error_.syscall, error_.path);
    return Napi::Number::New(env, static_cast<double>(seen.load()));
  }

 private:
  const Step step_;
  RemoveError error_;
};

Napi::Value start(const Napi::CallbackInfo& info, std::size_t count,
                  const std::function<RemoveError(const std::vector<std::string>&, RemoveWork&)>& step) {
  const Napi::Env env = info.Env();
  if (info.Length() != count) throw Napi::TypeError::New(env, "expected a root, a parent and names");
  std::vector<std::string> words;
  for (std::size_t i = 0; i < count; i++) words.push_back(pathOf(env, info[i]));
  return startInBackground(env, std::make_shared<RemoveWork>([words, step](RemoveWork& work) { return step(words, work); }));
}

}  // namespace

Napi::Value moveToTrash(const Napi::CallbackInfo& info) {
  return start(info, 4, [](const auto& words, RemoveWork&) {
    return disk::moveToTrash(words[0], words[1], words[2], words[3]);
  });
}

Napi::Value restoreFromTrash(const Napi::CallbackInfo& info) {
  return start(info, 4, [](const auto& words, RemoveWork&) {
    return disk::restoreFromTrash(words[0], words[1], words[2], words[3]);
  });
}

Napi::Value removeTrash(const Napi::CallbackInfo& info) {
  return start(info, 3, [](const auto& words, RemoveWork& work) {
    return disk::removeTrash(words[0], words[1], words[2], work.cancelled, work.seen);
  });
}

}  // namespace workspace::binding
