#pragma once

#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace workspace::test {

struct Test {
  const char* name;
  std::function<void()> run;
};

inline std::vector<Test>& tests() {
  static std::vector<Test> all;
  return all;
}

inline int& failedChecks() {
  static int count = 0;
  return count;
}

struct Registration {
  Registration(const char* name, std::function<void()> run) { tests().push_back({name, std::move(run)}); }
};

}  // namespace workspace::test

#define WORKSPACE_JOIN_(a, b) a##b
#define WORKSPACE_JOIN(a, b) WORKSPACE_JOIN_(a, b)

/** TEST("subject verb condition") { CHECK(…); } */
#define TEST(name) TEST_AT(name, __LINE__)
#define TEST_AT(name, line)                                                                     \
  static void WORKSPACE_JOIN(test, line)();                                                     \
  static const workspace::test::Registration WORKSPACE_JOIN(registered, line)(                  \
      name, WORKSPACE_JOIN(test, line));                                                        \
  static void WORKSPACE_JOIN(test, line)()

#define CHECK(condition)                                                         \
  do {                                                                           \
    if (!(condition)) {                                                          \
      std::printf("  %s:%d: not true: %s\n", __FILE__, __LINE__, #condition);    \
      workspace::test::failedChecks()++;                                         \
    }                                                                            \
  } while (false)
