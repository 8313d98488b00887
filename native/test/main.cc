#include <cstdio>

#include "check.h"

int main() {
  int passed = 0;
  int failed = 0;
  for (const auto& test : workspace::test::tests()) {
    workspace::test::failedChecks() = 0;
    test.run();
    const bool ok = workspace::test::failedChecks() == 0;
    std::printf("%s %s\n", ok ? "ok    " : "FAILED", test.name);
    (ok ? passed : failed)++;
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}
